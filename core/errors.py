"""One family of errors: a sentence for a person, a hint, and the exit code of the command.

    PaimarkError              1  what a person must read
    ├── NotFound              1  a table, branch, version or file that was named does not exist
    │   └── FileMissing       1  a path that was read
    ├── Corrupt               1  a metadata file that can't be read
    ├── Refused               1  unsafe or not allowed: nothing was written
    │   └── Outrun            1  others committed meanwhile: it may be tried again
    ├── StatementFailed       1  SQL that can't be run as written, with its position
    ├── Cancelled             1  somebody stopped it: nothing was written
    ├── UsageError            2  the words of the command don't fit together
    └── Unavailable           3  storage, catalog or engine did not answer

Kinds that one package raises and catches are subclasses there, such as `TakenOver`, a `Refused` of
`paimark.core.actions.change.journal`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from paimark.core.redaction import redacted

LONGEST = 2000
# The refusal in read-only mode, and its hint.
READ_ONLY = (
    "Nothing is changed in read-only mode",
    "Look at --read-only, PAIMARK_READ_ONLY, and read_only in the config file or in paimark.open.",
)
# A shortened text keeps so many characters of its end: the words of a sentence after a long quotation.
_END = 400


def shortened(text: str) -> str:
    """A text of at most `LONGEST` characters: the beginning and the end of a longer one."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - _END - 3]} … {text[-_END:]}"


class PaimarkError(Exception):
    """An error that a person must read. `message` is one sentence; `hint` is what to do next.

    Neither contains a secret of an address or an option, whatever the source of the words, nor more than
    `LONGEST` characters: they may quote a damaged file.
    """

    exit_code = 1
    # The word before the message on the command line.
    label = "paimark"

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = shortened(redacted(message))
        self.hint = shortened(redacted(hint))
        super().__init__(self.message)

    @property
    def said(self) -> str:
        """Both as one text."""
        return f"{self.message}. {self.hint}".rstrip()


class NotFound(PaimarkError):
    """A table, branch, version or file that was named does not exist."""


class FileMissing(NotFound):
    """A path that was read does not exist in the store."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} does not exist")
        self.path = path


class Corrupt(PaimarkError):
    """A metadata file exists and can't be read: half-written, or not what its name promises."""

    label = "Failed"


class Refused(PaimarkError):
    """A change that would be unsafe or is not allowed: nothing was written."""

    label = "Refused"


class Outrun(Refused):
    """Others committed meanwhile what a commit relied on. Nothing was committed."""


class StatementFailed(PaimarkError):
    """A SQL statement that can't be run as written. `position` is a character offset in it, if known."""

    label = "Failed"

    def __init__(self, message: str, hint: str = "", position: int | None = None) -> None:
        super().__init__(message, hint)
        self.position = position


class Cancelled(PaimarkError):
    """A statement that somebody stopped: nothing was written."""


class UsageError(PaimarkError):
    """The words of the command don't fit together."""

    exit_code = 2


class Unavailable(PaimarkError):
    """Storage, catalog or engine did not answer."""

    exit_code = 3
    label = "Failed"


def hint_before(error: BaseException, then: str) -> str:
    """The hint of an error that replaces `error`: its own, such as how to mend the store, and then this."""
    own = error.hint if isinstance(error, PaimarkError) else ""
    return f"{own} {then}".lstrip()


@contextmanager
def failing_at(position: int | None) -> Iterator[None]:
    """Give errors of the code inside a position in the statement: raises `StatementFailed`.

    `Unavailable` and `Cancelled` stay as they are: they are no fault of the statement.
    """
    try:
        yield
    except (StatementFailed, Unavailable, Cancelled):
        raise
    except PaimarkError as error:
        raise StatementFailed(error.message, error.hint, position) from error


@contextmanager
def reworded(reword: Callable[[str], str]) -> Iterator[None]:
    """Reword the messages and the hints of errors of the code inside."""
    try:
        yield
    except PaimarkError as error:
        error.message, error.hint = reword(error.message), reword(error.hint)
        error.args = (error.message,)
        raise


@contextmanager
def hints_in_messages() -> Iterator[None]:
    """Put hints into the messages of errors: Spark shows nothing else of an error that a worker raises."""
    try:
        yield
    except PaimarkError as error:
        if error.hint:
            error.args = (f"{error.message}. {error.hint}",)
        raise


@contextmanager
def before_commit() -> Iterator[None]:
    """Of an error within it is certain that nothing was committed: see `is_uncommitted`."""
    try:
        yield
    except BaseException as error:
        error.__dict__["is_uncommitted"] = True
        raise


def is_uncommitted(error: BaseException) -> bool:
    """Whether it is certain that what failed so has committed nothing; false for most errors."""
    return "is_uncommitted" in error.__dict__

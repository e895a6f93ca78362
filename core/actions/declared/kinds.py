"""The kinds of arguments: how each is written, and what the console's row under the cursor gives for it.

`paimark.core.actions.names` has the values to choose from.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from paimark.core.config import FALSE_WORDS, TRUE_WORDS
from paimark.core.table.layout import PIN_PREFIXES, SAVEPOINT_TAG_PREFIX, number_in
from paimark.core.table.lineage.notes import problem_of
from paimark.core.text import whole_number

Value = str | int | bool
# What an action is about: a tab shows such things, and a key on its row takes one.
Thing = Literal["tag", "savepoint", "branch", "operation"]
_FLAGS = dict.fromkeys((*TRUE_WORDS, "y"), True) | dict.fromkeys((*FALSE_WORDS, "n"), False)


class Argument(msgspec.Struct, frozen=True):
    """One argument; its command-line option is `--<name>`. One with `many` also takes a list.

    The action needs it `unless` it is given the argument of that name, and takes only one of both. `flag` is
    its option, if Python has another use for that word.
    """

    name: str
    help: str = ""
    required: bool = False
    default: Value | None = None
    many: bool = False
    unless: str = ""
    flag: str = ""

    takes: ClassVar[type[Value]] = str
    thing: ClassVar[Thing | None] = None

    @property
    def option(self) -> str:
        return f"--{self.flag or self.name.replace('_', '-')}"

    @property
    def from_row(self) -> bool:
        """Whether a row may give it."""
        return type(self).of is not Argument.of

    @property
    def words(self) -> str:
        """What it has to be."""
        return "a text"

    def read(self, text: str) -> Value:
        """The value that a person wrote. Raises `ValueError`, with the reason as a part of a sentence."""
        return text

    def problem(self, value: object) -> str:
        """Why a program's value is not valid for it: `is a text, not 5`; empty if it is one."""
        # In Python, `True` is an `int` too.
        if not isinstance(value, self.takes) or (self.takes is int and isinstance(value, bool)):
            return f"is {self.words}, not {value!r}"
        if not isinstance(value, str):
            return ""
        if not value.strip():
            # Otherwise a default would take effect.
            return "is empty"
        try:
            self.read(value)
        except ValueError as error:
            return str(error)
        return ""

    def hint(self, value: object) -> str:
        """What to do about a problem."""
        is_blank = isinstance(value, str) and not value.strip()
        return "Leave it out, or give it a value." if is_blank else self.help

    def of(self, seen: Seen) -> Value | None:
        """The value that a row gives, or None."""
        return None

    def why_none(self, verb: str, seen: Seen) -> str:
        """Why the row has none; `verb` is what the action would do to it."""
        return ""


class Text(Argument, frozen=True):
    """Any text, which the action itself reads: a new name, columns, a length of time."""


class Message(Argument, frozen=True):
    """What a person says of a change."""

    def read(self, text: str) -> Value:
        if problem := problem_of(text):
            raise ValueError(problem)
        return text


class FileName(Argument, frozen=True):
    """A file on this machine."""


class Number(Argument, frozen=True):
    takes = int

    @property
    def words(self) -> str:
        return "a whole number"

    def read(self, text: str) -> Value:
        number = whole_number(text)
        if number is None or text != text.strip():
            raise ValueError(f"is {self.words}, not {text!r}")
        return number


class Flag(Argument, frozen=True):
    takes = bool

    @property
    def words(self) -> str:
        return "true or false"

    def read(self, text: str) -> Value:
        if text.lower() not in _FLAGS:
            raise ValueError(f"is yes or no: {text!r} is neither")
        return _FLAGS[text.lower()]


class Choice(Argument, frozen=True, kw_only=True):
    """One of a few words."""

    among: tuple[str, ...]

    @property
    def words(self) -> str:
        *others, last = self.among
        return f"{', '.join(others)} or {last}"

    def read(self, text: str) -> Value:
        if text not in self.among:
            raise ValueError(f"is {self.words}, not {text}")
        return text


class SnapshotId(Number, frozen=True):
    """A snapshot; of the newest if that is meant, or with `of_newest` if no other is."""

    of_newest: bool = False

    def of(self, seen: Seen) -> Value | None:
        is_newest = self.of_newest if seen.newest is None else seen.newest
        return None if is_newest else seen.row.snapshot_id


class CommitId(Number, frozen=True):
    """A snapshot, for what its commit did."""

    def of(self, seen: Seen) -> Value | None:
        return seen.row.snapshot_id


class SnapshotOfMain(Number, frozen=True):
    """A snapshot of main, if the row has no tag that somebody gave."""

    def of(self, seen: Seen) -> Value | None:
        row = seen.row
        is_pin = row.tag is not None and row.tag.startswith(PIN_PREFIXES)
        # A row whose snapshot has expired is read by its tag, whoever gave that.
        named = row.tag is not None and not (is_pin and row.version != row.tag)
        # The same id on another branch may be another commit.
        return None if named or seen.branch is not None else row.snapshot_id


class TagOfMain(Argument, frozen=True):
    """A tag of main; that of a savepoint is one."""

    def of(self, seen: Seen) -> Value | None:
        by_snapshot = SnapshotOfMain("").of(seen) is not None
        return None if by_snapshot or seen.branch is not None else seen.row.tag


class Version(Argument, frozen=True):
    """A version of main: a snapshot, savepoint, tag or time."""

    def of(self, seen: Seen) -> Value | None:
        return seen.row.version if seen.branch is None else None


class Branch(Argument, frozen=True):
    """The branch on which an action works; with `follows`, that in view."""

    follows: bool = True

    @property
    def from_row(self) -> bool:
        return self.follows

    def of(self, seen: Seen) -> Value | None:
        return seen.branch if self.follows else None


class BranchName(Argument, frozen=True):
    """A branch that is not main; `of_main` is why a row of main has none."""

    of_main: str = ""
    thing = "branch"

    def of(self, seen: Seen) -> Value | None:
        return seen.branch

    def why_none(self, verb: str, seen: Seen) -> str:
        return f"Go to a branch: {self.of_main}"


class TagName(Argument, frozen=True):
    """A tag that somebody gave."""

    thing = "tag"

    def of(self, seen: Seen) -> Value | None:
        return None if is_savepoints(seen.row.tag) else seen.row.tag

    def why_none(self, verb: str, seen: Seen) -> str:
        if is_savepoints(seen.row.tag):
            number = (seen.row.tag or "").removeprefix(SAVEPOINT_TAG_PREFIX)
            whose = f"This tag belongs to savepoint {number}"
            return f"{whose} and keeps its name" if verb == "rename" else f"{whose}: {verb} that"
        return f"Go to a tag: there is none here to {verb}"


class SavepointId(Number, frozen=True):
    """A savepoint; the row has its tag."""

    thing = "savepoint"

    def of(self, seen: Seen) -> Value | None:
        return number_in(seen.row.tag or "", SAVEPOINT_TAG_PREFIX)

    def why_none(self, verb: str, seen: Seen) -> str:
        return f"Go to a savepoint: there is none here to {verb}"


class ConsumerName(Argument, frozen=True):
    """A streaming reader of a branch."""


class OperationNumber(Number, frozen=True):
    """An operation of the table's log."""

    thing = "operation"

    def of(self, seen: Seen) -> Value | None:
        return seen.row.operation

    def why_none(self, verb: str, seen: Seen) -> str:
        return f"Go to an operation: there is none here to {verb}"


class DroppedId(Argument, frozen=True):
    """A dropped table in the trash, of several that had its name."""


class RowVersion(msgspec.Struct, frozen=True):
    """The version of a row for `VERSION AS OF`, or a branch, or (all None) the table itself.

    `commit_time` (epoch ms) distinguishes the snapshot from a later one with the same id. `operation` is the
    number of a row of the log."""

    version: str | None = None
    branch: str | None = None
    tag: str | None = None
    snapshot_id: int | None = None
    commit_time: int | None = None
    operation: int | None = None


class Seen(msgspec.Struct, frozen=True):
    """A row, and its branch (None for main).

    `newest`: whether the newest snapshot is meant, and not that of the row; None: the action says so.
    """

    row: RowVersion = RowVersion()
    branch: str | None = None
    newest: bool | None = None


def is_savepoints(tag: str | None) -> bool:
    """Whether a tag belongs to a savepoint: it goes when that is deleted, and keeps its name."""
    return tag is not None and tag.startswith(SAVEPOINT_TAG_PREFIX)

"""The state that all objects of an opened warehouse share: its files, the user, progress, the audit log."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import NoReturn

from paimark.core.actions.context import Context, Counting, Remark, context_of
from paimark.core.config import Settings, state_directory
from paimark.core.errors import UsageError, reworded
from paimark.core.redaction import redacted
from paimark.core.statements.dialects import IN_PYTHON
from paimark.core.storage.files import Files
from paimark.core.text import clean_text

_LOG = logging.getLogger("paimark")


@dataclass(frozen=True, eq=False)
class Session:
    """One opened warehouse."""

    settings: Settings = field(repr=False)
    context: Context = field(repr=False)

    @classmethod
    def begin(cls, settings: Settings) -> Session:
        """Create a session, without access to disk or network. Raises `UsageError` for a faulty option."""
        return cls(settings, context_of(settings))

    @property
    def files(self) -> Files:
        return self.context.files

    def __reduce__(self) -> NoReturn:
        """Raises `UsageError`: a pickle would contain passwords."""
        raise UsageError(
            "A warehouse, its tables and versions can't be pickled",
            "Send the address, and call paimark.open in the other process.",
        )

    def __deepcopy__(self, memo: object) -> Session:
        return self

    @contextmanager
    def acting(self) -> Iterator[Context]:
        """The context of one action, with a Spark engine that starts on demand and ends with the action."""
        from paimark.core.spark.client.client import Engine

        engine = Engine(self.settings, state_directory() / "engine.log", lambda line: tell(Remark(line)))
        with reworded(IN_PYTHON.translate), closing(engine):
            yield replace(self.context, engine=lambda: engine, progress=tell)


def tell(line: str) -> None:
    """Log a line of an action: a remark as a warning, a count at level debug, all others at level info."""
    level = logging.WARNING if isinstance(line, Remark) else logging.INFO
    _LOG.log(logging.DEBUG if isinstance(line, Counting) else level, "%s", clean_text(redacted(line)))


def warn(lines: Iterable[str]) -> None:
    """Log each line as a warning."""
    for line in lines:
        tell(Remark(line))


def warn_left_out(unreadable: Iterable[str]) -> None:
    """Log a sentence about each file that a list leaves out because it can't be read."""
    warn(f"left out: {sentence}" for sentence in unreadable)

"""The first things read, started before Textual is even imported.

Databases, the first one's tables, the first table's newest snapshots: each is kept until the app asks, then
handed over as it comes. Imports nothing of Textual.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from core.errors import PaimarkError
from core.table.catalog import databases, tables
from core.table.layout import TablePath
from core.table.rows import SnapshotRow
from tui.session import Opened, Session, Target
from tui.work.unexpected_errors import problem_of

# As many as a tall terminal shows; the rest is read when somebody looks.
PAGE = 100


@dataclass(frozen=True, slots=True)
class Databases:
    names: list[str]


@dataclass(frozen=True, slots=True)
class Tables:
    database: str
    tables: list[TablePath]


@dataclass(frozen=True, slots=True)
class Newest:
    opened: Opened
    rows: list[SnapshotRow]


@dataclass(frozen=True, slots=True)
class Stopped:
    """Reading went no further than `stage`: `databases`, `tables` or `snapshots`."""

    stage: str
    error: PaimarkError


Stage = Databases | Tables | Newest | Stopped


class Opening:
    """Reads in a thread; nothing is lost between its start and the moment somebody listens."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._waiting: list[Stage] = []
        self._sink: Callable[[Stage], None] | None = None

    def start(self) -> None:
        threading.Thread(target=self._read, name="paimark-opening", daemon=True).start()

    def listen(self, sink: Callable[[Stage], None]) -> list[Stage]:
        """Return the stages read so far; the rest goes to `sink`, called from the reading thread."""
        with self._lock:
            self._sink = sink
            waiting, self._waiting = self._waiting, []
            return waiting

    def _put(self, stage: Stage) -> None:
        with self._lock:
            if self._sink is None:
                self._waiting.append(stage)
                return
            sink = self._sink
        sink(stage)

    def _read(self) -> None:
        at = "databases"
        try:
            names = databases(self._session.files)
            self._put(Databases(names))
            at = "tables"
            for database in names:
                listed = tables(self._session.files, database)
                self._put(Tables(database, listed))
                if listed:
                    break
            else:
                return
            at = "snapshots"
            opened = self._session.open(Target(listed[0]))
            self._put(Newest(opened, opened.lineage.newest(PAGE)))
        except Exception as error:
            self._put(Stopped(at, problem_of(error)))

"""The first things read, started before Textual is even imported.

Databases, the tables of one, a table's newest snapshots: each is kept until the app asks, then handed over
as it comes. That table is the one asked for, else the first. Imports nothing of Textual.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec

from core.errors import NotFound, PaimarkError
from core.storage.files import Denied
from core.table.catalog import databases, tables
from core.table.layout import TablePath
from core.table.rows import SnapshotRow
from tui.session import Opened, Session, Target
from tui.tabs import Tab
from tui.work.unexpected_errors import problem_of

# As many as a tall terminal shows; the rest is read when somebody looks.
PAGE = 100


class Databases(msgspec.Struct, frozen=True):
    names: list[str]


class Tables(msgspec.Struct, frozen=True):
    database: str
    tables: list[TablePath]


class Chosen(msgspec.Struct, frozen=True):
    """The table and branch to begin with. `problem` says why it is not the one asked for."""

    target: Target
    problem: str = ""


class Newest(msgspec.Struct, frozen=True):
    opened: Opened
    rows: list[SnapshotRow]


class Arrived(msgspec.Struct, frozen=True):
    """The tab asked for, and where it was a version, the record's name there. `note` says what served."""

    target: Target
    tab: Tab
    row: str = ""
    note: str = ""


class Noted(msgspec.Struct, frozen=True):
    """A sentence for the log."""

    text: str


class Stopped(msgspec.Struct, frozen=True):
    """Reading went no further than `stage`: `databases`, `tables` or `snapshots`."""

    stage: str
    error: PaimarkError


class _Wanted(msgspec.Struct, frozen=True):
    target: Target
    version: str = ""
    tab: Tab = Tab.SNAPSHOTS


Stage = Databases | Tables | Chosen | Newest | Arrived | Noted | Stopped
_TABS = {"snapshot": Tab.SNAPSHOTS, "savepoint": Tab.SAVEPOINTS, "tag": Tab.TAGS}


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
            wanted = self._wanted()
            names = databases(self._session.files)
            self._put(Databases(names))
            at = "tables"
            target = self._choose(names, None if wanted is None else wanted.target)
            if target is None:
                return
            at = "snapshots"
            opened = self._open(target)
            is_there = wanted is not None and opened.target == wanted.target
            if wanted is not None and is_there and wanted.tab is not Tab.SNAPSHOTS:
                self._put(Arrived(opened.target, wanted.tab))
            self._put(Newest(opened, opened.lineage.newest(PAGE)))
            if wanted is not None and is_there and wanted.version:
                self._put(self._arrival(opened, wanted.version))
        except Exception as error:
            self._put(Stopped(at, problem_of(error)))

    def _wanted(self) -> _Wanted | None:
        """The place asked for, else where one left off."""
        memory = self._session.memory
        memory.load()
        if memory.problem:
            self._put(Noted(memory.problem))
        if self._session.settings.start:
            from core.travel.place import parse_place

            place = parse_place(self._session.settings.start)
            return _Wanted(Target(place.table, place.branch), place.version)
        spot = memory.spot
        if spot is None:
            return None
        tab = Tab.__members__.get(spot.tab.upper(), Tab.SNAPSHOTS)
        return _Wanted(Target(TablePath(spot.database, spot.table), spot.branch), tab=tab)

    def _choose(self, names: list[str], wanted: Target | None) -> Target | None:
        """The table to begin with, else the nearest: the first of its database, then of any."""
        first = [name for name in names if wanted is not None and name == wanted.table.database]
        for database in dict.fromkeys([*first, *names]):
            try:
                listed = tables(self._session.files, database)
            except Denied as error:
                # Its own row says so once it is opened.
                self._put(Noted(f"{database}: {error.message}"))
                listed = []
                continue
            self._put(Tables(database, listed))
            if listed:
                break
        else:
            return None
        if wanted is not None and wanted.table in listed:
            target, problem = wanted, ""
        else:
            target = Target(listed[0])
            problem = f"There is no table {wanted.table.full_name}: this is the first one" if wanted else ""
        self._put(Chosen(target, problem))
        return target

    def _open(self, target: Target) -> Opened:
        """Main, where there is no such branch."""
        try:
            return self._session.open(target)
        except NotFound as error:
            main = Target(target.table)
            if target == main:
                raise
            self._put(Chosen(main, f"{error.message}: this is main"))
            return self._session.open(main)

    def _arrival(self, opened: Opened, version: str) -> Stage:
        from core.travel.version import resolve_version

        try:
            resolved = resolve_version(self._session.files, opened.root, version)
        except PaimarkError as error:
            return Chosen(opened.target, f"{error.message}: this is the newest")
        return Arrived(opened.target, _TABS[resolved.kind], resolved.name, resolved.note)

"""The first reads, which begin before Textual is imported.

It reads databases, the tables of one, and a table's newest snapshots: the requested table, else the first.
Results are kept until the app listens, then passed on at once. Does not import Textual.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec

from paimark.core.errors import NotFound, PaimarkError
from paimark.core.storage.files import Denied
from paimark.core.table.catalog import databases, tables
from paimark.core.table.layout import TablePath
from paimark.core.table.rows import SnapshotRow
from paimark.tui.session import Opened, Session, Target
from paimark.tui.tabs import Tab
from paimark.tui.work.unexpected_errors import problem_of

# As many rows as a tall terminal shows; the rest is read on demand.
PAGE = 100


class Databases(msgspec.Struct, frozen=True):
    names: list[str]


class Tables(msgspec.Struct, frozen=True):
    database: str
    tables: list[TablePath]


class Chosen(msgspec.Struct, frozen=True):
    """The table and branch to begin with. `problem` is the reason if it is not the requested one."""

    target: Target
    problem: str = ""


class Newest(msgspec.Struct, frozen=True):
    """`unit` is what the counts of the rows count, as in `unit_of`."""

    opened: Opened
    rows: list[SnapshotRow]
    unit: str


class Arrived(msgspec.Struct, frozen=True):
    """The tab to open, and the record of a requested version. `note` tells how the version was resolved."""

    target: Target
    tab: Tab
    row: str = ""
    note: str = ""


class Problem(msgspec.Struct, frozen=True):
    """A sentence for the log."""

    text: str


class Stopped(msgspec.Struct, frozen=True):
    """The read of `stage` failed: `databases`, `tables` or `snapshots`."""

    stage: str
    error: PaimarkError


class _Destination(msgspec.Struct, frozen=True):
    target: Target
    version: str = ""
    tab: Tab = Tab.SNAPSHOTS


Stage = Databases | Tables | Chosen | Newest | Arrived | Problem | Stopped
_TABS = {"snapshot": Tab.SNAPSHOTS, "savepoint": Tab.SAVEPOINTS, "tag": Tab.TAGS}


class Opening:
    """Reads in a thread; it keeps the stages that it reads before `listen` is called."""

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
            destination = self._destination()
            names = databases(self._session.files)
            self._put(Databases(names))
            at = "tables"
            target = self._choose(names, None if destination is None else destination.target)
            if target is None:
                return
            at = "snapshots"
            unit = self._session.begin_unit(target)
            opened = self._open(target)
            is_there = destination is not None and opened.target == destination.target
            if destination is not None and is_there and destination.tab is not Tab.SNAPSHOTS:
                self._put(Arrived(opened.target, destination.tab))
            self._put(Newest(opened, opened.lineage.newest(PAGE), unit()))
            if destination is not None and is_there and destination.version:
                self._put(self._arrival(opened, destination.version))
        except Exception as error:
            self._put(Stopped(at, problem_of(error)))

    def _destination(self) -> _Destination | None:
        """The requested place, else the last location."""
        memory = self._session.memory
        memory.load()
        if memory.problem:
            self._put(Problem(memory.problem))
        if self._session.settings.start:
            from paimark.core.travel.place import parse_place

            place = parse_place(self._session.settings.start)
            return _Destination(Target(place.table, place.branch), place.version)
        spot = memory.spot
        if spot is None:
            return None
        tab = Tab.__members__.get(spot.tab.upper(), Tab.SNAPSHOTS)
        return _Destination(Target(TablePath(spot.database, spot.table), spot.branch), tab=tab)

    def _choose(self, names: list[str], destination: Target | None) -> Target | None:
        """Choose the requested table, else the first of its database, else the first of any."""
        first = [name for name in names if destination is not None and name == destination.table.database]
        for database in dict.fromkeys([*first, *names]):
            try:
                listed = tables(self._session.files, database)
            except Denied as error:
                # The tree shows the error once the database is opened.
                self._put(Problem(f"{database}: {error.message}"))
                listed = []
                continue
            self._put(Tables(database, listed))
            if listed:
                break
        else:
            return None
        if destination is not None and destination.table in listed:
            target, problem = destination, ""
        else:
            target = Target(listed[0])
            problem = (
                f"There is no table {destination.table.full_name}: this is the first one"
                if destination
                else ""
            )
        self._put(Chosen(target, problem))
        return target

    def _open(self, target: Target) -> Opened:
        """Open the target; or main, if there is no such branch."""
        try:
            return self._session.open(target)
        except NotFound as error:
            main = Target(target.table)
            if target == main:
                raise
            self._put(Chosen(main, f"{error.message}: this is main"))
            return self._session.open(main)

    def _arrival(self, opened: Opened, version: str) -> Stage:
        from paimark.core.travel.version import resolve_version

        try:
            resolved = resolve_version(self._session.files, opened.root, version)
        except PaimarkError as error:
            return Chosen(opened.target, f"{error.message}: this is the newest")
        return Arrived(opened.target, _TABS[resolved.kind], resolved.name, resolved.note)

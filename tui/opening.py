"""The first reads, which begin before Textual is imported.

It reads databases, the tables of one, and a table's newest snapshots: the requested table, else the first.
Results are kept until the app listens, then passed on at once. Does not import Textual.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from paimark.core.errors import NotFound, PaimarkError
from paimark.core.storage.files import Denied
from paimark.core.table.catalog import databases, tables
from paimark.core.table.layout import TablePath
from paimark.core.table.rows import SnapshotRow
from paimark.tui.session import PAGE, Opened, Session, Target
from paimark.tui.tabs import Tab
from paimark.tui.work.unexpected_errors import problem_of

if TYPE_CHECKING:
    from paimark.tui.panes.tables import TablesPane


class Beginner(Protocol):
    """The screen, as it is filled at the start."""

    tables: TablesPane

    def begin_at(self, target: Target, problem: str = "") -> None:
        """Go to a table and branch. `problem` is the reason if it is not the requested one."""

    def show_newest(self, opened: Opened, rows: list[SnapshotRow], unit: str) -> None:
        """`unit` is what the counts of the rows count, as in `unit_of`."""

    def arrive(self, target: Target, tab: Tab, row: str = "", note: str = "") -> None:
        """Open a tab, at the record of a requested version. `note` tells how the version was resolved."""

    def note(self, problem: str) -> None: ...
    def fail_at(self, stage: str, error: PaimarkError) -> None:
        """The read of `stage` failed: `databases`, `tables` or `snapshots`."""


Stage = Callable[[Beginner], object]
_TABS = {"snapshot": Tab.SNAPSHOTS, "savepoint": Tab.SAVEPOINTS, "tag": Tab.TAGS}


class Opening:
    """Reads in a thread. A stage is what it does with the screen; those before `listen` are kept."""

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
            wanted, version, tab = self._destination()
            names = databases(self._session.files)
            self._put(lambda screen: screen.tables.take_databases(names))
            at = "tables"
            target = self._choose(names, wanted)
            if target is None:
                return
            at = "snapshots"
            unit = self._session.begin_unit(target)
            opened = self._open(target)
            is_there = opened.target == wanted
            if is_there and tab is not Tab.SNAPSHOTS:
                self._put(lambda screen: screen.arrive(opened.target, tab))
            self._session.memory.look(target.table, Tab.SNAPSHOTS.name.lower())
            rows, counted = opened.lineage.newest(PAGE), unit()
            self._put(lambda screen: screen.show_newest(opened, rows, counted))
            if is_there and version:
                self._arrive(opened, version)
        except Exception as error:
            stage, problem = at, problem_of(error)
            self._put(lambda screen: screen.fail_at(stage, problem))

    def _destination(self) -> tuple[Target | None, str, Tab]:
        """The requested place, a version in it and a tab; else the last location."""
        memory = self._session.memory
        # All that the first frame needs, so that the screen itself reads nothing.
        spot, _ = memory.spot, memory.sidebar
        if problem := memory.problem:
            self._put(lambda screen: screen.note(f"What was remembered is not used: {problem}"))
        if self._session.settings.start:
            from paimark.core.travel.place import parse_place

            place = parse_place(self._session.settings.start)
            return Target(place.table, place.branch), place.version, Tab.SNAPSHOTS
        if spot is None:
            return None, "", Tab.SNAPSHOTS
        tab = Tab.__members__.get(spot.tab.upper(), Tab.SNAPSHOTS)
        return Target(TablePath(spot.database, spot.table), spot.branch), "", tab

    def _choose(self, names: list[str], wanted: Target | None) -> Target | None:
        """Choose the requested table, else the first of its database, else the first of any."""
        first = [name for name in names if wanted is not None and name == wanted.table.database]
        read: dict[str, list[TablePath]] = {}
        for database in dict.fromkeys([*first, *names]):
            if self._list(database, read):
                break
        target, problem = next((Target(listed[0]) for listed in read.values() if listed), None), ""
        if target is not None and wanted is not None:
            if wanted.table in read[target.table.database]:
                target = wanted
            else:
                problem = f"There is no table {wanted.table.full_name}: this is the first one"
        self._put(lambda screen: _begin(screen, read, target, problem))
        return target

    def _list(self, database: str, read: dict[str, list[TablePath]]) -> bool:
        """Add the tables of a database to `read`, if this user may list them; return whether it has any."""
        try:
            read[database] = tables(self._session.files, database)
        except Denied as error:
            # The tree shows the error once the database is opened.
            problem = f"{database}: {error.message}"
            self._put(lambda screen: screen.note(problem))
        return bool(read.get(database))

    def _open(self, target: Target) -> Opened:
        """Open the target; or main, if there is no such branch."""
        try:
            return self._session.open(target)
        except NotFound as error:
            main, problem = Target(target.table), f"{error.message}: this is main"
            if target == main:
                raise
            self._put(lambda screen: screen.begin_at(main, problem))
            return self._session.open(main)

    def _arrive(self, opened: Opened, version: str) -> None:
        from paimark.core.travel.version import resolve_version

        try:
            found = resolve_version(self._session.files, opened.root, version)
        except PaimarkError as error:
            problem = f"{error.message}: this is the newest"
            self._put(lambda screen: screen.begin_at(opened.target, problem))
        else:
            self._put(lambda screen: screen.arrive(opened.target, _TABS[found.kind], found.name, found.note))


def _begin(
    screen: Beginner, listed: Mapping[str, list[TablePath]], target: Target | None, problem: str
) -> None:
    """In one go: between the tables and the chosen one, a key that waits for its rows would find none."""
    for database, found in listed.items():
        screen.tables.take_tables(database, found)
    if target is not None:
        screen.begin_at(target, problem)

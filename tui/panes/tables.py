"""Left: databases and their tables, each read when it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.timer import Timer

from core.errors import PaimarkError
from core.table.catalog import databases, tables
from core.table.layout import TablePath
from tui.background import Slot
from tui.messages import Noted
from tui.session import Session
from tui.sources import Column, Records
from tui.widgets.filter_line import FilterLine
from tui.widgets.record_grid import RecordGrid

# How long the cursor rests on a table before it is read: walking past costs nothing.
_REST = 0.15


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A database, one of its tables, or (both None) a remark."""

    label: str
    database: str | None = None
    table: TablePath | None = None

    def values(self) -> Sequence[object]:
        return (self.label,)


class TablesPane(Vertical):
    """Moving onto a table shows it; Enter goes to it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open", "open", id="tables.open")]

    class Looked(Message):
        """The cursor rests on a table."""

        def __init__(self, table: TablePath) -> None:
            self.table = table
            super().__init__()

    class Opened(Message):
        """Enter on a table: show it and go there."""

        def __init__(self, table: TablePath) -> None:
            self.table = table
            super().__init__()

    def __init__(self, session: Session) -> None:
        super().__init__(id="tables")
        self.session = session
        self.grid = RecordGrid([Column("", most=200)], head=False)
        self.databases: list[str] = []
        self.tables: dict[str, list[TablePath] | PaimarkError] = {}
        self.shown: TablePath | None = None
        self._open: set[str] = set()
        self._slots: dict[str, Slot[list[TablePath]]] = {}
        self._timer: Timer | None = None
        self._lines: list[TreeLine] = []

    def compose(self) -> ComposeResult:
        yield self.grid

    def on_mount(self) -> None:
        self._listing: Slot[list[str]] = Slot(self.app, "databases", self.take_databases, self.fail)
        if not self.databases:
            self.grid.say("Reading …")

    # What it holds

    def reload(self) -> None:
        """Read the databases, and the tables of those that are open, again."""
        self._listing.ask(lambda report: report(databases(self.session.files)))
        for database in self._open:
            self._read(database)

    def take_databases(self, names: list[str]) -> None:
        self.databases = names
        self._open &= set(names)
        self._show()

    def take_tables(self, database: str, found: list[TablePath]) -> None:
        """The tables of a database, which is open from now on."""
        self.tables[database] = found
        self._open.add(database)
        self._show()

    def fail(self, error: PaimarkError) -> None:
        self.grid.say(error.message, error.hint)
        self.post_message(Noted(error.message, "bad"))

    def mark(self, table: TablePath) -> None:
        """This table is the one in view: the cursor goes to it."""
        self.shown = table
        self._show()
        self.go_to(table)

    def go_to(self, table: TablePath) -> None:
        if table.database not in self._open:
            self._expand(table.database)
        for place, line in enumerate(self._lines):
            if line.table == table:
                self.grid.move_to(place)

    # What keys do

    def action_open(self) -> None:
        line = self._line
        if line is None:
            return
        if line.table is not None:
            self._stop_timer()
            self.post_message(self.Opened(line.table))
        elif line.database in self._open:
            self._collapse(line.database)
        elif line.database is not None:
            self._expand(line.database)

    def on_record_grid_right_edge(self, event: RecordGrid.RightEdge) -> None:
        event.stop()
        line = self._line
        if line is None or line.database is None:
            return
        if line.table is None and line.database in self._open:
            self.grid.action_move(1)
        else:
            self.action_open()

    def on_record_grid_left_edge(self, event: RecordGrid.LeftEdge) -> None:
        event.stop()
        line = self._line
        if line is None or line.database is None:
            return
        if line.table is None:
            self._collapse(line.database)
            return
        for place, other in enumerate(self._lines):
            if other.database == line.database and other.table is None:
                self.grid.move_to(place)

    def on_record_grid_moved(self, event: RecordGrid.Moved) -> None:
        event.stop()
        self._stop_timer()
        line = self._line
        if line is not None and line.table is not None and line.table != self.shown:
            self._timer = self.set_timer(_REST, self._rested)

    def on_record_grid_filter_asked(self, event: RecordGrid.FilterAsked) -> None:
        event.stop()
        FilterLine.open_for(event.grid)

    def _rested(self) -> None:
        line = self._line
        if line is not None and line.table is not None and line.table != self.shown:
            self.post_message(self.Looked(line.table))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()

    @property
    def _line(self) -> TreeLine | None:
        index = self.grid.index
        return self._lines[index] if index is not None and index < len(self._lines) else None

    def _expand(self, database: str) -> None:
        self._open.add(database)
        if not isinstance(self.tables.get(database), list):
            self._read(database)
        self._show()

    def _collapse(self, database: str) -> None:
        self._open.discard(database)
        self._show()

    def _read(self, database: str) -> None:
        def failed(error: PaimarkError) -> None:
            self.tables[database] = error
            self.post_message(Noted(error.message, "bad"))
            self._show()

        if database not in self._slots:
            self._slots[database] = Slot(
                self.app, database, lambda found: self.take_tables(database, found), failed
            )
        self._slots[database].ask(lambda report: report(tables(self.session.files, database)))

    def _show(self) -> None:
        lines: list[TreeLine] = []
        for database in self.databases:
            is_open = database in self._open
            lines.append(TreeLine(f"{'▾' if is_open else '▸'} {database}", database))
            if is_open:
                lines += self._table_lines(database)
        old, self._lines = self._line, lines
        self.grid.show(Records(lines, TreeLine.values), note="No databases in this warehouse.")
        if old is not None:
            places = [
                p for p, line in enumerate(lines) if (line.database, line.table) == (old.database, old.table)
            ]
            if places and self.grid.order.natural:
                self.grid.move_to(places[0])

    def _table_lines(self, database: str) -> list[TreeLine]:
        found = self.tables.get(database)
        if found is None:
            return [TreeLine("   …")]
        if isinstance(found, PaimarkError):
            return [TreeLine(f" ! {found.message}")]
        if not found:
            return [TreeLine("   no tables")]
        return [
            TreeLine(f" {'●' if table == self.shown else ' '} {table.name}", database, table)
            for table in found
        ]

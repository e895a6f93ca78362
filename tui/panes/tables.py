"""The tree at the left: databases, and their tables, which are read when the database is opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.timer import Timer

from paimark.core.errors import PaimarkError, Unavailable
from paimark.core.storage.files import Denied, Files
from paimark.core.table.catalog import address_hint, database_directory, databases, tables
from paimark.core.table.layout import TablePath
from paimark.core.table.names import unsafe_said
from paimark.tui.messages import LogLineAdded, StatusShown
from paimark.tui.named_keys import key
from paimark.tui.panes.pane import Desk
from paimark.tui.records.sources import GridColumn, Records
from paimark.tui.session import Session, Target
from paimark.tui.widgets.frame import Frame
from paimark.tui.widgets.grid.record_grid import Edge, RecordGrid
from paimark.tui.work.background import Slot

# The tables of a database, or the reason why they can't be listed.
TableListing = list[TablePath] | PaimarkError

_COMING = "What Spark, Flink or pypaimon makes here shows by itself."
# How long the cursor rests on a table before it is read, so that moving past one costs nothing.
_REST = 0.15
# In cells, including the line at its right.
_NARROWEST, _STEP = 12, 4


class TreeLine(msgspec.Struct, frozen=True):
    """A database, one of its tables, or (both None) a remark."""

    label: str
    database: str | None = None
    table: TablePath | None = None

    def values(self) -> Sequence[object]:
        return (self.label,)


class TablesPane(Frame):
    """Moving the cursor to a table shows it; Enter moves the focus to it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open", "open", id="tables.open")]

    def __init__(self, session: Session, desk: Desk) -> None:
        super().__init__("Tables", "tables")
        self.session = session
        self.desk = desk
        self.grid = RecordGrid([GridColumn("", most=200, middle=True)], head=False, at_edge=self._at_edge)
        self.databases: list[str] = []
        self.tables: dict[str, TableListing] = {}
        self.shown: TablePath | None = None
        self._open: set[str] = set()
        self._listed = self._failed = False
        self._slots: dict[str, Slot[list[TablePath]]] = {}
        # The names in the warehouse (under "") and in the open databases, from the last listing.
        self._listings: dict[str, frozenset[str]] = {}
        self._timer: Timer | None = None
        self._lines: list[TreeLine] = []

    def compose(self) -> ComposeResult:
        yield self.grid

    def on_mount(self) -> None:
        self._listing: Slot[list[str]] = Slot(self.app, "databases", self.take_databases, self.fail)
        self._checking: Slot[dict[str, frozenset[str]]] = Slot(
            self.app, "check", self._checked, lambda error: None
        )
        self._learning: Slot[tuple[str, TableListing]] = Slot(
            self.app, "tables", self._learn, self._learn_none
        )
        if not self.databases:
            self.grid.say("Reading …")

    # Its width: until a person sets one, the style sheet defines it, for wide and for narrow terminals

    def fit(self, terminal: int) -> None:
        """Apply the remembered width, but at most half of a terminal of this width."""
        if (width := self.session.memory.sidebar) is not None:
            self.styles.width = _within(width, terminal)

    def widen(self, steps: int, terminal: int) -> None:
        """Make it wider by some steps, or narrower if they are negative."""
        if self.display:
            width = _within(self.outer_size.width + steps * _STEP, terminal)
            self.session.memory.keep_sidebar(width)
            self.fit(terminal)
        else:
            back = f"{key('browse.up')} brings them back"
            self.post_message(StatusShown(f"The tables are hidden: {back}", "warn"))

    # Databases and tables

    def reload(self) -> None:
        """Read the databases, and the tables of the open ones, again."""
        self._listing.ask(lambda report: report(databases(self.session.files)))
        # The tables of closed databases are read when they are opened.
        self.tables = {name: listing for name, listing in self.tables.items() if name in self._open}
        for database in self._open:
            self._read(database)

    def follow(self) -> None:
        """Check whether databases, or tables of open ones, were made or dropped: a listing each."""
        if self._listing.busy or self._checking.busy:
            return
        listed = {"": "", **{each: database_directory(each) for each in self._open}}
        files = self.session.files
        self._checking.ask(
            lambda report: report({each: frozenset(files.names(path)) for each, path in listed.items()})
        )

    def _checked(self, listings: dict[str, frozenset[str]]) -> None:
        before, self._listings = self._listings, listings
        if listings[""] != before.get("", set(map(database_directory, self.databases))):
            self._listing.ask(lambda report: report(databases(self.session.files)))
        # The error of the whole list stays until a listing succeeds.
        if listings != before and not self._failed:
            self._show()
        for database in self._open & listings.keys():
            tables = self.tables.get(database)
            known = {each.name for each in tables} if isinstance(tables, list) else set()
            if listings[database] != before.get(database, known):
                self._read(database)

    def take_databases(self, names: list[str]) -> None:
        self.databases = names
        self._listed, self._failed = True, False
        self._open &= set(names)
        self._show()

    def take_tables(self, database: str, listed: list[TablePath]) -> None:
        """Show the tables of a database, and open it."""
        self.tables[database] = listed
        self._open.add(database)
        self._show()

    def learn(self) -> None:
        """List the tables of closed databases as well, so that the palette finds them by name."""
        missing = [each for each in self.databases if each not in self.tables]
        if missing and not self._learning.busy:
            self._learning.ask(lambda report: list_tables(self.session.files, missing, report))

    def _learn(self, listing: tuple[str, TableListing]) -> None:
        self.tables.setdefault(*listing)

    def _learn_none(self, error: PaimarkError) -> None:
        for name in self.databases:
            # Opening the database tries again.
            self.tables.setdefault(name, error)
        self._noted(error)

    def _noted(self, error: PaimarkError) -> None:
        self.post_message(LogLineAdded(error.message, "bad"))

    @property
    def first_listed(self) -> bool:
        return self._failed or bool(self.tables) or (self._listed and not self.databases)

    @property
    def all_listed(self) -> bool:
        """Whether the tables of every database are known, or can't be."""
        return self._failed or (self._listed and all(each in self.tables for each in self.databases))

    def pointed_at(self) -> TablePath | None:
        """The table that the cursor has just reached, for a caller that shows it now; else None."""
        if self._timer is None:
            return None
        self._stop_timer()
        line = self._line
        return line.table if line is not None else None

    def fail(self, error: PaimarkError) -> None:
        self._failed = True
        self.grid.say(error.message, error.hint)
        self._noted(error)

    def mark(self, table: TablePath) -> None:
        """Mark this table as the shown one, and put the cursor on it."""
        self.shown = table
        self._show()
        self.go_to(table)

    def go_to(self, table: TablePath) -> None:
        if table.database not in self._open:
            self._expand(table.database)
        for index, line in enumerate(self._lines):
            if line.table == table:
                self.grid.move_to(index)

    # Actions of keys

    def action_open(self) -> None:
        line = self._line
        if line is None:
            return
        if line.table is not None:
            self._stop_timer()
            self.desk.open_table(line.table)
        elif line.database in self._open:
            self._collapse(line.database)
        elif line.database is not None:
            self._expand(line.database)

    def _at_edge(self, edge: Edge) -> None:
        line = self._line
        if line is None or line.database is None or edge == "top":
            return
        if edge == "right" and line.table is None and line.database in self._open:
            self.grid.action_move(1)
        elif edge == "right":
            self.action_open()
        elif line.table is None:
            self._collapse(line.database)
        else:
            self.grid.move_to(self._lines.index(self._line_of(line.database)))

    def _line_of(self, database: str) -> TreeLine:
        return next(line for line in self._lines if line.database == database and line.table is None)

    def on_record_grid_moved(self, event: RecordGrid.Moved) -> None:
        event.stop()
        self._stop_timer()
        line = self._line
        if line is not None and line.table is not None and line.table != self.shown:
            self._timer = self.set_timer(_REST, self._rested)

    def _rested(self) -> None:
        self._timer = None
        line = self._line
        if line is not None and line.table is not None and line.table != self.shown:
            self.desk.show_table(Target(line.table))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

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
            self._noted(error)
            if not self._failed:
                # Otherwise the error of the whole list is shown.
                self._show()

        if database not in self._slots:
            self._slots[database] = Slot(
                self.app, database, lambda listed: self.take_tables(database, listed), failed
            )
        self._slots[database].ask(lambda report: report(tables(self.session.files, database)))

    def _show(self) -> None:
        lines: list[TreeLine] = []
        for database in self.databases:
            is_open = database in self._open
            lines.append(TreeLine(f"{'▾' if is_open else '▸'} {database}", database))
            if is_open:
                lines += self._table_lines(database) + self._left_out(database)
        lines += self._left_out("")
        old, self._lines = self._line, lines
        self.grid.show(Records(lines, TreeLine.values))
        if not lines and self._listed:
            self.grid.say("No databases in this warehouse.", address_hint(self.session.files.uri) or _COMING)
        if old is not None:
            indexes = [
                p for p, line in enumerate(lines) if (line.database, line.table) == (old.database, old.table)
            ]
            if indexes and self.grid.order.natural:
                self.grid.move_to(indexes[0])

    def _left_out(self, database: str) -> list[TreeLine]:
        """What the last listing has besides, of a database or of the warehouse (`""`)."""
        said = unsafe_said(self._listings.get(database, ()))
        return [TreeLine(f"{' ' if database else ''}! {said}")] if said else []

    def _table_lines(self, database: str) -> list[TreeLine]:
        listing = self.tables.get(database)
        if listing is None:
            return [TreeLine("   …")]
        if isinstance(listing, PaimarkError):
            return [TreeLine(f" ! {listing.message}")]
        if not listing:
            return [TreeLine("   no tables")]
        return [
            TreeLine(f" {'●' if table == self.shown else ' '} {table.name}", database, table)
            for table in listing
        ]


def _within(width: int, terminal: int) -> int:
    return max(_NARROWEST, min(width, terminal // 2))


def list_tables(
    files: Files, names: Sequence[str], report: Callable[[tuple[str, TableListing]], None]
) -> None:
    """Report the tables of one database after another. For a thread. Raises `Unavailable`."""
    for name in names:
        try:
            report((name, tables(files, name)))
        except Denied as error:
            report((name, error))
        except Unavailable:
            raise
        except PaimarkError as error:
            report((name, error))

"""The base of a table's panes: a grid that reads its rows and follows changes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar, cast

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.errors import PaimarkError
from paimark.core.figures import counted
from paimark.core.table.definition.file_sizes import unit_of
from paimark.tui.memory import GridLook
from paimark.tui.messages import LogLineAdded, StatusShown
from paimark.tui.named_keys import key
from paimark.tui.panes.pane import Desk, PaneRows, RowsReport
from paimark.tui.records.marks import Mark, mark_of, pair_of_change, why_no_change
from paimark.tui.records.row_actions import RowActions
from paimark.tui.records.sources import GridColumn, RecordKey, RowSource, tuples
from paimark.tui.session import Opened, Session, Target
from paimark.tui.terminal.key_order import ROWS
from paimark.tui.widgets.detail_strip import Detail
from paimark.tui.widgets.grid.record_grid import Edge, RecordGrid
from paimark.tui.widgets.lines import Column
from paimark.tui.work.background import Slot, ThreadReport

# How long a store may take, in seconds, before it is named.
_PATIENCE = 5

S = TypeVar("S", bound=RowSource)
COUNTED = f"{unit_of(None)}s"


class RecordPane(Column, Generic[S]):
    """Subclasses define how to read the rows, in a thread, and the details of a row."""

    # A column of `COUNTED` is named by what metadata counts in the table.
    COLUMNS: ClassVar[tuple[GridColumn, ...]] = ()
    SORTS: ClassVar[bool] = True
    TITLE: ClassVar[str] = ""
    # Whether all rows are of the root that is opened.
    ONE_ROOT: ClassVar[bool] = True
    # Whether the rows are the same for every branch of a table.
    SAME_FOR_BRANCHES: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "query", tooltip="prepare the query that reads it", id="pane.query")
    ]

    class Changed(Message):
        """The row under the cursor has changed, or the number of rows, or an error."""

        def __init__(self, pane: RecordPane[Any]) -> None:
            self.pane = pane
            super().__init__()

    def __init__(self, session: Session, desk: Desk) -> None:
        super().__init__(id=self.TITLE.lower())
        self.session = session
        self.desk = desk
        self.target: Target | None = None
        self.loaded: PaneRows[S] | None = None
        self.problem: PaimarkError | None = None
        self.grid = RecordGrid(
            self.COLUMNS, frozen=1, sorts=self.SORTS, at_edge=self._at_edge, sign=self._sign
        )
        self._requested: Target | None = None
        self._going_to = ""
        self._kept_look = GridLook()
        self._ready = False

    def compose(self) -> ComposeResult:
        yield self.grid

    def on_mount(self) -> None:
        self._reading: Slot[PaneRows[S]] = Slot(self.app, self.TITLE.lower(), self.take, self.fail)
        self._checking: Slot[Hashable] = Slot(self.app, "check", self._checked, self._check_failed)
        self._ready = True
        self.load_if_stale()

    # Implemented by subclasses

    @abstractmethod
    def read(self, opened: Opened, report: ThreadReport[PaneRows[S]]) -> None:
        """Read and report the rows, at once or piece by piece. Called in a thread."""

    @abstractmethod
    def fingerprint(self, opened: Opened) -> Hashable:
        """A cheap value that differs when `read` would find other rows. Called in a thread."""

    @abstractmethod
    def detail(self, index: int) -> Detail:
        """All facts about the record that are known without reading."""

    @abstractmethod
    def empty_note(self) -> str:
        """What is missing, and the key that makes it, to show if there are no rows."""

    def version(self, index: int) -> RowVersion | None:
        """The version that Enter queries and actions start from; None for a row without a version."""
        return None

    def row_actions(self, action: str) -> RowActions | None:
        """The objects that the key of an action may act on; None if the row has only its version."""
        return None

    def cancel(self) -> bool:
        """Stop a running count; return whether there was one."""
        return False

    @property
    def newest(self) -> bool | None:
        """Whether actions take the newest snapshot, and not that of the row; None if each has its own way."""
        return None

    def sign(self, index: int) -> str:
        """One character to show before the row: `!` if something is wrong with the record."""
        return " "

    def name_of(self, index: int) -> str:
        """The text that `y` copies."""
        return str(self.grid.source.row(index)[0])

    @property
    def counted(self) -> str:
        """The name of a count of the rows' metadata: `records`, or `rows` in a table without a key."""
        return f"{unit_of(None) if self.loaded is None else self.loaded.unit}s"

    def columns_of(self, unit: str) -> list[GridColumn]:
        """The columns for a table in which metadata counts such units."""
        named = {COUNTED: f"{unit}s"}
        return [
            msgspec.structs.replace(each, title=named.get(each.title, each.title)) for each in self.COLUMNS
        ]

    @property
    def rows(self) -> S:
        """The rows of the grid: its indexes refer to them."""
        return cast(S, self.grid.source)

    # Loading

    def aim(self, target: Target) -> None:
        """Show another table or branch: read it now if this pane is visible, else when it is opened."""
        self.target, self._going_to = target, ""
        if self._ready:
            # The rows that are still being read belong to the previous target.
            self._requested = None if self._reading.busy else self._requested
            self._reading.drop()
            self._checking.drop()
        self.load_if_stale()

    def load_if_stale(self) -> None:
        if self._ready and self.display and self.target is not None and self._requested != self.target:
            if self._will_show_same(self.target):
                self.grid.say("")
            else:
                self.grid.clear("")
            self.loaded = self.problem = None
            self.load()

    def _will_show_same(self, target: Target) -> bool:
        """Whether the rows of a target are those shown: then the cursor stays, and filter and order."""
        shown = None if self.loaded is None else self.loaded.opened.target.table
        return self.SAME_FOR_BRANCHES and shown == target.table

    def load(self) -> None:
        """Read again; the old rows stay until the new ones arrive."""
        target = self.target
        if target is None:
            return
        self._requested = target
        self._checking.drop()
        self._reading.ask(lambda report: self.read_moving(target, report), self._is_slow)

    def read_moving(self, target: Target, report: ThreadReport[PaneRows[S]]) -> None:
        """Read and report the rows, wherever another program moves them meanwhile. Called in a thread."""
        self.session.memory.look(target.table, self.TITLE.lower())
        rows = RowsReport(report, self.session, target, self.session.begin_unit(target))
        self.session.read_moving(lambda: self.read(self.session.open(target), rows))

    def _is_slow(self) -> None:
        self._say_reading(self._reading.generation)

    def _say_reading(self, generation: int, waited: int = 0) -> None:
        """Show that rows are read, and after some seconds also who does not answer."""
        if self.loaded is not None or not self._reading.busy or self._reading.generation != generation:
            return
        waits = f" No answer from {self.session.name} for {waited} s." if waited else ""
        self.grid.say(f"Reading {self.TITLE.lower()} …{waits}")
        self.set_timer(_PATIENCE, partial(self._say_reading, generation, waited + _PATIENCE))

    def take(self, loaded: PaneRows[S]) -> None:
        self._requested = loaded.opened.target
        known = self.loaded.left_out if self.loaded is not None else ()
        for sentence in loaded.left_out:
            if sentence not in known:
                self.post_message(LogLineAdded(sentence, "warn"))
        is_first, self.loaded, self.problem = self.loaded is None, loaded, None
        self._show(loaded)
        if is_first:
            self._kept_look = self.session.memory.look(loaded.opened.target.table, self.TITLE.lower())
            _put_look(self.grid, self._kept_look)
        self._go()
        self.post_message(self.Changed(self))

    def _show(self, loaded: PaneRows[S]) -> None:
        log = key("browse.log")
        # With unreadable files it is not known that there are no rows.
        note = f"None of what is there can be read: {log} says why." if loaded.left_out else self.empty_note()
        self.grid.retitle(self.columns_of(loaded.unit))
        self.grid.show(loaded.rows, note=note, total=loaded.total)

    def go_to(self, name: str) -> None:
        """Put the cursor on the record of this name as soon as it is read, unless a person moves it first."""
        self._going_to = name
        self._go()

    def _go(self) -> None:
        if self.loaded is None or not self._going_to:
            return
        index = self.index_of(self._going_to)
        moved = self.grid.cursor > 0
        place = None if index is None else self.grid.view.place(self.rows.key(index))
        if place is not None and not moved:
            self.grid.move_to(place)
        if index is not None or moved:
            self._going_to = ""

    def index_of(self, name: str) -> int | None:
        """The index of the record with this name; None if there is none."""
        keys = (self.rows.key(index) for index in range(len(self.rows)))
        return next(
            (i for i, key in enumerate(keys) if isinstance(key, RecordKey) and key.name == name), None
        )

    def fail(self, error: PaimarkError) -> None:
        if self.loaded is not None and (self.problem is None or self.problem.message != error.message):
            # The frame may have no room for all of it.
            self.post_message(LogLineAdded(error.message, "bad"))
        self.problem = error
        if self.loaded is None or not len(self.loaded.rows):
            self.grid.say(error.message, error.hint)
        self.post_message(self.Changed(self))

    def reload(self) -> None:
        """Read everything again, without use of the rows read before."""
        # A hidden pane that still has the rows of another table reads when it is opened: if it read now, it
        # would keep the filter, cursor and columns of that table.
        if self._requested == self.target:
            self.load()

    def follow(self) -> None:
        """Check, at low cost, for changes; do nothing while an earlier check or read still runs."""
        target = self.target
        if target is None or not self._ready or self._reading.busy or self._checking.busy:
            return
        self._checking.ask(lambda report: self.check_moving(target, report))

    def check_moving(self, target: Target, report: ThreadReport[Hashable]) -> None:
        """Report the fingerprint, as `read_moving` the rows. Called in a thread."""
        self.session.read_moving(lambda: report(self.fingerprint(self.session.open(target))))

    def _checked(self, fingerprint: Hashable) -> None:
        if self.loaded is None or self.problem is not None or fingerprint != self.loaded.fingerprint:
            self.load()

    def _check_failed(self, error: PaimarkError) -> None:
        self.loaded = None
        self.grid.show(tuples(()))
        self.fail(error)

    def key_waits_for(self, binding: str) -> str:
        """The event that a key (by its binding's id) for rows must wait for: they are read and filtered."""
        is_reading = self.loaded is None and self.problem is None
        return ROWS if is_reading or self.grid.is_filtering else ""

    # The row under the cursor

    @property
    def current_detail(self) -> Detail:
        index = self.grid.index
        if index is None:
            return Detail(self.no_row, position=self.position)
        detail = self.detail(index)
        return msgspec.structs.replace(detail, position=self.position, key=self.grid.source.key(index))

    @property
    def no_row(self) -> str:
        """The reason why the cursor is on no row; empty if it is on one, or if there are no rows."""
        grid, lost = self.grid, self.grid.lost
        if isinstance(lost, RecordKey):
            hidden = grid.source.find(lost) is not None
            return f"{lost.name} no longer matches /{grid.order.text}" if hidden else self._why_gone(lost)
        if grid.going_to_end:
            return "The last row is still being read"
        return grid.why_none

    def _why_gone(self, lost: RecordKey) -> str:
        """The reason why a record is not among the rows: it is deleted, or belonged to an earlier main."""
        opened = None if self.loaded is None else self.loaded.opened
        if self.loaded is not None and self.loaded.fingerprint is None:
            return f"{lost.name} is still being read"
        if opened is None or not self.ONE_ROOT or lost.root == opened.root:
            return f"{lost.name} is gone"
        timeline = key("tab.timeline")
        return f"main is {opened.root.label} now: {timeline} shows {lost.name}"

    def says_nothing_here(self) -> None:
        """Show why a key for a row has no effect, if there are no rows at all."""
        if self.loaded is not None and not len(self.rows):
            self.post_message(StatusShown(self.empty_note(), "warn"))

    def says_no_row(self) -> bool:
        """Whether the cursor is on no row; shows the reason then. A key must not act on a neighbour."""
        reason = self.no_row
        if reason:
            self.post_message(StatusShown(f"{reason}: move to a row first", "warn"))
        return bool(reason)

    @property
    def current_version(self) -> RowVersion | None:
        index = self.grid.index
        return None if index is None else self.version(index)

    @property
    def change(self) -> tuple[Mark, Mark] | None:
        """The versions before and after what the row under the cursor did."""
        return pair_of_change(self.current_mark)

    @property
    def why_no_change(self) -> str:
        return why_no_change(self.current_mark)

    @property
    def current_mark(self) -> Mark | None:
        """The row under the cursor as a mark; None if there is none."""
        index = self.grid.index
        return None if index is None else self.mark_at(index)

    def mark_at(self, index: int) -> Mark | None:
        """The row at an index of the source as a mark; None for a row without a version."""
        return None if self.loaded is None else mark_of(self.loaded.opened.target, self.version(index))

    def _sign(self, index: int) -> str:
        """One character to show before a row: whether it is marked, else the sign of the pane."""
        return "*" if self.desk.marks and self.mark_at(index) in self.desk.marks else self.sign(index)

    def marks_changed(self) -> None:
        """Repaint after marks were added or removed."""
        self.grid.repaint_rows()
        if self.display:
            self.post_message(self.Changed(self))

    @property
    def position(self) -> str:
        loaded, position = self.loaded, self.grid.position
        if self.desk.marks and position:
            position = f"{position}, {len(self.desk.marks):,} marked"
        if self.problem is not None and position:
            return f"not refreshed: {self.problem.message}"
        if loaded is not None and loaded.is_part:
            position = f"{position}, {loaded.total:,} in all"
        if loaded is not None and loaded.left_out:
            files, log = counted(len(loaded.left_out), "file"), key("browse.log")
            position = f"{position}  ! {files} unreadable: {log} says which".lstrip()
        return position

    @property
    def count_text(self) -> str:
        """The number of rows beside the pane's name; empty if it is unknown."""
        loaded = self.loaded
        if loaded is None:
            return ""
        return f"{len(loaded.rows) if loaded.total is None else loaded.total:,}"

    def is_of(self, target: Target | None) -> bool:
        """Whether the shown rows belong to this table and branch."""
        return self.loaded is not None and self.loaded.opened.target == target

    def focus_first(self) -> None:
        self.screen.set_focus(self.grid)

    def copy_text(self) -> str | None:
        index = self.grid.index
        return None if index is None else self.name_of(index)

    def expect(self, target: Target) -> None:
        """Do not read the first rows of a target: another thread reads them and passes them to `take`."""
        self.target = self._requested = target

    @property
    def awaited(self) -> Target | None:
        """The target whose first rows are being read; None after they have arrived."""
        return self._requested if self.loaded is None else None

    async def action_choose(self) -> None:
        version = self.current_version
        if version is not None:
            await self.desk.prepare(version)
        elif not self.says_no_row():
            self.says_nothing_here()

    def _at_edge(self, edge: Edge) -> None:
        if edge == "left":
            self.desk.go_left()

    def on_record_grid_moved(self, event: RecordGrid.Moved) -> None:
        event.stop()
        self._keep_look()
        self.desk.cursor_moved()
        if self.moved():
            self.post_message(self.Changed(self))

    def _keep_look(self) -> None:
        """Remember the layout of the columns and the sorting, if they have changed."""
        if self.target is None or not self.is_of(self.target):
            return
        look = _look_of(self.grid)
        if look != self._kept_look:
            self._kept_look = look
            self.session.memory.keep_look(self.target.table, self.TITLE.lower(), look)

    def moved(self) -> bool:
        """The cursor is on another row; return whether its details are already known."""
        return True


def _look_of(grid: RecordGrid) -> GridLook:
    columns, order = grid.shown_columns, grid.order
    sort = "" if order.column is None else columns.names[order.column]
    return GridLook(columns.layout, sort, order.descending)


def _put_look(grid: RecordGrid, look: GridLook) -> None:
    """Restore the settings; columns that no longer exist are ignored."""
    grid.lay_out(look.layout)
    names = grid.shown_columns.names
    if look.sort and look.sort in names:
        grid.sort_by(names.index(look.sort), descending=look.descending)

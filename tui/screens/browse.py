"""The main screen: tables on the left, a table's tabs on the right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.errors import PaimarkError
from paimark.core.table.layout import TablePath
from paimark.core.table.rows import SnapshotRow
from paimark.tui.messages import Copied, LogLineAdded, StatusShown
from paimark.tui.opening import Opening
from paimark.tui.panes.log import Log
from paimark.tui.panes.pane import Pane, WithChange
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.panes.snapshots import SnapshotsPane
from paimark.tui.panes.tables import TablesPane
from paimark.tui.query.drafts import Drafts
from paimark.tui.records.marks import Mark, marked_words
from paimark.tui.records.row_actions import tabs_of
from paimark.tui.screens.browse_keys import (
    BROWSE,
    FIRST_ON,
    NEVER_WAIT,
    OF_A_TABLE,
    heard_elsewhere,
    is_for_rows,
)
from paimark.tui.screens.open_tabs import LocationHistory, OpenTabs, keep_place
from paimark.tui.screens.row_dialogs import DifferenceLookup, RowDialogs
from paimark.tui.screens.selected_rows import SelectedRows
from paimark.tui.screens.table_summary import TableSummary
from paimark.tui.session import Opened, Session, Target
from paimark.tui.tabs import Tab
from paimark.tui.terminal.key_order import ROWS
from paimark.tui.widgets.breadcrumb import Breadcrumb, Location
from paimark.tui.widgets.detail_strip import DetailStrip
from paimark.tui.widgets.frame import Frame, follow_size
from paimark.tui.widgets.key_bar import KeyBar
from paimark.tui.widgets.lines import Backdrop, Row
from paimark.tui.widgets.tab_bar import TabBar
from paimark.tui.work.background import post

if TYPE_CHECKING:
    from paimark.core.statements.call import ActionCall
    from paimark.core.travel.diff.diff import Difference
    from paimark.tui.panes.query import QueryPane

# How often the visible pane is checked for changes.
FOLLOW_SECONDS = 3.0
DRAFT_SECONDS = 30.0
_ENGINE_SECONDS = 0.5


class BrowseScreen(Backdrop):
    """Chooses the table and branch to show; the panes read their own rows."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = BROWSE

    def __init__(self, session: Session, opening: Opening, log: Log) -> None:
        super().__init__()
        self.session = session
        self.log_lines = log
        self._opening = opening
        self._history = LocationHistory()
        self.tables = TablesPane(session, self)
        self.snapshots = SnapshotsPane(session, self)
        self.detail = DetailStrip()
        self.breadcrumb = Breadcrumb(Location(session.name, read_only=session.read_only))
        self.key_bar = KeyBar(self._first_keys, lambda: self.rows.keys_without_effect)
        self._tab_bar = TabBar([tab.title for tab in Tab])
        self._right = Frame(self.snapshots.TITLE, "right")
        self.tabs = OpenTabs(session, self, self.snapshots, self._tab_bar, self._right)
        self.drafts = Drafts()
        self.rows = SelectedRows(self.tabs, self.say)

    def compose(self) -> ComposeResult:
        yield self.breadcrumb
        yield self._tab_bar
        with Row(id="body"):
            yield self.tables
            with self._right:
                yield self.snapshots
        yield self.detail
        yield self.key_bar

    def on_mount(self) -> None:
        follow_size(self, [(0, "-tiny"), (16, "-short"), (32, "-tall")])
        self.dialogs = RowDialogs(self.app, self.session, self.tabs, self.rows, self.say)
        self._summary = TableSummary(self.app, self.session, self.tabs, self.breadcrumb, self.say)
        self._difference_lookup = DifferenceLookup(
            self.app, self.session, self.rows, self.say, self.prepare_statement, self.dialogs.plan
        )
        # Who names a table wants its rows.
        self.set_focus((self.snapshots if self.session.settings.start else self.tables).grid)
        # The reading thread may still run when this screen no longer has an app.
        app = self.app
        for stage in self._opening.listen(lambda stage: post(app, lambda: stage(self))):
            stage(self)
        self.set_interval(FOLLOW_SECONDS, self.follow)
        self.set_interval(FOLLOW_SECONDS, self.session.memory.save_soon)
        self.set_interval(DRAFT_SECONDS, lambda: self.drafts.keep_soon(self.tabs.texts_at_stake))
        self.set_interval(_ENGINE_SECONDS, self._summary.show_engine)
        # Keys that were typed before are handled after a thread's result.
        self.call_after_refresh(post, app, lambda: None)

    def on_screen_suspend(self) -> None:
        # The message of this screen is not about the dialog that opens.
        self.key_bar.hush()

    def say(self, text: str, ink: str = "") -> None:
        """Show a sentence on the bottom line."""
        self.post_message(StatusShown(text, ink))

    # The beginning

    def begin_at(self, target: Target, problem: str = "") -> None:
        """Show a table whose newest snapshots are being read, unless the person has gone elsewhere."""
        if self.target in (None, self.snapshots.awaited):
            self.tables.fit(self.size.width)
            self._show_name(target)
            self.snapshots.expect(target)
            self._summary.read()
            self._remember()
        if problem:
            self.say(problem, "warn")
            self.go_left()

    def show_newest(self, opened: Opened, rows: Sequence[SnapshotRow], unit: str) -> None:
        if opened.target == self.target:
            self.snapshots.first_page(opened, rows, unit)

    def arrive(self, target: Target, tab: Tab, row: str = "", note: str = "") -> None:
        if target == self.target and self.tabs.current is Tab.SNAPSHOTS:
            self.call_after_refresh(self._arrive, tab, row, note)

    async def _arrive(self, tab: Tab, row: str, note: str) -> None:
        """Go to the row of the requested version."""
        pane = await self.open_tab(tab)
        if row and isinstance(pane, RecordPane):
            pane.go_to(row)
        if note:
            self.say(note)

    def note(self, problem: str) -> None:
        self.post_message(LogLineAdded(problem, "warn"))

    def fail_at(self, stage: str, error: PaimarkError) -> None:
        if stage == "snapshots":
            self.snapshots.fail(error)
        else:
            self.tables.fail(error)
            self.snapshots.grid.say("")

    # Location

    @property
    def target(self) -> Target | None:
        return self.tabs.target

    @property
    def pane(self) -> Pane:
        return self.tabs.pane

    @property
    def marks(self) -> Sequence[Mark]:
        return self.rows.marks

    def cursor_moved(self) -> None:
        self.rows.cursor_moved()

    def show_table(self, target: Target) -> None:
        """Aim every pane at a table or branch; the visible one reads it."""
        self._aim(target)
        self._remember()

    async def open_tab(self, tab: Tab) -> Pane:
        pane = await self._open(tab)
        self._remember()
        return pane

    async def view_branch(self, branch: str | None) -> None:
        """Aim every pane at a branch of the table, and open the snapshots tab; None is main."""
        if self.target is not None:
            await self._go(Target(self.target.table, branch), Tab.SNAPSHOTS)

    async def _go(self, target: Target, tab: Tab) -> None:
        """Go to a table and a tab as one step of the location history."""
        self._aim(target)
        await self._open(tab)
        self._remember()

    def _aim(self, target: Target) -> None:
        if target == self.target:
            return
        if self.target is not None and self.target.table != target.table:
            self.rows.unmark()
        self._show_name(target)
        self._summary.read()
        self.tabs.aim(target)
        self.refresh_bindings()

    def _show_name(self, target: Target) -> None:
        self.tabs.target = target
        self._summary.show_target()
        self.tables.mark(target.table)

    async def _open(self, tab: Tab) -> Pane:
        self.set_class(tab is Tab.QUERY, "-query")
        self._make_room(tab)
        pane = await self.tabs.open(tab)
        pane.focus_first()
        self._show_detail()
        return pane

    def _remember(self) -> None:
        if self.target is not None:
            self._history.add(self.target, self.tabs.current)
            keep_place(self.session.memory, self.target, self.tabs.current)

    def _make_room(self, tab: Tab) -> None:
        """Hide the tables until Escape, for tabs that need the whole width of a narrow terminal."""
        self.set_class(tab in (Tab.SAVEPOINTS, Tab.TIMELINE, Tab.SPACE, Tab.OPERATIONS), "-savepoints")

    def _show_detail(self) -> None:
        detail = self.pane.current_detail
        self.detail.look_at(detail)
        self._right.point(detail.title, detail.position)
        self.dialogs.update_record(detail)

    def follow(self) -> None:
        """Check, at low cost, for changes by others: of the visible pane, the other tabs and the tables."""
        if not self.app.app_focus or not self.is_active:
            return
        if self.pane.grid.keep_time():
            self._show_detail()
        self.pane.follow()
        self.tables.follow()
        self._summary.follow()

    def on_record_pane_changed(self, event: RecordPane.Changed) -> None:
        pane = event.pane
        if pane.loaded is not None and pane.is_of(self.target):
            self._summary.show_opened(pane.loaded.opened)
        if pane is self.pane:
            self.tabs.show_name()
            self._show_detail()

    def on_query_pane_row_highlighted(self) -> None:
        if self.tabs.current is Tab.QUERY:
            self._show_detail()

    def open_table(self, table: TablePath) -> None:
        """Show a table, and focus its rows."""
        if self.target is None or self.target.table != table:
            self.show_table(Target(table))
        self._make_room(self.tabs.current)
        self.pane.focus_first()

    def go_left(self) -> None:
        """Focus the tables, if they are visible."""
        if self.tables.display:
            self.set_focus(self.tables.grid)

    def go_up(self) -> None:
        """Show the tables, and focus them."""
        self.remove_class("-zoomed", "-savepoints")
        self.set_focus(self.tables.grid)

    async def prepare(self, version: RowVersion) -> None:
        """Put a statement that reads this version into the query pane."""
        if self.target is not None:
            await self.prepare_statement(self.target.select_all(version))

    async def prepare_statement(self, sql: str) -> None:
        """Put a statement into the query pane."""
        await (await self._query_pane()).prepare(sql)

    async def ask(self, made: Callable[[Target], str]) -> None:
        """Put a statement about the table into the query pane."""
        if self.target is not None:
            await self.prepare_statement(made(self.target))

    @property
    def compared(self) -> Difference | None:
        """The difference that was shown last; None if there was none."""
        return self._difference_lookup.shown

    async def plan_call(self, called: ActionCall, sql: str, closed: WithChange) -> None:
        """Open the dialog of the action of a statement."""
        await self.dialogs.open_call(called, sql, closed)

    async def _query_pane(self) -> QueryPane:
        from paimark.tui.panes.query import QueryPane

        pane = await self.open_tab(Tab.QUERY)
        assert isinstance(pane, QueryPane)
        return pane

    def read_again(self) -> None:
        """Make every pane read its rows again after a change."""
        self._summary.show_engine()
        self.tabs.reload()
        self._summary.read()

    def cancel_query(self) -> bool:
        """Stop the count of the visible pane, else the running statement; return whether there was one."""
        if isinstance(self.pane, RecordPane) and self.pane.cancel():
            return True
        pane = self.tabs.panes.get(Tab.QUERY)
        if pane is None:
            return False
        from paimark.tui.panes.query import QueryPane

        return isinstance(pane, QueryPane) and pane.cancel()

    # Actions of keys

    def waits_for(self, binding: str) -> str:
        """The event that a key must wait for: rows of the tree or of the tab, or a file of the query pane."""
        if not self.is_mounted:
            return "" if binding in NEVER_WAIT else "the screen is there"
        in_tree = self.tables.has_focus_within
        if in_tree and not binding.startswith("grid.") and (table := self.tables.pointed_at()) is not None:
            # The cursor has just reached it: the key is for this table.
            self.show_table(Target(table))
        if self.tabs.current is Tab.QUERY and not in_tree and binding not in NEVER_WAIT:
            return self.pane.key_waits_for(binding)
        if not is_for_rows(binding):
            return ""
        if self.target is None or (in_tree and binding.startswith(("grid.", "tables."))):
            return "" if self.tables.first_listed else ROWS
        return self.pane.key_waits_for(binding)

    def _first_keys(self) -> Sequence[str]:
        return () if self.tables.has_focus_within else FIRST_ON.get(self.tabs.current, ())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if self.tabs.current not in tabs_of(action, parameters):
            return False
        return self.target is not None if action in OF_A_TABLE else True

    async def on_key(self, event: events.Key) -> None:
        if why := await heard_elsewhere(self, event.key, self.tabs.current):
            self.say(why, "warn")

    async def action_tab(self, number: int) -> None:
        await self.open_tab(Tab(number))

    async def action_step(self, by: int) -> None:
        """Go back to the previous location, or forward again."""
        visit = self._history.step(by)
        if visit is None:
            self.say("There is nothing further back" if by < 0 else "There is nothing further on")
        else:
            await self._go(*visit)

    def action_refresh(self) -> None:
        if self.tables.has_focus_within:
            self.tables.reload()
        self.pane.reload()

    def on_resize(self, event: events.Resize) -> None:
        self.tables.fit(event.size.width)

    def action_sidebar(self, steps: int) -> None:
        self.tables.widen(steps, self.size.width)

    def action_zoom(self) -> None:
        zoomed = not self.has_class("-zoomed")
        self.set_class(zoomed, "-zoomed")
        if zoomed and self.tables.has_focus_within:
            self.pane.focus_first()

    def action_up(self) -> None:
        """Remove the filter; if there is none, the marks; if there are none, go to the tables."""
        pane = self.tables if self.tables.has_focus_within else self.pane
        if pane.grid.order.text:
            pane.grid.filter("")
        elif self.marks:
            self.rows.unmark()
            self.say(marked_words([]))
        elif pane is not self.tables:
            self.go_up()

    def action_mark(self) -> None:
        self.rows.toggle_mark()

    def action_mark_range(self) -> None:
        self.rows.toggle_range()

    async def action_diff(self) -> None:
        if self.target is not None:
            await self._difference_lookup.open(self.target)

    async def action_changes(self) -> None:
        if self.target is not None:
            await self._difference_lookup.open_changes(self.target)

    def action_copy(self) -> None:
        table = self.target if self.tables.has_focus_within else None
        if text := self.rows.name() if table is None else table.sql_name:
            self.post_message(Copied(text))

    def action_copy_record(self) -> None:
        if text := self.rows.record():
            self.post_message(Copied(text))

    async def action_record(self) -> None:
        await self.dialogs.open_record()

    async def action_peek(self) -> None:
        await self.dialogs.open_peek()

    async def action_act(self, name: str) -> None:
        await self.dialogs.open_action(name)

    async def action_protect(self) -> None:
        await self.dialogs.open_protection()

    async def action_chart(self) -> None:
        from paimark.tui.charts.open_chart import open_chart

        if self.target is not None:
            await open_chart(self.app, self.session, self.target, self.pane, self.say)

    async def action_log(self) -> None:
        from paimark.tui.panes.log import LogPane

        for pane in self.query(LogPane):
            if pane.has_focus_within:
                self.pane.focus_first()
            pane.remove()
            return
        pane = LogPane(self.log_lines)
        await self.mount(pane, before=self.key_bar)
        self.set_focus(pane.grid)

"""The one screen: tables on the left, a table's tabs on the right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical

from core.table.layout import MAIN, TablePath
from tui.messages import Copied, Said
from tui.opening import Databases, Newest, Opening, Stage, Stopped, Tables
from tui.panes.log import Log
from tui.panes.pane import TAB_CLASSES, TABS, Pane
from tui.panes.record_pane import RecordPane
from tui.panes.snapshots import SnapshotsPane
from tui.panes.tab_counts import SAVEPOINTS, Around, look_around
from tui.panes.tables import TablesPane
from tui.query.statements import select_all
from tui.records.marks import marked_words
from tui.records.row_actions import DELETING, OF_THE_TABLE, arguments_from
from tui.screens.browse_keys import BROWSE, FOR_ROWS, NOT_FOR_ROWS
from tui.screens.looking import QUERY, LookingScreen
from tui.session import Opened, Session, Target, Version
from tui.widgets.breadcrumb import Breadcrumb, Place
from tui.widgets.detail_strip import DetailStrip
from tui.widgets.key_bar import KeyBar
from tui.widgets.tab_bar import TabBar
from tui.work.background import Slot, post

if TYPE_CHECKING:
    from core.actions.plan import Outcome
    from core.statements.call import Called
    from tui.dialogs.record import RecordScreen
    from tui.work.running_change import RunningChange

BRANCHES = 2
# How often the pane in view is checked for something new.
FOLLOW_SECONDS = 3.0
_ENGINE_LOOK = 1.0
_ENGINE_WORDS = {
    "starting": "Spark starts",
    "ready": "Spark ready",
    "running": "Spark busy",
    "resting": "Spark rests",
    "failed": "Spark failed",
}


class BrowseScreen(LookingScreen):
    """Says which table and branch is in view; the panes fill themselves."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = BROWSE

    def __init__(self, session: Session, opening: Opening, log: Log) -> None:
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
        self.VERTICAL_BREAKPOINTS = [(0, "-short"), (32, "-tall")]
        self.session = session
        self.log_lines = log
        self.target: Target | None = None
        self._opening = opening
        self._panes: dict[int, Pane] = {}
        self._engine = ""
        self._record: RecordScreen | None = None
        self.tables = TablesPane(session, self)
        self.snapshots = SnapshotsPane(session, self)
        self.tab_bar = TabBar(TABS)
        self.detail = DetailStrip()
        self.breadcrumb = Breadcrumb(Place(session.name, read_only=session.read_only))
        self.key_bar = KeyBar()

    def compose(self) -> ComposeResult:
        yield self.breadcrumb
        with Horizontal(id="body"):
            yield self.tables
            with Vertical(id="right"):
                yield self.tab_bar
                yield self.snapshots
        yield self.detail
        yield self.key_bar

    def on_mount(self) -> None:
        self._placing: Slot[Around] = Slot(self.app, "place", self._looked_around, lambda error: None)
        self._panes[0] = self.snapshots
        self.set_focus(self.tables.grid)
        for stage in self._opening.listen(lambda stage: post(self.app, lambda: self._opened(stage))):
            self._opened(stage)
        self.set_interval(FOLLOW_SECONDS, self.follow)
        self.set_interval(_ENGINE_LOOK, self._watch_engine)

    # Where we are

    @property
    def pane(self) -> Pane:
        """The tab in view."""
        return self._panes[self.tab]

    @property
    def panes(self) -> Iterable[Pane]:
        return self._panes.values()

    def show_table(self, target: Target) -> None:
        """Aim every pane at a table or branch; the one in view reads it."""
        if target == self.target:
            return
        if self.target is not None and self.target.table != target.table:
            self.marks = []
        self.target = target
        self._went()
        self._name_place()
        self._look_around(target)
        self.tables.mark(target.table)
        for number in range(QUERY):
            self.tab_bar.count(number, "")
        for pane in self._panes.values():
            pane.aim(target)
        self.refresh_bindings()

    async def open_tab(self, tab: int) -> Pane:
        """Bring a tab into view, mounting it the first time."""
        if tab != self.tab:
            self.pane.display = False
            self.tab = tab
            self.tab_bar.open(tab)
            self.set_class(tab == QUERY, "-query")
        self._make_room()
        pane = self._panes.get(tab)
        if pane is None:
            module, _, name = TAB_CLASSES[tab].partition(":")
            made = getattr(import_module(module), name)(self.session, self)
            pane = self._panes[tab] = made
            if self.target is not None:
                pane.aim(self.target)
            await self.query_one("#right").mount(made)
        else:
            pane.display = True
            pane.load_if_stale()
            pane.follow()
        self._went()
        pane.focus_first()
        self._look()
        return pane

    def _make_room(self) -> None:
        """The columns of savepoints need the width of a narrow terminal: until Escape, without the tables."""
        self.set_class(self.tab == SAVEPOINTS, "-savepoints")

    def _opened(self, stage: Stage) -> None:
        match stage:
            case Databases(names):
                self.tables.take_databases(names)
            case Tables(database, tables):
                self.tables.take_tables(database, tables)
                if tables and self.target is None:
                    self._await_first(Target(tables[0]))
            case Newest(opened, _) if opened.target == self.target:
                self.snapshots.first_page(stage)
            case Stopped("snapshots", error):
                self.snapshots.fail(error)
            case Stopped(_, error):
                self.tables.fail(error)
                self.snapshots.grid.say("")

    def _await_first(self, target: Target) -> None:
        """The first table: its newest snapshots are on their way, so nothing reads them a second time."""
        self.target = target
        self._went()
        self._name_place()
        self.tables.mark(target.table)
        self.snapshots.expect(target)
        self._look_around(target)

    def _look_around(self, target: Target) -> None:
        self._placing.ask(lambda report: report(look_around(self.session, target)))

    def _looked_around(self, around: Around) -> None:
        self._placed(around.opened)
        for tab, count in around.counts.items():
            # A tab in view counts its own rows.
            if tab != self.tab or not self.pane.is_of(self.target):
                self.tab_bar.count(tab, f"{count:,}")

    def _placed(self, opened: Opened) -> None:
        self._name_place(opened.main, opened.root.label)

    def _name_place(self, main: str = "", branch: str = "") -> None:
        target = self.target
        if target is None:
            return
        self.breadcrumb.go(
            Place(
                self.session.name,
                target.table.database,
                target.table.name,
                target.branch or branch,
                main,
                self.session.read_only,
                self._engine,
            )
        )

    def _look(self) -> None:
        detail = self.pane.current_detail
        self.detail.look_at(detail)
        if self._record is not None and self._record.is_current:
            self._record.show(detail)

    def _watch_engine(self) -> None:
        word = _ENGINE_WORDS.get(self.session.room.state, "")
        for change in self.session.changes:
            word = f"{change.action.name} {change.elapsed}"
        if word != self._engine:
            self._engine = word
            self.breadcrumb.go(replace(self.breadcrumb.place, engine=word))

    def follow(self) -> None:
        """Look, cheaply, what others did: to what is in view, to the table's other tabs, to the tables."""
        if not self.app.app_focus or not self.is_active:
            return
        self.pane.follow()
        self.tables.follow()
        if self.target is not None and not self._placing.busy:
            self._look_around(self.target)

    # What the panes say

    def on_record_pane_changed(self, event: RecordPane.Changed) -> None:
        pane = event.pane
        found = pane.found
        if found is not None and pane.is_of(self.target):
            self._placed(found.opened)
        for number, known in self._panes.items():
            if known is pane and pane.count_text and pane.is_of(self.target):
                self.tab_bar.count(number, pane.count_text)
        if pane is self.pane:
            self._look()

    def on_tables_pane_looked(self, event: TablesPane.Looked) -> None:
        self.show_table(Target(event.table))

    def on_query_pane_looked(self) -> None:
        if self.tab == QUERY:
            self._look()

    # What the panes ask

    def open_table(self, table: TablePath) -> None:
        """Show a table and give its rows the keys."""
        if self.target is None or self.target.table != table:
            self.show_table(Target(table))
        self._make_room()
        self.pane.focus_first()

    def go_left(self) -> None:
        """To the tables, where they are in sight."""
        if self.tables.display:
            self.set_focus(self.tables.grid)

    def go_up(self) -> None:
        """To the tables, bringing them back into sight."""
        self.remove_class("-zoomed", "-savepoints")
        self.set_focus(self.tables.grid)

    async def prepare(self, version: Version) -> None:
        """A statement that reads this version, ready to run."""
        if self.target is None:
            return
        statement = select_all(self.target, version)
        (await self._query_pane()).prepare(statement)

    # What keys do

    def must_wait(self, binding: str) -> bool:
        """Whether the rows that a key is for are still being read: those of the tree, or of the tab."""
        in_tree = self.tables.has_focus_within
        if in_tree and not binding.startswith("grid.") and (table := self.tables.pointed_at()) is not None:
            # The cursor came to it just now: the key is for this table.
            self.show_table(Target(table))
        if binding in NOT_FOR_ROWS or not binding.startswith((*FOR_ROWS, "tables.")):
            return False
        if self.target is None or (in_tree and binding.startswith(("grid.", "tables."))):
            return not self.tables.first_listed
        pane = self.pane
        return isinstance(pane, RecordPane) and pane.found is None and pane.problem is None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "delete" and TABS[self.tab] not in DELETING:
            return False
        if parameters and parameters[0] in ("merge-branch", "replace-main-branch") and self.tab != BRANCHES:
            return False
        if action == "protect" and self.tab != BRANCHES:
            return False
        if action in ("mark", "diff") and self.tab == QUERY:
            return False
        if action in ("act", "delete", "copy", "record", "copy_record", "mark", "diff", "peek", "protect"):
            return self.target is not None
        return True

    async def action_tab(self, tab: int) -> None:
        await self.open_tab(tab)

    def action_refresh(self) -> None:
        if self.tables.has_focus_within:
            self.tables.reload()
        self.pane.reload()

    def action_zoom(self) -> None:
        zoomed = not self.has_class("-zoomed")
        self.set_class(zoomed, "-zoomed")
        if zoomed and self.tables.has_focus_within:
            self.pane.focus_first()

    def action_up(self) -> None:
        """Out of a filter, then without marks, then to the tables."""
        pane = self.tables if self.tables.has_focus_within else self.pane
        if pane.grid.order.text:
            pane.grid.filter("")
        elif self.marks:
            self._mark([])
            self.post_message(Said(marked_words([])))
        elif pane is not self.tables:
            self.go_up()

    def action_copy(self) -> None:
        if self.tables.has_focus_within and self.target is not None:
            self.post_message(Copied(self.target.sql_name))
            return
        text = self.pane.copy_text()
        if text:
            self.post_message(Copied(text))
        else:
            self._says_no_row()

    def action_copy_record(self) -> None:
        detail = self.pane.current_detail
        if detail.facts:
            from tui.dialogs.record import as_json

            self.post_message(Copied(as_json(detail)))
        else:
            self._says_no_row()

    async def action_record(self) -> None:
        detail = self.pane.current_detail
        if detail.facts:
            from tui.dialogs.record import RecordScreen

            self._record = RecordScreen(detail)
            await self.app.push_screen(self._record)
        else:
            self._says_no_row()

    def _acts_on_no_row(self) -> bool:
        """Whether it is unclear which row is meant; then it is said."""
        return self._says_no_row() or self._says_marked()

    async def action_delete(self) -> None:
        await self.action_act(DELETING[TABS[self.tab]])

    async def action_act(self, name: str) -> None:
        """The dialog of an action, filled in from the row under the cursor."""
        if self.target is None or (name not in OF_THE_TABLE and self._acts_on_no_row()):
            return
        pane = self.pane
        version = pane.current_version if isinstance(pane, RecordPane) else None
        # A savepoint is made of the newest snapshot wherever none is pointed at.
        newest = self.snapshots.at_newest if pane is self.snapshots else name == "create-savepoint"
        given = arguments_from(name, self.target, version, newest=newest)
        await self._open_dialog(name, given)

    async def _open_dialog(self, name: str, given: dict[str, object]) -> None:
        """Returns when it has the keys: the next one typed is for it."""
        assert self.target is not None
        from core.actions.registry import action
        from tui.dialogs.plan_dialog import PlanDialog

        dialog = PlanDialog(self.session, action(name), self.target.table, given)
        await self.app.push_screen(dialog, self._acted)

    async def plan_call(self, called: Called) -> None:
        """The dialog of an action that a CALL names."""
        from tui.dialogs.plan_dialog import PlanDialog

        dialog = PlanDialog(self.session, called.action, called.table, called.arguments)
        await self.app.push_screen(dialog, self._acted)

    async def show_change(self, change: RunningChange) -> None:
        """The dialog of a change that was left to the background."""
        from core.table.catalog import parse_table_name
        from tui.dialogs.plan_dialog import PlanDialog

        table = parse_table_name(change.plan.table)
        dialog = PlanDialog(self.session, change.action, table, change.plan.arguments, change)
        await self.app.push_screen(dialog, self._acted)

    def _acted(self, outcome: Outcome | None) -> None:
        if outcome is not None:
            self.post_message(Said(outcome.message, "good"))

    def read_again(self) -> None:
        """Something was changed: every pane reads its rows again."""
        self._watch_engine()
        for pane in self._panes.values():
            pane.reload()
        if self.target is not None:
            self._look_around(self.target)

    async def action_protect(self) -> None:
        """The dialog that switches stock expiry off on the branch under the cursor."""
        from tui.records.row_actions import PROTECTING, protection_of

        pane = self.pane
        if self._acts_on_no_row():
            return
        version = pane.current_version if isinstance(pane, RecordPane) else None
        if version is None or version.branch in (None, MAIN):
            self.post_message(Said("Go to a branch: main is expired by its own options", "warn"))
            return
        await self._open_dialog(PROTECTING, protection_of(version.branch))

    async def action_log(self) -> None:
        from tui.panes.log import LogPane

        for pane in self.query(LogPane):
            if pane.has_focus_within:
                self.pane.focus_first()
            pane.remove()
            return
        pane = LogPane(self.log_lines)
        await self.mount(pane, before=self.key_bar)
        self.set_focus(pane.grid)

    def cancel_query(self) -> bool:
        """Stop the running statement; whether there was one."""
        pane = self._panes.get(QUERY)
        if pane is None:
            return False
        from tui.panes.query import QueryPane

        return isinstance(pane, QueryPane) and pane.cancel()

"""The dialogs that keys open: plans, the whole record, the first rows, the difference of two versions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import App

from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.figures import minute
from paimark.core.table.catalog import databases
from paimark.core.table.layout import MAIN
from paimark.core.table.trash import DroppedTable, dropped_tables
from paimark.tui.messages import Say, StatusShown
from paimark.tui.panes.pane import WithChange
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.records.marks import (
    Mark,
    moved_on,
    pair_to_compare,
    why_no_change,
    why_no_pair,
)
from paimark.tui.records.row_actions import (
    PROTECTING,
    on_row,
    on_tab,
    protection_of,
    seen,
)
from paimark.tui.screens.open_tabs import OpenTabs
from paimark.tui.screens.selected_rows import SelectedRows, several
from paimark.tui.session import Session, Target
from paimark.tui.widgets.detail_strip import Detail
from paimark.tui.work.background import Slot, ThreadReport

if TYPE_CHECKING:
    from paimark.core.actions.plan import Outcome
    from paimark.core.statements.call import ActionCall
    from paimark.core.travel.diff.diff import Difference
    from paimark.tui.dialogs.plan_dialog import PlanDialog
    from paimark.tui.dialogs.record import RecordScreen
    from paimark.tui.work.running_change import RunningChange


# An action, the table that it is for, and its arguments.
Choice = tuple[str, Target, Mapping[str, object]]


class RowDialogs:
    """Each method returns when its dialog has the focus, so that it gets the next key."""

    def __init__(self, app: App[Any], session: Session, tabs: OpenTabs, rows: SelectedRows, say: Say) -> None:
        self._app = app
        self._session = session
        self._tabs = tabs
        self._rows = rows
        self._say = say
        self._record: RecordScreen | None = None
        session.show_change = self.open_running

    # Plans

    def open_dropped(self, name: str) -> None:
        """Ask for a table in the trash, and open the dialog of an action on it."""

        def found(report: ThreadReport[list[DroppedTable]]) -> None:
            files = self._session.files
            report([each for database in databases(files) for each in dropped_tables(files, database)])

        Slot(self._app, "trash", partial(self._choose_dropped, name)).ask(found)

    async def _choose_dropped(self, name: str, known: Sequence[DroppedTable]) -> None:
        if not known:
            self._say("No dropped table is in the trash", "warn")
            return
        choices = {
            f"{each.table.full_name}, dropped {minute(each.dropped_at)}, {each.id}": (
                (name, Target(each.table), {"id": each.id})
            )
            for each in known
        }
        await self._choose(name, choices)

    async def open_action(self, name: str, *, by_name: bool = False) -> None:
        """Open the dialog of an action, filled in from the row under the cursor.

        `by_name`: it was chosen by its name, not by a key for the row. Then the dialog asks for the object.
        """
        target, verb = self._tabs.target, name
        name = on_tab(verb, self._tabs.current)
        if target is None or await self._act_on_several(name, target):
            return
        name = on_row(name, verb, self._version)
        is_of_table = name in DECLARED and DECLARED[name].is_of_table
        if not is_of_table and self._rows.says_not_one():
            return
        if await self._act_on_object(name, target):
            return
        pane, declared = self._tabs.pane, DECLARED[name]
        row = seen(target, self._version, newest=pane.newest if isinstance(pane, RecordPane) else None)
        if not by_name and (reason := declared.why_not(row)):
            self._say(reason, "warn")
        else:
            await self.plan(name, target, dict[str, object](declared.of(row)))

    async def open_protection(self) -> None:
        """Open the dialog that protects the branch under the cursor from stock expiry."""
        target = self._tabs.target
        if target is None or self._rows.says_not_one():
            return
        if await self._act_on_object(PROTECTING, target):
            return
        branch = None if self._version is None else self._version.branch
        if branch in (None, MAIN):
            self._say("Go to a branch: main is expired by its own options", "warn")
            return
        await self.plan(PROTECTING, target, protection_of(branch))

    async def _act_on_several(self, name: str, target: Target) -> bool:
        """Act on all marked rows, or say why not; False if the action is for one row."""
        marked = several(name, target, self._tabs.pane, self._rows.marks)
        if marked is None:
            return False
        if marked.why_not:
            self._say(marked.why_not, "warn")
        else:
            await self.plan(name, target, marked.arguments)
        return True

    async def _act_on_object(self, name: str, target: Target) -> bool:
        """Act on the object of the row, or ask which one; return whether that handled the action."""
        pane = self._tabs.pane
        actions = pane.row_actions(name) if isinstance(pane, RecordPane) else None
        if actions is None or not (actions.choices or actions.why_none):
            if name not in DECLARED:
                # A verb is not an action: the row defines which action is meant.
                self._say(f"There is no row here to {name}", "warn")
            return name not in DECLARED
        if not actions.choices:
            self._say(actions.why_none, "warn")
        elif len(actions.choices) == 1:
            [only] = actions.choices
            await self.plan(only.action, target, only.arguments)
        else:
            choices = {each.label: (each.action, target, each.arguments) for each in actions.choices}
            await self._choose(name, choices)
        return True

    async def _choose(self, name: str, choices: Mapping[str, Choice]) -> None:
        from paimark.tui.dialogs.pick import PickOne

        async def chosen(choice: Choice | None) -> None:
            if choice is not None:
                await self.plan(*choice)

        await self._app.push_screen(PickOne(f"{name}: which one?", "part of its name", choices), chosen)

    async def open_call(self, called: ActionCall, sql: str, closed: WithChange) -> None:
        """Open the dialog of the action of a statement. `closed` is called when it closes."""
        from paimark.tui.dialogs.plan_dialog import PlanDialog

        dialog = PlanDialog(self._session, called.action, called.table, called.arguments, statement=sql)
        await self._push(dialog, closed)

    async def open_running(self, change: RunningChange) -> None:
        """Open the dialog of a change that runs in the background."""
        from paimark.core.table.catalog import parse_table_name
        from paimark.tui.dialogs.plan_dialog import PlanDialog

        table = parse_table_name(change.plan.table)
        await self._push(PlanDialog(self._session, change.action, table, change.plan.arguments, change))

    async def plan(self, name: str, target: Target, arguments: Mapping[str, object]) -> None:
        from paimark.core.actions.registry import action
        from paimark.tui.dialogs.plan_dialog import PlanDialog

        await self._push(PlanDialog(self._session, action(name), target.table, arguments))

    async def _push(self, dialog: PlanDialog, closed: WithChange = lambda change: None) -> None:
        def is_closed(outcome: Outcome | None) -> None:
            closed(dialog.change)
            if dialog.change is not None:
                # The change was for the marked rows.
                self._rows.unmark()
            if outcome is not None:
                self._app.post_message(StatusShown(outcome.message, "good", is_logged=True))

        await self._app.push_screen(dialog, is_closed)

    @property
    def _version(self) -> RowVersion | None:
        pane = self._tabs.pane
        return pane.current_version if isinstance(pane, RecordPane) else None

    # Rows

    async def open_record(self) -> None:
        """Show the record under the cursor in full."""
        from paimark.tui.dialogs.record import RecordScreen

        detail = self._tabs.pane.current_detail
        if detail.facts:
            self._record = RecordScreen(detail)
            await self._app.push_screen(self._record)
        elif not self._rows.says_no_row():
            self._say("There is no record to show: go to a row first", "warn")

    def update_record(self, detail: Detail) -> None:
        """Show more facts about the record, if its dialog is open."""
        if self._record is not None and self._record.is_current:
            self._record.show(detail)

    async def open_peek(self) -> None:
        """Show the first rows of the version under the cursor, or of the table, without Spark."""
        from paimark.core.travel.requested_version import RequestedVersion
        from paimark.tui.dialogs.peek import Peeking, PeekScreen

        target = self._tabs.target
        if target is None or self._rows.says_no_row():
            return
        mark = self._rows.under_cursor
        requested = mark.requested if mark is not None else RequestedVersion(target.branch)
        label = f"{target.table.full_name} {mark.label if mark is not None else ''}".strip()
        await self._app.push_screen(PeekScreen(label, Peeking(self._session, target, requested)))


class DifferenceLookup:
    """`prepare` gets the statement of a difference if the person asks for it; `plan` opens a plan."""

    def __init__(
        self,
        app: App[Any],
        session: Session,
        rows: SelectedRows,
        say: Say,
        prepare: Callable[[str], Awaitable[None]],
        plan: Callable[[str, Target, Mapping[str, object]], Awaitable[None]],
    ) -> None:
        self.shown: Difference | None = None
        self._session = session
        self._rows = rows
        self._say = say
        self._prepare = prepare
        self._plan = plan
        self._app = app

    async def open(self, target: Target) -> None:
        """Compare the marked rows, or the row under the cursor; returns when the screen has the focus."""
        marks = self._rows.marks
        if len(marks) != 2 and self._rows.says_no_row():
            return
        pair = pair_to_compare(marks, self._rows.under_cursor)
        if pair is None:
            self._say(why_no_pair(marks), "warn")
        else:
            await self._compare(target, *pair)

    async def open_changes(self, target: Target) -> None:
        """Compare the versions before and after what the row under the cursor did."""
        if self._rows.says_not_one():
            return
        pane = self._rows.pane
        pair = None if pane is None else pane.change
        if pair is None:
            self._say(why_no_change(None) if pane is None else pane.why_no_change, "warn")
        else:
            await self._compare(target, *pair)

    async def _compare(self, target: Target, old: Mark, new: Mark) -> None:
        from paimark.core.travel.diff.diff import make_difference, require_old
        from paimark.tui.dialogs.difference.difference_screen import DifferenceScreen

        files = self._session.files

        def accept(difference: Difference) -> str:
            self._rows.unmark()
            moved = moved_on(old, difference.old.snapshot) or moved_on(new, difference.new.snapshot)
            self.shown = self.shown if moved else difference
            return moved

        async def closed(result: str | Mapping[str, object] | None) -> None:
            if isinstance(result, str):
                await self._prepare(result)
            elif result is not None:
                await self._plan("restore-rows", target, result)

        screen = DifferenceScreen(
            self._session.room,
            f"{target.table.full_name}: from {old.label} to {new.label}",
            lambda: make_difference(files, target.table, old.requested, new.requested),
            accept,
            partial(require_old, files),
        )
        await self._app.push_screen(screen, closed)

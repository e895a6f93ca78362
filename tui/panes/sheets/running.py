"""Run the text of a sheet: its statements in order, up to the first that fails."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from textual.widget import Widget

from paimark.core.errors import READ_ONLY, PaimarkError, Refused
from paimark.core.spark.arrow import read_batch
from paimark.core.spark.protocol import Batch, Columns, Event, Explained, Failed
from paimark.core.statements.call import ActionCall
from paimark.core.statements.run import action_to_confirm, is_action
from paimark.core.statements.script import read_script, require_allowed
from paimark.core.travel.parse.statement import Statement
from paimark.core.travel.statements.views import require_no_view
from paimark.tui.messages import LogLineAdded, StatusShown
from paimark.tui.panes.pane import Desk
from paimark.tui.query.drafts import keep_statement
from paimark.tui.query.query_result import QueryResult
from paimark.tui.query.text_run import TextRun
from paimark.tui.session import Session
from paimark.tui.widgets.sql_editor import SqlEditor
from paimark.tui.work.background import Slot, ThreadReport
from paimark.tui.work.jobs import NO_RETURN

if TYPE_CHECKING:
    from paimark.tui.work.running_change import RunningChange

ROW_LIMIT = 500


class RunSheet(Protocol):
    """The sheet as a run uses it. `result` is that whose rows it shows."""

    session: Session
    desk: Desk
    editor: SqlEditor
    result: QueryResult | None

    @property
    def database(self) -> str | None: ...
    def began(self, run: TextRun) -> None: ...
    def ended(self, run: TextRun) -> None: ...
    def planned_ran(self, run: TextRun) -> None: ...
    def show(self, result: QueryResult) -> None: ...
    def changed(self) -> None: ...


class SheetRuns:
    """The runs of one sheet, one at a time."""

    def __init__(self, sheet: RunSheet, widget: Widget) -> None:
        self._sheet = sheet
        self._widget = widget
        self._room = sheet.session.room
        self.last: TextRun | None = None
        # The editor's text when the run began: if it has changed since, somebody is typing.
        self._text_then = ""
        self._executing: Slot[Event] = Slot(widget.app, "query", self._take, self._failed)

    @property
    def running(self) -> bool:
        return self.last is not None and self.last.running

    @property
    def _database(self) -> str | None:
        return self._room.current_database(self._sheet.database)

    async def start(self, text: str, base: int) -> None:
        """Run the statements of a text, which begins at the offset `base` of the editor's text."""
        self._text_then = self._sheet.editor.text
        try:
            script = read_script(text)
            if len(script) > 1:
                require_allowed(script, self._database, self._require_writable)
        except PaimarkError as error:
            self._refuse(text, base, error)
            return
        run = TextRun(text, base, script, is_part=text != self._text_then)
        if run.is_single and (called := self._planned(script[0].statement)) is not None:
            # Its dialog shows what comes of it.
            sql = script[0].statement.sql
            await self._sheet.desk.plan_call(called, sql, partial(self._keep_planned, run))
            return
        self._begin(run)
        await self._go_on(run)

    async def look(self) -> bool:
        """Open the plan that waits for a person; return whether there is one."""
        run = self.last
        if run is None or not run.awaits_look:
            return False
        run.awaits_look = False
        statement = run.script[run.number - 1].statement
        called = self._planned(statement)
        assert called is not None
        await self._sheet.desk.plan_call(called, statement.sql, partial(self._closed, run))
        return True

    def cancel(self) -> bool:
        """Stop the present statement, and run none of the others; return whether there was one."""
        run = self.last
        if run is None or not run.running:
            return False
        run.is_cancelled = True
        if run.awaits_look:
            run.awaits_look = False
            run.refuse()
            self._ended(run)
        elif run.change is not None:
            if not run.change.cancel():
                self._widget.post_message(StatusShown(NO_RETURN, "warn"))
        elif run.result is not None and run.result.running:
            run.result.press_cancel(self._room)
        return True

    async def tick(self) -> None:
        """Go on if the change of a statement has ended, which may be in the background."""
        run = self.last
        if run is None or not run.running:
            return
        if run.result is not None and run.result.running:
            run.result.cancel_again()
        if run.change is not None and not run.change.running:
            run.take_change(run.change)
            run.change = None
            await self._go_on(run)

    # One run

    def _refuse(self, text: str, base: int, error: PaimarkError) -> None:
        """Show why nothing of a text is run."""
        run = TextRun(text, base)
        self._begin(run)
        result = self._sheet.result = run.begin()
        self._sheet.show(result)
        result.take(Failed.of(error))
        run.take_end(result)
        self._ended(run)

    def _begin(self, run: TextRun) -> None:
        self.last = run
        self._sheet.result = None
        self._sheet.began(run)

    async def _go_on(self, run: TextRun) -> None:
        """Run the next statement, or end the run."""
        following = run.next()
        if following is None:
            self._ended(run)
            return
        called = self._planned(following.statement)
        if called is None:
            self._execute_next(run)
        elif run.number == 1 or self._is_attended:
            sql = following.statement.sql
            await self._sheet.desk.plan_call(called, sql, partial(self._closed, run))
        else:
            run.awaits_look = True
            self._widget.post_message(StatusShown(run.how_far(""), "warn"))
        self._sheet.changed()

    def _execute_next(self, run: TextRun) -> None:
        result = run.begin()
        if self._sheet.result is None:
            self._sheet.result = result
            self._sheet.show(result)
        result.thread = self._executing.ask(partial(self._execute, result, self._sheet.database))

    def _planned(self, statement: Statement) -> ActionCall | None:
        """The action whose plan is shown before the statement; None if it runs at once."""
        try:
            require_no_view(statement, self._room.views)
            return action_to_confirm(statement, self._database)
        except PaimarkError:
            # The run reports the same error, with its position.
            return None

    @property
    def _is_attended(self) -> bool:
        """Whether a dialog may open: its sheet is in view, nothing is over it, and nobody types."""
        widget = self._widget
        in_view = all(each.display for each in widget.ancestors_with_self)
        is_typed_in = self._sheet.editor.text != self._text_then
        return in_view and widget.app.screen is widget.screen and not is_typed_in

    def _require_writable(self, statement: Statement, called: ActionCall | None) -> None:
        """Refuse the script before any of it runs if it has a statement that writes, in read-only mode."""
        if self._sheet.session.settings.read_only and statement.writes and statement.kind != "other":
            raise Refused(*READ_ONLY)

    # Plans

    def _keep_planned(self, run: TextRun, change: RunningChange | None) -> None:
        """Add a statement that a dialog has run to the history, and show what came of it."""
        if change is None:
            return
        keep_statement(run.script[0].statement.sql, "begun" if change.outcome is None else "done")
        run.leave_to(change)
        self.last, self._sheet.result = run, None
        self._sheet.planned_ran(run)

    def _closed(self, run: TextRun, change: RunningChange | None) -> None:
        """The plan's dialog has been closed."""
        if change is None:
            run.refuse()
            self._ended(run)
        else:
            run.change = change
            self._widget.call_later(self.tick)

    # With Spark

    def _execute(self, result: QueryResult, database: str | None, report: ThreadReport[Event]) -> None:
        """Pass on each event as it arrives, and decode the rows. Called in a thread."""
        for event in self._room.run(result.asked, database, ROW_LIMIT):
            if isinstance(event, Batch):
                report.meanwhile(partial(self._take_batch, result, read_batch(event)))
            else:
                report(event)

    def _take_batch(self, result: QueryResult, batch: object) -> None:
        result.take_batch(batch)
        if self._sheet.result is result:
            self._sheet.show(result)

    async def _failed(self, error: PaimarkError) -> None:
        await self._take(Failed(error.message, error.hint))

    async def _take(self, event: Event) -> None:
        run = self.last
        assert run is not None and run.result is not None
        result = run.result
        result.take(event)
        if isinstance(event, Columns | Explained) and self._is_to_show(result):
            self._sheet.result = result
        if self._sheet.result is result:
            self._sheet.show(result)
        if result.end is not None:
            await self._took(run, result)
        self._sheet.changed()

    def _is_to_show(self, result: QueryResult) -> bool:
        """The row that says what an action did does not replace the rows of a query before it."""
        is_of_action = isinstance(result.asked, Statement) and is_action(result.asked)
        shown = self._sheet.result
        return not is_of_action or shown is None or not shown.columns

    async def _took(self, run: TextRun, result: QueryResult) -> None:
        run.take_end(result)
        if not run.is_single:
            self._log(f"{result.label}: {result.title}", result)
        await self._go_on(run)

    def _log(self, title: str, result: QueryResult) -> None:
        says = result.end.message if isinstance(result.end, Failed) else result.outcome
        self._widget.post_message(LogLineAdded(f"{title}: {says}", result.ink))

    def _ended(self, run: TextRun) -> None:
        result = run.result
        if result is not None and run.is_single:
            self._log(result.title, result)
        if result is not None and result.place is not None and self._sheet.editor.text == self._text_then:
            self._sheet.editor.point_at(result.base + result.place[1])
        keep_statement(run.text, run.in_short)
        self._sheet.ended(run)

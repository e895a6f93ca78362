"""A sheet of the query pane: a statement, what it was read at, and its rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message

from core.config import state_directory
from core.errors import PaimarkError
from core.figures import counted
from core.spark.arrow import read_batch
from core.spark.protocol import Batch, Event, Failed, Finished
from core.statements.run import action_called
from core.travel.parse.sql import read_statement
from core.travel.parse.uses import Statement
from tui.formats import whole_text
from tui.messages import LogLineAdded, StatusShown
from tui.panes.pane import Desk
from tui.query.comparing import Totals, difference_events
from tui.query.completing import Completing
from tui.query.exporting import Export, Exporting
from tui.query.history import QueryExecution, add_to_history, read_history
from tui.query.query_result import QueryResult
from tui.records.sources import GridColumn
from tui.session import Session, Target
from tui.theme import Line
from tui.widgets.detail_strip import Detail
from tui.widgets.grid.record_grid import Edge, RecordGrid
from tui.widgets.query_status import QueryStatus
from tui.widgets.sql_editor import SqlEditor
from tui.work.background import Slot, ThreadReport
from tui.work.cancelling import Cancelling
from tui.work.engine_room import EngineRoom, engine_line

if TYPE_CHECKING:
    from core.travel.diff.diff import Difference

ROW_LIMIT = 500
# How long a statement may be in the bottom line and the log.
_IN_SHORT = 60
_TICK = 0.5
_PLAN_COLUMNS = (GridColumn("plan", most=2000),)


class QuerySheet(Vertical):
    """One statement at a time; a new one waits for the old one's end or cancel."""

    DEFAULT_CSS = """
    QuerySheet { height: 1fr; }
    QuerySheet SqlEditor { height: 7; padding: 0 1; background: $surface; }
    .-short QuerySheet SqlEditor { height: 5; }
    QuerySheet QueryStatus { height: 1; background: $raised; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r,f5", "run", "run", key_display="^r", id="query.run"),
        Binding("ctrl+o", "history", "history", key_display="^o", id="query.history"),
        # Before the editor's own: there it would go to the end of the line, as the End key does.
        Binding(
            "ctrl+e",
            "export",
            "export",
            tooltip="the rows into a file",
            key_display="^e",
            priority=True,
            id="query.export",
        ),
        Binding(
            "e,f4", "edit", "$EDITOR", tooltip="the statement in $EDITOR (F4 while typing)", id="query.edit"
        ),
        Binding("enter", "cell", "cell", tooltip="the whole value under the cursor", id="query.cell"),
        Binding("escape", "leave", "to the rows, then the tables", show=False, id="query.leave"),
    ]

    class RowHighlighted(Message):
        """Another row of the result is under the cursor."""

    def __init__(self, session: Session, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self.session = session
        self.room = session.room
        self.target: Target | None = None
        self.editor = SqlEditor()
        self.status = QueryStatus()
        self.grid = RecordGrid(frozen=1, cells=True, at_edge=self._at_edge)
        self.result: QueryResult | None = None
        self._hint: Line | None = None

    def compose(self) -> ComposeResult:
        yield self.editor
        yield self.status
        yield self.grid

    def on_mount(self) -> None:
        self.grid.say("")
        if self.target is not None and not self.editor.text:
            self.editor.set_statement(f"SELECT *\nFROM {self.target.sql_name}")
        self._executing: Slot[Event] = Slot(self.app, "query", self._take, self._failed)
        self._exporting = Exporting(self.app, self.room, self._exported)
        self._completing = Completing(self.app, self.session, self.editor, self._hinted, self._focus_on)
        self.set_interval(_TICK, self._tick)
        self._tick()

    # The row under the cursor

    def aim(self, target: Target) -> None:
        self.target = target

    def copy_text(self) -> str | None:
        index = self.grid.index
        if index is None:
            return None
        return "\t".join("" if value is None else whole_text(value) for value in self.grid.source.row(index))

    @property
    def current_detail(self) -> Detail:
        index, result = self.grid.index, self.result
        if index is None or result is None or not len(result.rows):
            return Detail()
        values = zip(result.names, result.rows.row(index), strict=True)
        facts = tuple((name, "null" if value is None else whole_text(value)) for name, value in values)
        return Detail(f"row {index + 1}", facts, f"{self.grid.position}{self._column}")

    @property
    def _column(self) -> str:
        column = self.grid.column
        return "" if column is None else f", column {self.grid.columns[column].title}"

    def prepare(self, sql: str) -> None:
        """Put a statement into the editor, ready to run; ctrl+z brings back what was there."""
        self.editor.set_statement(sql)
        self.screen.set_focus(self.editor)

    def compare(self, difference: Difference) -> None:
        """Put the statement of a difference into the editor and run it."""
        self.prepare(difference.statement)
        # What is compared stands in its first lines.
        self.editor.move_cursor((0, 0))
        if self._may_run():
            self._run(difference.statement, 0, difference)
            self.screen.set_focus(self.grid)

    # Running

    @property
    def running(self) -> bool:
        return self._under_way is not None

    @property
    def _under_way(self) -> QueryResult | Export | None:
        """The export or the statement that runs: both can be cancelled."""
        if self._exporting.export is not None:
            return self._exporting.export
        return self.result if self.result is not None and self.result.running else None

    def _may_run(self) -> bool:
        if self.running:
            self.post_message(StatusShown("A statement is still running: ctrl+c cancels it", "warn"))
        return not self.running

    @property
    def _database(self) -> str | None:
        return self.target.table.database if self.target is not None else None

    async def action_run(self) -> None:
        if not self._may_run():
            return
        text, base = self.editor.statement
        if not text.strip():
            self.post_message(StatusShown("There is no statement to run", "warn"))
            return
        try:
            statement = read_statement(text)
            called = action_called(statement, self._database)
        except PaimarkError:
            # Refused where it runs, with its place.
            self._run(text, base)
            return
        if called is not None:
            await self.desk.plan_call(called)
            return
        if statement.removes_rows:
            from tui.dialogs.confirm import ConfirmScreen

            question = "This statement removes or replaces rows of the table."
            asked = ConfirmScreen(question, text)
            await self.app.push_screen(asked, lambda agreed: self._run(statement, base) if agreed else None)
            return
        self._run(statement, base)

    def _run(self, asked: str | Statement, base: int, difference: Difference | None = None) -> None:
        self._hint = None
        result = self.result = QueryResult(asked, base, time.monotonic(), difference)
        self.grid.show(result.rows, ())
        self._executing.ask(partial(self._execute, result, self._database))
        self._tick()

    def cancel(self) -> bool:
        """Stop what runs; whether there was anything."""
        running = self._under_way
        if running is None:
            return False
        running.cancelling = _cancelled(running.cancelling, self.room)
        self._tick()
        return True

    def _execute(self, result: QueryResult, database: str | None, report: ThreadReport[Event]) -> None:
        """In a thread: hand over each event as it comes, the rows decoded."""
        for event in self._events(result, database):
            if isinstance(event, Totals):
                report.meanwhile(partial(result.take_totals, event))
            elif isinstance(event, Batch):
                report.meanwhile(partial(self._take_batch, result, read_batch(event)))
            else:
                report(event)

    def _events(self, result: QueryResult, database: str | None) -> Iterator[Event | Totals]:
        if result.difference is None:
            return self.room.run(result.asked, database, ROW_LIMIT)
        return difference_events(
            lambda sql, limit: self.room.run(sql, database, limit),
            result.difference,
            ROW_LIMIT,
            lambda: result.cancelling is not None,
        )

    def _take_batch(self, result: QueryResult, batch: object) -> None:
        result.take_batch(batch)
        self.grid.show(result.rows, result.columns)

    def _failed(self, error: PaimarkError) -> None:
        self._take(Failed(error.message, error.hint))

    def _take(self, event: Event) -> None:
        result = self.result
        assert result is not None
        result.take(event)
        if result.explained is not None:
            self.grid.show(result.plan_rows, _PLAN_COLUMNS)
        elif result.columns:
            note = "" if result.running else "No rows."
            self.grid.show(result.rows, result.columns, note=note, is_cut=result.is_cut)
        if result.end is not None:
            self._ended(result)
        self._tick()

    def _ended(self, result: QueryResult) -> None:
        end = result.end
        short = " ".join(result.statement.split())[:_IN_SHORT]
        ran = QueryExecution(int(time.time() * 1000), result.statement.strip(), result.in_short)
        add_to_history(state_directory() / "history.jsonl", ran)
        if not isinstance(end, Failed):
            # The keys stay where they are: somebody may be typing the next statement.
            self.post_message(LogLineAdded(f"{short}: {result.in_short}", "good"))
            return
        self.post_message(LogLineAdded(f"{short}: {end.message}", "bad"))
        if end.position is not None and self.editor.statement[0] in (result.statement, self.editor.text):
            self.editor.point_at(result.base + end.position)

    def _tick(self) -> None:
        """Time passes while a statement runs or Spark starts."""
        result = self.result
        if self._exporting.export is not None:
            self.status.say(self._exporting.export.line)
        elif self._hint is not None:
            self.status.say(self._hint)
        elif result is None:
            self.status.say(engine_line(self.room))
        else:
            line, more = result.status(time.monotonic(), self.room.state)
            if result.is_cut and self.grid.order.done:
                line = [*line, (f"   {self.grid.order.done}: these rows only", "warn")]
            if self.grid.count and self.editor.has_focus and not result.running:
                line = [*line, ("   esc goes to the rows", "quiet")]
            self.status.say(line, more, result.place)

    def on_descendant_focus(self) -> None:
        """The keys offered depend on the widget with the focus."""
        self._tick()

    # Out of the console

    async def action_export(self) -> None:
        result = self.result
        if result is None or not isinstance(result.end, Finished) or not result.names:
            self.post_message(StatusShown("There are no rows to export: ctrl+r runs the statement", "warn"))
            return
        if not self._may_run():
            return
        from tui.dialogs.export import ExportScreen

        what = f"The {counted(len(result.rows), 'row')} of the result, not sorted or filtered."
        if result.end.truncated:
            what = f"All rows, more than the {len(result.rows):,} shown: the statement runs again."
        await self.app.push_screen(ExportScreen(what), partial(self._export_to, result))

    def _export_to(self, result: QueryResult, path: Path | None) -> None:
        if path is not None:
            self._exporting.start(path, result, self._database)
            self._tick()

    def _exported(self, sentence: str, ink: str) -> None:
        self.post_message(StatusShown(sentence, ink))
        self._tick()

    def action_edit(self) -> None:
        from tui.terminal.external_editor import edited

        try:
            text = edited(self.editor.text, self.app.suspend)
        except SuspendNotSupported:
            self.post_message(StatusShown("This terminal can't be lent to an editor", "warn"))
        except PaimarkError as error:
            self.post_message(StatusShown(f"{error.message}. {error.hint}", "bad"))
        else:
            if text != self.editor.text:
                self.prepare(text)
        self.app.refresh(layout=True)

    # Completing

    def on_sql_editor_completing(self) -> None:
        self._completing.press(self._database)

    def on_text_area_changed(self) -> None:
        self._completing.changed()

    def _hinted(self, line: Line | None) -> None:
        if line is not None or self._hint is not None:
            self._hint = line
            self._tick()

    def _focus_on(self) -> None:
        self.screen.focus_next()

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # While one types Enter is a new line.
        return action != "cell" or self.grid.has_focus

    async def action_cell(self) -> None:
        from tui.dialogs.record import cell_of

        if (cell := cell_of(self.grid)) is not None:
            await self.app.push_screen(cell)

    def action_leave(self) -> None:
        if self.editor.has_focus and self.grid.count:
            self.screen.set_focus(self.grid)
        else:
            self.desk.go_up()

    async def action_history(self) -> None:
        from tui.dialogs.history import HistoryScreen

        ran = read_history(state_directory() / "history.jsonl")
        await self.app.push_screen(HistoryScreen(ran), lambda sql: self.prepare(sql) if sql else None)

    def on_record_grid_moved(self, event: RecordGrid.Moved) -> None:
        event.stop()
        self._tick()
        self.post_message(self.RowHighlighted())

    def _at_edge(self, edge: Edge) -> None:
        # Going left in wide rows should not end in another pane by one key too many.
        if edge == "top":
            self.screen.set_focus(self.editor)


def _cancelled(before: Cancelling | None, room: EngineRoom) -> Cancelling:
    """A cancel that begins, or is pressed once more."""
    if before is None:
        return Cancelling(room)
    before.press()
    return before

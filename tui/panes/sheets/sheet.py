"""A sheet of the query pane: statements, the versions that they read, and the rows of the last query."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.message import Message

from paimark.core.actions.plan import Outcome
from paimark.core.errors import PaimarkError
from paimark.core.spark.protocol import Finished
from paimark.core.text import clean_text
from paimark.tui.messages import StatusShown
from paimark.tui.named_keys import key, run_key
from paimark.tui.panes.pane import Desk
from paimark.tui.panes.sheets.running import SheetRuns
from paimark.tui.panes.sheets.sheet_parts import (
    SheetExports,
    SheetJob,
    SheetName,
    SheetText,
    narrowed,
    row_detail,
    row_text,
)
from paimark.tui.query.arrow_rows import ArrowRows
from paimark.tui.query.completion import Completing
from paimark.tui.query.drafts import Texts, history_path, keep_statement, read_history
from paimark.tui.query.exporting import Export
from paimark.tui.query.query_result import QueryResult
from paimark.tui.query.sql_files import SqlFile
from paimark.tui.query.text_run import TextRun
from paimark.tui.records.sources import GridColumn
from paimark.tui.session import Session, Target
from paimark.tui.theme import Line
from paimark.tui.widgets.detail_strip import Detail
from paimark.tui.widgets.grid.record_grid import Edge, RecordGrid
from paimark.tui.widgets.lines import Column, line_width
from paimark.tui.widgets.query_status import QueryStatus
from paimark.tui.widgets.sql_editor import SqlEditor
from paimark.tui.work.background import Slot
from paimark.tui.work.engine_room import engine_line

_TICK = 0.5
# So ends a call whose last argument the person writes: the cursor goes between the quotes.
_TO_WRITE = "'')"
# So many lines of the grid stay: the titles, and some rows.
_FEW_ROWS = 4
# Of so many rows it is asked at once who wrote them.
_BLAMED = 100
_PLAN_COLUMNS = (GridColumn("plan", most=2000),)


class QuerySheet(Column):
    """It runs one text at a time; the next must wait for the end of the running one.

    `result` is that whose rows the grid shows.
    """

    DEFAULT_CSS = """
    QuerySheet { height: 1fr; }
    QuerySheet SqlEditor { height: 7; padding: 0 1; background: $surface; }
    .-short QuerySheet SqlEditor { height: 5; }
    .-tiny QuerySheet SqlEditor { height: 3; }
    QuerySheet QueryStatus { background: $raised; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "ctrl+r,f5",
            "run",
            "run",
            tooltip="all statements in order, or only what is selected",
            key_display="^r",
            id="query.run",
        ),
        Binding("ctrl+o", "history", "history", key_display="^o", id="query.history"),
        # With priority, because in the editor ctrl+e would go to the end of the line.
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
        Binding("H", "row", "row", tooltip="what happened to this row, commit by commit", id="query.row"),
        Binding(
            "W",
            "blame",
            "who",
            tooltip="which commit wrote this row last, and the 99 after it",
            id="query.blame",
        ),
        Binding("E", "change", "edit", tooltip="change cells, add and delete rows", id="query.change"),
        # The bar shows it: while somebody types, the keys that go elsewhere are text.
        Binding("escape", "leave", "leave", tooltip="to the rows, then the tables", id="query.leave"),
    ]

    class RowHighlighted(Message):
        """Another row of the result is under the cursor."""

        def __init__(self, sheet: QuerySheet) -> None:
            self.sheet = sheet
            super().__init__()

    class Renamed(Message):
        """Its entry in the line of sheets has changed: its name, or whether it is saved or runs."""

    def __init__(
        self,
        session: Session,
        desk: Desk,
        prepare: Callable[[str], Awaitable[None]],
        says_running: Callable[[], bool],
        number: int,
    ) -> None:
        """`prepare` puts a statement on some sheet; `says_running` tells whether one runs, with a message.

        `number` is in the sheet's name, as long as it has no file.
        """
        super().__init__()
        self._prepare_somewhere = prepare
        self._says_running = says_running
        self.draft = SheetText(number=number)
        self._shown_name = self.draft.name("", running=False)
        self.desk = desk
        self.session = session
        self.room = session.room
        self.target: Target | None = None
        self.editor = SqlEditor()
        self.status = QueryStatus(self._free_lines)
        self.grid = RecordGrid(frozen=1, cells=True, at_edge=self._at_edge)
        self.result: QueryResult | None = None
        self._hint: Line | None = None
        self._job = SheetJob(self, session.jobs, desk, self.cancel)

    def compose(self) -> ComposeResult:
        yield self.editor
        yield self.status
        yield self.grid

    def on_mount(self) -> None:
        self.grid.say("")
        self._runs = SheetRuns(self, self)
        self._exports = SheetExports(self.app, self.room, self._job, self.changed)
        self._completing = Completing(self.app, self.session, self.editor, self._hinted, self._focus_on)
        self.set_interval(_TICK, self._tick)
        self.changed()

    # Text

    @property
    def has_unsaved(self) -> bool:
        """Whether the editor has text that is neither saved nor run."""
        return self.draft.is_unsaved(self.editor.text)

    @property
    def is_free(self) -> bool:
        """Whether another statement may replace the text."""
        return self.draft.is_free(self.editor.text)

    @property
    def is_empty(self) -> bool:
        return self.is_free and not self.editor.text.strip() and self.result is None

    @property
    def short_name(self) -> SheetName:
        return self.draft.name(self.editor.text, running=self.running)

    def set_file(self, file: SqlFile) -> None:
        """Set the file that the text was read from or written to."""
        self.draft = replace(self.draft, kept="", file=file)
        self._tell_name()

    def set_text(self, sql: str) -> None:
        """Set a text that would not be lost, because it can be made again."""
        self.draft = replace(self.draft, kept=sql, file=None)
        self.editor.set_statement(sql)

    def propose(self, sql: str) -> None:
        """Set such a text, for somebody who may want another: typing replaces it."""
        self.draft = replace(self.draft, kept=sql, file=None)
        self.editor.propose(sql)

    def _tell_name(self) -> None:
        name = self.short_name
        if name != self._shown_name:
            self._shown_name = name
            self.post_message(self.Renamed())

    # The row under the cursor

    def aim(self, target: Target) -> None:
        self.target = target

    def copy_text(self) -> str | None:
        return row_text(self.grid)

    @property
    def current_detail(self) -> Detail:
        return row_detail(self.grid, self.result)

    def prepare(self, sql: str) -> None:
        """Put a statement into the editor, ready to run; ctrl+z restores the old text."""
        self.set_text(sql)
        if sql.endswith(_TO_WRITE):
            self.editor.move_cursor_relative(columns=-2)
        self.screen.set_focus(self.editor)

    # Running

    @property
    def running(self) -> bool:
        return self._runs.running or self._under_way is not None

    @property
    def _under_way(self) -> QueryResult | Export | None:
        """The running export or statement; both can be cancelled."""
        if self._exports.running is not None:
            return self._exports.running
        return self.result if self.result is not None and self.result.running else None

    @property
    def database(self) -> str | None:
        return self.target.table.database if self.target is not None else None

    async def action_run(self) -> None:
        if await self._runs.look() or self._says_running():
            return
        self.editor.accept()
        text, base = self.editor.to_run
        if not text.strip():
            self.post_message(StatusShown("There is no statement to run", "warn"))
            return
        await self._runs.start(text, base)

    def began(self, run: TextRun) -> None:
        self._job.begin(run.title, lambda: run.how_far(self.room.state))
        self.planned_ran(run)

    def planned_ran(self, run: TextRun) -> None:
        """Show no longer what was run before; a change has its own job."""
        self._hint = None
        self.text_ran(run.text)
        self.grid.show(ArrowRows(), ())
        self.changed()

    def ended(self, run: TextRun) -> None:
        # The focus stays: the person may be typing the next statement.
        self._hint = None
        sentence, ink = run.outcome
        self._job.end(f"{run.title}: {sentence}", ink)
        self.changed()

    def text_ran(self, text: str) -> None:
        """The history has a text that was run: it is not lost with the sheet."""
        self.draft = self.draft.after_run(self.editor.text, text)
        self._tell_name()

    def show(self, result: QueryResult) -> None:
        """Show the rows of a result, so far."""
        if result.explained is not None:
            self.grid.show(result.plan_rows, _PLAN_COLUMNS)
        elif result.columns:
            note = "No rows." if isinstance(result.end, Finished) else ""
            self.grid.show(result.rows, result.columns, note=note, is_cut=result.is_cut)

    def cancel(self) -> bool:
        """Stop the running statement or export; return whether there was one."""
        running = self._under_way
        if not self._runs.cancel():
            if running is None:
                return False
            running.press_cancel(self.room)
        self.changed()
        return True

    async def _tick(self) -> None:
        """Go on with a run, and update what shows: time passes while a statement runs or Spark starts."""
        await self._runs.tick()
        if (running := self._exports.running) is not None:
            running.cancel_again()
        self.changed()

    def changed(self) -> None:
        """Update the name and the status."""
        self._tell_name()
        if self.display:
            self.refresh_status()

    def refresh_status(self) -> None:
        run = self._runs.last
        if self._exports.running is not None:
            self.status.say(self._exports.running.line)
        elif self._hint is not None and self.editor.has_focus:
            self.status.say(self._hint)
        elif run is not None:
            line, more = run.status(self.result, self.room.state)
            self.status.say(self._with_rows(line), more, run.error_place)
        elif self.result is not None:
            self.status.say(*self.result.status(time.monotonic(), self.room.state))
        else:
            self.status.say(
                self._with_hint(engine_line(self.room), "typing replaces it", self.editor.is_proposal)
            )

    def _free_lines(self) -> int:
        """The lines under the editor that the header and a few rows do not need."""
        rows = min(1 + self.grid.count, _FEW_ROWS) if self.grid.count else 0
        return self.size.height - self.editor.size.height - rows

    def _with_rows(self, line: Line) -> Line:
        """The status with what it says of the rows."""
        if self.result is None:
            return line
        line = [*line, *narrowed(self.grid, self.result)]
        is_there = bool(self.grid.count) and not self.result.running
        return self._with_hint(line, f"{key('query.leave')} goes to the rows", is_there)

    def _with_hint(self, line: Line, hint: str, is_true: bool) -> Line:
        """The line with a hint for who types, if all of it fits."""
        hinted = [*line, (f"   {hint}", "quiet")]
        fits = line_width(hinted) < self.status.size.width
        return hinted if is_true and fits and self.editor.has_focus else line

    def on_descendant_focus(self) -> None:
        """Update the status: the keys that it names depend on the focus."""
        self.changed()

    # Export and external editor

    async def action_export(self) -> None:
        if not self._says_running():
            await self._exports.ask(self.result, self.database)

    def action_edit(self) -> None:
        from paimark.tui.terminal.other_programs import edited

        try:
            text = edited(self.editor.text, self.app.suspend)
        except SuspendNotSupported:
            self.post_message(StatusShown("This terminal can't be lent to an editor", "warn"))
        except PaimarkError as error:
            self.post_message(StatusShown(error.said, "bad"))
        else:
            if text != self.editor.text:
                self.editor.set_statement(text)
                self.screen.set_focus(self.editor)
        self.app.refresh(layout=True)

    # Completing

    def on_sql_editor_completing(self) -> None:
        self._completing.press(self.database)

    def on_text_area_changed(self) -> None:
        self._completing.changed()
        self._tell_name()

    def _hinted(self, line: Line | None) -> None:
        if line is not None or self._hint is not None:
            self._hint = line
            self.changed()

    def _focus_on(self) -> None:
        self.screen.focus_next()

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # In the editor Enter is a new line, and H a letter.
        return action not in ("cell", "row", "blame", "change") or self.grid.has_focus

    async def action_cell(self) -> None:
        from paimark.tui.dialogs.record import cell_of

        if (cell := cell_of(self.grid)) is not None:
            await self.app.push_screen(cell)

    def action_row(self) -> None:
        from paimark.tui.query.ready_statements import history_statement

        index = self.grid.index
        if index is not None:
            self._ask_about(
                [index], lambda label, rows: history_statement(self.session.files, label, rows[0])
            )

    def action_blame(self) -> None:
        """Ask which commit wrote the rows from that under the cursor on, as many as a person looks at."""
        from paimark.tui.query.ready_statements import blame_statement

        first, view = self.grid.cursor, self.grid.view
        shown = [view.index(place) for place in range(first, min(len(view), first + _BLAMED))]
        self._ask_about(shown, lambda label, rows: blame_statement(self.session.files, label, rows))

    def _ask_about(
        self, indexes: Sequence[int], made: Callable[[str, Sequence[Mapping[str, object]]], str]
    ) -> None:
        """Put a question about rows of the result into a sheet."""
        result = self.result
        tables = {each.table for each in result.readings} if result is not None else set[str]()
        if result is None or not indexes or len(tables) != 1:
            self.post_message(StatusShown("A row has a history if all rows are of one table", "warn"))
            return
        [label] = tables
        rows = [dict(zip(result.names, result.rows.row(index), strict=True)) for index in indexes]

        async def prepare(sql: str) -> None:
            await self._prepare_somewhere(sql)
            # Whoever presses the key twice does not write it into the statement.
            if self.screen.focused is not None:
                self.screen.set_focus(self.screen.focused.query_ancestor(QuerySheet).grid)
            self.post_message(StatusShown(f"{run_key()} asks it", "good"))

        Slot(self.app, "row's history", prepare).ask(lambda report: report(made(label, rows)))

    def action_change(self) -> None:
        from paimark.tui.dialogs.editing.edit_screen import open_editing
        from paimark.tui.dialogs.editing.target import target_of_result

        def committed(outcome: Outcome) -> None:
            again = f"{run_key()} reads the rows again"
            self.post_message(StatusShown(clean_text(f"{outcome.message}. {again}"), "good"))

        result = self.result
        open_editing(
            self.grid, self.session, lambda: target_of_result(self.session.context, result), committed
        )

    def action_leave(self) -> None:
        if self.editor.has_focus and len(self.grid.source):
            self.screen.set_focus(self.grid)
        elif self.grid.has_focus and self.grid.order.text:
            self.grid.filter("")
        else:
            self.desk.go_up()

    @property
    def texts_at_stake(self) -> Texts:
        """The texts that end with the sheet, each with its outcome for the history."""
        typed = [(self.editor.text, "not run")] if self.has_unsaved else []
        if self._runs.running and self._runs.last is not None:
            typed.append((self._runs.last.text, "left while it ran"))
        return typed

    def keep_text(self) -> None:
        """Add the texts that end with the sheet to the history."""
        for sql, outcome in self.texts_at_stake:
            keep_statement(sql, outcome)

    async def action_history(self) -> None:
        from paimark.tui.dialogs.pick import HistoryScreen

        ran = read_history(history_path())

        async def chosen(sql: str | None) -> None:
            if sql:
                await self._prepare_somewhere(sql)

        await self.app.push_screen(HistoryScreen(ran), chosen)

    def on_record_grid_moved(self, event: RecordGrid.Moved) -> None:
        event.stop()
        self.changed()
        self.post_message(self.RowHighlighted(self))

    def _at_edge(self, edge: Edge) -> None:
        # The left edge does nothing: in wide rows one key too many should not lead to another pane.
        if edge == "top":
            self.screen.set_focus(self.editor)

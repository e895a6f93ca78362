"""Tab 6: a statement, what it was read at, and its rows."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message

from core.config import state_directory
from core.errors import PaimarkError
from core.spark.arrow import read_batch
from core.spark.protocol import Batch, Event, Failed
from core.statements import action_called
from core.travel.sql import read_statement
from tui.background import post
from tui.engine_room import EngineRoom
from tui.faults import unexpected
from tui.formats import whole_text
from tui.history import Ran, add_to_history, read_history
from tui.messages import Noted, Said
from tui.panes.pane import Desk
from tui.query_result import Result
from tui.session import Session, Target
from tui.sources import Column
from tui.widgets.detail_strip import Detail
from tui.widgets.lines import Line
from tui.widgets.query_status import QueryStatus
from tui.widgets.record_grid import Edge, RecordGrid
from tui.widgets.sql_editor import SqlEditor

ROW_LIMIT = 500
_LONGEST_FACT = 20_000
# How long a statement may be in the bottom line and the log.
_IN_SHORT = 60
_TICK = 0.5
_PLAN_COLUMNS = (Column("plan", most=2000),)


class QueryPane(Vertical):
    """One statement at a time; a new one waits for the old one's end or cancel."""

    DEFAULT_CSS = """
    QueryPane { height: 1fr; }
    QueryPane SqlEditor { height: 7; padding: 0 1; background: $surface; }
    .-short QueryPane SqlEditor { height: 5; }
    QueryPane QueryStatus { height: 1; background: $raised; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r,f5", "run", "run", key_display="^r", id="query.run"),
        Binding("ctrl+o", "history", "history", key_display="^o", id="query.history"),
        Binding("escape", "leave", "to the rows, then the tables", show=False, id="query.leave"),
    ]

    class Looked(Message):
        """Another row of the result is under the cursor."""

    def __init__(self, session: Session, desk: Desk) -> None:
        super().__init__(id="query")
        self.desk = desk
        self.room = session.room
        self.target: Target | None = None
        self.editor = SqlEditor()
        self.status = QueryStatus()
        self.grid = RecordGrid(at_edge=self._at_edge)
        self.result: Result | None = None

    def compose(self) -> ComposeResult:
        yield self.editor
        yield self.status
        yield self.grid

    def on_mount(self) -> None:
        self.grid.say("")
        if self.target is not None and not self.editor.text:
            self.editor.set_statement(f"SELECT *\nFROM {self.target.sql_name}")
        self.set_interval(_TICK, self._tick)
        self._tick()

    # As a tab

    def aim(self, target: Target) -> None:
        self.target = target

    def load_if_stale(self) -> None:
        """Nothing is run without being asked."""

    def reload(self) -> None:
        """What was read stays: running again is `ctrl+r`."""

    def follow(self) -> None:
        """A result does not follow its table."""

    def focus_first(self) -> None:
        self.screen.set_focus(self.editor)

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
        facts = tuple(
            (name, "null" if value is None else whole_text(value)[:_LONGEST_FACT]) for name, value in values
        )
        return Detail(f"row {index + 1}", facts, self.grid.position)

    def prepare(self, sql: str) -> None:
        """Put a statement into the editor, ready to run; ctrl+z brings back what was there."""
        self.editor.set_statement(sql)
        self.screen.set_focus(self.editor)

    # Running

    @property
    def running(self) -> bool:
        return self.result is not None and self.result.running

    @property
    def _database(self) -> str | None:
        return self.target.table.database if self.target is not None else None

    def action_run(self) -> None:
        if self.running:
            self.post_message(Said("A statement is still running: ctrl+c cancels it", "warn"))
            return
        statement, base = self.editor.statement
        if not statement.strip():
            self.post_message(Said("There is no statement to run", "warn"))
            return
        try:
            called = action_called(statement, self._database)
        except PaimarkError:
            # Refused where it runs, with its place.
            self._run(statement, base)
            return
        if called is not None:
            self.desk.plan_call(called)
            return
        if _removes_rows(statement):
            from tui.screens.confirm import ConfirmScreen

            question = "This statement removes or replaces rows of the table."
            asked = ConfirmScreen(question, statement)
            self.app.push_screen(asked, lambda agreed: self._run(statement, base) if agreed else None)
            return
        self._run(statement, base)

    def _run(self, statement: str, base: int) -> None:
        result = self.result = Result(statement, base, time.monotonic())
        self.grid.show(result.rows, ())
        threading.Thread(
            target=self._work, args=(result, self._database), name="paimark-query", daemon=True
        ).start()
        self._tick()

    def cancel(self) -> bool:
        """Stop what runs; whether there was anything."""
        result = self.result
        if result is None or not result.running:
            return False
        result.cancelling = True
        self.room.cancel()
        self._tick()
        return True

    def _work(self, result: Result, database: str | None) -> None:
        """In a thread: hand over each event as it comes, the rows decoded."""
        app = self.app
        try:
            for event in self.room.run(result.statement, database, ROW_LIMIT):
                if isinstance(event, Batch):
                    post(app, partial(self._take_batch, result, read_batch(event)))
                else:
                    post(app, partial(self._take, result, event))
        except Exception as error:
            # The edge of a thread: without a word here the pane would say "running" for ever.
            fault = unexpected(error)
            post(app, partial(self._take, result, Failed(fault.message, fault.hint)))

    def _take_batch(self, result: Result, batch: object) -> None:
        result.take_batch(batch)
        if result is self.result:
            self.grid.show(result.rows, result.columns)

    def _take(self, result: Result, event: Event) -> None:
        result.take(event)
        if result is not self.result:
            return
        if result.explained is not None:
            self.grid.show(result.plan_rows, _PLAN_COLUMNS)
        elif result.columns:
            self.grid.show(result.rows, result.columns, note="" if result.running else "No rows.")
        if result.end is not None:
            self._ended(result)
        self._tick()

    def _ended(self, result: Result) -> None:
        end = result.end
        short = " ".join(result.statement.split())[:_IN_SHORT]
        ran = Ran(int(time.time() * 1000), result.statement.strip(), result.in_short)
        add_to_history(state_directory() / "history.jsonl", ran)
        if not isinstance(end, Failed):
            self.post_message(Noted(f"{short}: {result.in_short}", "good"))
            if len(result.rows) and self.editor.has_focus:
                self.screen.set_focus(self.grid)
            return
        self.post_message(Noted(f"{short}: {end.message}", "bad"))
        if end.position is not None and self.editor.statement[0] in (result.statement, self.editor.text):
            self.editor.point_at(result.base + end.position)

    def _tick(self) -> None:
        """Time passes while a statement runs or Spark starts."""
        result = self.result
        if result is None:
            self.status.say(engine_line(self.room))
        else:
            self.status.say(*result.status(time.monotonic(), self.room.state))

    # Keys

    def action_leave(self) -> None:
        if self.editor.has_focus and self.grid.count:
            self.screen.set_focus(self.grid)
        else:
            self.desk.go_up()

    def action_history(self) -> None:
        from tui.screens.history import HistoryScreen

        ran = read_history(state_directory() / "history.jsonl")
        self.app.push_screen(HistoryScreen(ran), lambda sql: self.prepare(sql) if sql else None)

    def on_record_grid_moved(self, event: RecordGrid.Moved) -> None:
        event.stop()
        self.post_message(self.Looked())

    def _at_edge(self, edge: Edge) -> None:
        # Going left in wide rows should not end in another pane by one key too many.
        if edge == "top":
            self.screen.set_focus(self.editor)


def _removes_rows(statement: str) -> bool:
    try:
        return read_statement(statement).removes_rows
    except PaimarkError:
        # What can't be read is refused where it runs, with its position.
        return False


def engine_line(room: EngineRoom) -> Line:
    """How Spark is, in words."""
    state = room.state
    if state == "ready":
        return [("● ", "good"), ("Spark is ready", ""), ("   ", ""), ("ctrl+r runs the statement", "quiet")]
    if state == "starting":
        return [
            ("○ ", "warn"),
            ("Spark is starting", ""),
            ("   ctrl+r runs the statement when it is ready", "quiet"),
        ]
    if state == "failed":
        return [
            ("✗ ", "bad"),
            ("Spark failed", "bad"),
            (f"   the next statement starts it again; log: {room.log_path}", "quiet"),
        ]
    if state == "resting":
        return [
            ("○ ", "quiet"),
            ("Spark was ended while nobody used it", ""),
            ("   the next statement starts it again, without temporary views", "quiet"),
        ]
    return [
        ("○ ", "quiet"),
        ("Spark is not started", ""),
        ("   ", ""),
        ("the first statement starts it", "quiet"),
    ]

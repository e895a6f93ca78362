"""One statement from its start to its end: the events so far, and their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimark.core.figures import counted, seconds
from paimark.core.spark.protocol import Columns, Event, Explained, Failed, Finished, Reading, StageProgress
from paimark.core.text import clean_text, cut
from paimark.tui.named_keys import cancel_key
from paimark.tui.query.arrow_rows import ArrowRows, result_columns
from paimark.tui.records.sources import GridColumn, tuples
from paimark.tui.theme import Line
from paimark.tui.widgets.query_status import bar, problem, reading
from paimark.tui.work.spark_work import SparkCaller

if TYPE_CHECKING:
    from paimark.core.travel.parse.statement import Statement

_IN_SHORT = 60


class QueryResult(SparkCaller):
    """It takes the engine's events. `base` is the offset of the statement in the editor's text.

    `asked` is the parsed statement, or its text if it can't be parsed. `label` names it if it is one of
    several: `statement 2 of 3`.
    """

    def __init__(self, asked: str | Statement, base: int, began: float, label: str = "") -> None:
        super().__init__()
        self.label = label
        self.asked = asked
        self.statement = asked if isinstance(asked, str) else asked.sql
        self.base = base
        self.began = began
        self.rows = ArrowRows()
        self.columns: tuple[GridColumn, ...] = ()
        self.readings: list[Reading] = []
        self.end: Finished | Failed | None = None
        self.explained: str | None = None
        self.types: tuple[str, ...] = ()
        self._stage: StageProgress | None = None

    @property
    def running(self) -> bool:
        return self.end is None

    @property
    def is_cut(self) -> bool:
        """Whether there are more rows than were read."""
        return isinstance(self.end, Finished) and self.end.truncated

    @property
    def names(self) -> list[str]:
        return [column.title for column in self.columns]

    def take(self, event: Event) -> None:
        match event:
            case Reading():
                self.readings.append(event)
            case Columns(names, types):
                self.types = types
                self.columns = result_columns(names, types)
            case StageProgress():
                self._stage = event
            case Explained(text):
                self.explained = text
            case Finished() | Failed():
                self.end = event

    def take_batch(self, batch: Any) -> None:
        """More rows (a pyarrow RecordBatch)."""
        self.rows = self.rows.with_batch(batch)

    @property
    def plan_rows(self) -> Any:
        """The output of EXPLAIN, one row per line."""
        return tuples([(line,) for line in (self.explained or "").splitlines()])

    @property
    def title(self) -> str:
        """The statement on one line, cut for the bottom line and the log."""
        return cut(" ".join(self.statement.split()), _IN_SHORT)

    @property
    def in_short(self) -> str:
        """The result in a few words, for the log and the history."""
        if isinstance(self.end, Failed):
            return "cancelled" if self.end.cause == "cancelled" else "failed"
        if isinstance(self.end, Finished) and self.end.message:
            return f"done, {seconds(self.end.seconds)}"
        if isinstance(self.end, Finished):
            first = "first " if self.end.truncated else ""
            return f"{first}{counted(self.end.rows, 'row')}, {seconds(self.end.seconds)}"
        return "running"

    @property
    def outcome(self) -> str:
        """The result for the list of jobs."""
        message = "" if self.end is None else self.end.message
        return (self.in_short != "cancelled" and message) or self.in_short

    @property
    def ink(self) -> str:
        """The ink of the result: good, bad, or warn if it was cancelled."""
        return {"cancelled": "warn", "failed": "bad"}.get(self.in_short, "good")

    def how_far(self, now: float, engine: str) -> str:
        """The progress in a few words, or what the statement waits for."""
        progress = "".join(text for text, ink in self._running(now, engine) if ink != "quiet").strip()
        return f"{progress}, {counted(len(self.rows), 'row')} so far" if len(self.rows) else progress

    def status(self, now: float, engine: str) -> tuple[Line, list[Line]]:
        """The status line and the lines after it; `now` is in seconds, of the clock of `began`."""
        more = self.read_lines
        if isinstance(self.end, Failed):
            failed = problem(self.end.message, self.end.hint, is_cancel=self.end.cause == "cancelled")
            return failed[0], [*failed[1:], *more]
        if isinstance(self.end, Finished):
            return self._finished(self.end), more
        return self._running(now, engine), more

    @property
    def read_lines(self) -> list[Line]:
        """A line for each table that was read."""
        return [reading(each.table, each.version, each.scan, each.note) for each in self.readings]

    @property
    def place(self) -> tuple[str, int] | None:
        """The statement and the offset of its error, if that is known."""
        end = self.end
        if not isinstance(end, Failed) or end.cause != "statement" or end.position is None:
            return None
        return self.statement, end.position

    @property
    def _labelled(self) -> Line:
        return [(f"{self.label}  ", "")] if self.label else []

    def _finished(self, end: Finished) -> Line:
        took = (f"  in {seconds(end.seconds)}", "quiet")
        if end.message:
            # One piece, so that a long message wraps below its beginning.
            return [("✓ ", "good"), (clean_text(end.message) + took[0], "")]
        if self.explained is not None:
            return [("✓ ", "good"), ("the plan", ""), took]
        rows = f"first {counted(end.rows, 'row')} of more" if end.truncated else counted(end.rows, "row")
        return [("✓ ", "good"), (rows, "warn" if end.truncated else ""), took]

    def _running(self, now: float, engine: str) -> Line:
        elapsed = seconds(max(0.0, now - self.began)) if now - self.began >= 1 else "…"
        if self.is_cancelling:
            return self.cancel_line
        if engine == "starting":
            return [
                ("Spark is starting  ", "warn"),
                *self._labelled,
                (elapsed, "quiet"),
                ("  the statement runs when it is ready", "quiet"),
            ]
        stage = self._stage
        line: Line = [("running  ", "accent"), *self._labelled, (elapsed, "quiet")]
        if stage is not None and stage.total:
            line = [*line, (f"  {bar(stage.done, stage.total)} tasks", "accent")]
        return [*line, (f"  {cancel_key()} cancels", "quiet")]

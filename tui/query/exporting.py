"""Write a result to a file, in a thread: the rows read, or all rows by running the statement again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from paimark.core.errors import Cancelled
from paimark.core.figures import counted, whole_seconds
from paimark.core.spark.arrow import read_batch
from paimark.core.spark.protocol import Batch, Event, Failed, Finished
from paimark.core.text import clean_text
from paimark.tui.named_keys import cancel_key
from paimark.tui.query.query_result import QueryResult
from paimark.tui.theme import Line
from paimark.tui.work.engine_room import EngineRoom
from paimark.tui.work.spark_work import SparkCaller


class Export(SparkCaller):
    """A running export. Its thread sets the progress, and the screen reads it."""

    def __init__(self, path: Path, room: EngineRoom) -> None:
        super().__init__()
        self.path = path
        self._room = room
        self._began = time.monotonic()
        self._rows = 0

    def _hear(self, rows: int) -> None:
        self._rows = rows

    @property
    def line(self) -> Line:
        if self.is_cancelling:
            return [*self.cancel_line, ("  no file will be there", "quiet")]
        if self._room.state == "starting":
            took = whole_seconds(time.monotonic() - self._began)
            return [(f"Spark is starting, {took}", "warn"), ("  then the rows are exported", "quiet")]
        # The path comes last, because it may be longer than the line.
        done = f"{counted(self._rows, 'row')} so far  {cancel_key()} cancels  → {clean_text(self.path)}"
        return [("exporting ", "accent"), (done, "quiet")]

    def write(self, result: QueryResult, database: str | None) -> str:
        """Write the rows, in a thread; return a sentence. Raises the errors of `write_file`."""
        names, types = result.names, result.types
        with self._room.exports.writing(self.path):
            if isinstance(result.end, Finished) and result.end.truncated:
                with closing(self._room.run(result.asked, database, None)) as events:
                    count = write_file(self.path, batches_of(events, self._hear), names, types)
            else:
                count = write_file(self.path, result.rows.batches, names, types)
        return f"Wrote {counted(count, 'row')} to {self.path}"


def write_file(path: Path, batches: Iterable[Any], names: Sequence[str], types: Sequence[str]) -> int:
    """Write record batches (pyarrow's) to a file that must not exist yet; return the number of rows.

    `types` are Spark's names. Raises `Refused` and `Unavailable`; an incomplete file is removed.
    """
    import pyarrow as pa

    from paimark.core.export.result_file import ResultFile, empty_rows

    out: ResultFile | None = None
    count = 0
    try:
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            out = out or ResultFile(path, rows.schema, replacing=False)
            out.write(rows)
            count += rows.num_rows
        if out is None:
            nothing = empty_rows(names, types)
            out = ResultFile(path, nothing.schema, replacing=False)
            out.write(nothing)
        out.close()
    finally:
        if out is not None:
            out.abandon()
    return count


def batches_of(events: Iterable[Event], tell: Callable[[int], None]) -> Iterator[Any]:
    """Yield a statement's batches; `tell` gets the number of rows so far. Raises the statement's error."""
    count = 0
    for event in events:
        if isinstance(event, Batch):
            batch = read_batch(event)
            count += batch.num_rows
            tell(count)
            yield batch
        elif isinstance(event, Failed):
            is_cancelled = event.cause == "cancelled"
            raise (
                Cancelled("The export was cancelled", "No file was written.")
                if is_cancelled
                else event.error()
            )

"""A result's rows into a file, in a thread: those that are here, or all of them by running it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from core.errors import PaimarkError, StatementFailed
from core.figures import counted
from core.spark.arrow import read_batch
from core.spark.protocol import Batch, Event, Failed
from core.text import clean_text
from tui.theme import Line
from tui.work.cancelling import Cancelling


class Export:
    """One that runs. A thread says how far it is, the screen asks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cancelling: Cancelling | None = None
        self._rows = 0

    def hear(self, rows: int) -> None:
        self._rows = rows

    @property
    def line(self) -> Line:
        if self.cancelling is not None:
            return [*self.cancelling.line, ("  no file will be there", "quiet")]
        done = f"  {counted(self._rows, 'row')} so far  ctrl+c cancels"
        return [("exporting to ", "accent"), (clean_text(self.path), ""), (done, "quiet")]


def write_file(path: Path, batches: Iterable[Any], names: Sequence[str], types: Sequence[str]) -> int:
    """Write record batches (pyarrow's) to a file that must not exist yet; how many rows.

    `types` are Spark's names. Raises `Refused` and `Unavailable`; nothing half-written stays.
    """
    import pyarrow as pa

    from core.export.empty_rows import empty_rows
    from core.export.result_file import ResultFile

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
    """A statement's rows as they come; `tell` hears how many there are so far. Raises what it failed with."""
    count = 0
    for event in events:
        if isinstance(event, Batch):
            batch = read_batch(event)
            count += batch.num_rows
            tell(count)
            yield batch
        elif isinstance(event, Failed):
            raise failure(event)


def failure(event: Failed) -> PaimarkError:
    if event.cause == "cancelled":
        return StatementFailed("The export was cancelled", "No file was written.")
    return StatementFailed(event.message, event.hint)

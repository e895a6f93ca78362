"""A page of a difference: its grid, and its statements, which run in a thread.

They read totals, a page of rows, or all rows into a file. Spark sorts the rows, because there may be several
pages.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paimark.core.spark.arrow import read_batch
from paimark.core.spark.protocol import Batch, Columns, Event, Failed, Reading
from paimark.core.travel.diff.diff import Difference
from paimark.core.travel.diff.rows import DiffRow, Page, Totals
from paimark.tui.widgets.grid.record_grid import Edge, RecordGrid

if TYPE_CHECKING:
    from paimark.core.spark.client.client import Engine


@dataclass(frozen=True, slots=True)
class Counted:
    """`notes` tell which files were read."""

    totals: Totals
    notes: tuple[str, ...]


class DifferenceReading:
    """Each method blocks, and raises the error of the statement. `engine` starts Spark if needed."""

    def __init__(self, difference: Difference, engine: Callable[[], Engine]) -> None:
        self._difference = difference
        self._engine = engine

    def totals(self) -> Counted:
        rows: list[tuple[Any, ...]] = []
        notes: list[str] = []
        sides = iter((self._difference.old, self._difference.new))
        for event in self._run(self._difference.totals_sql):
            if isinstance(event, Batch):
                batch = read_batch(event)
                rows += zip(*(column.to_pylist() for column in batch.columns), strict=True)
            elif isinstance(event, Reading) and (side := next(sides, None)) is not None:
                # The notes of the difference already have the note about the version itself.
                of_files = event.note.removeprefix(side.note).strip()
                notes += [f"{side.label}: {of_files}"] if of_files else []
        return Counted(self._difference.totals(rows), tuple(notes))

    def page(self, page: Page) -> list[DiffRow]:
        rows: list[DiffRow] = []
        for event in self._run(self._difference.page_sql(page)):
            if isinstance(event, Batch):
                rows += self._difference.rows(read_batch(event))
        return rows

    def write(self, path: Path, tell: Callable[[int], None]) -> int:
        """Write all rows with all columns to a file that must not exist yet; return their number."""
        from paimark.tui.query.exporting import batches_of, write_file

        # They arrive before the first row, and are only needed if there is none.
        names: list[str] = []
        types: list[str] = []

        def events() -> Generator[Event]:
            for event in self._engine().run(self._difference.sql, differing=self._difference.cancels):
                if isinstance(event, Columns):
                    names[:], types[:] = event.names, event.types
                self._require_read(event)
                yield event

        with closing(events()) as running:
            return write_file(path, batches_of(running, tell), names, types)

    def _run(self, sql: str) -> Iterator[Event]:
        for event in self._engine().run(sql, differing=self._difference.cancels):
            if isinstance(event, Failed):
                raise event.error()
            self._require_read(event)
            yield event

    def _require_read(self, event: Event) -> None:
        if isinstance(event, Reading):
            self._difference.require_read(event.point)


class PageGrid(RecordGrid):
    """`o` reads all rows in another order; sorting only the page would mislead."""

    def __init__(self, reorder: Callable[[], None], at_edge: Callable[[Edge], None]) -> None:
        super().__init__(frozen=1, only_words=True, at_edge=at_edge)
        self._reorder = reorder

    def action_sort(self) -> None:
        self._reorder()

    def action_reverse(self) -> None:
        """Do nothing: no column is sorted."""

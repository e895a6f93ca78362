"""Summarise a table's metadata for an aggregate: one or two rows for all rows with equal partition values.

Spark evaluates the conditions on the summary, so any conditions on partition columns are possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from paimark.core.spark.merging.model import MergeGroup
from paimark.core.spark.native.needs import SummaryColumns
from paimark.core.spark.native.state import TableFile
from paimark.core.spark.native.summaries.bounds import NOTHING, Bounds, ExactBounds
from paimark.core.table.records import TableSchema

# How many rows of the table it stands for; then values as texts, None for null.
SummaryRow = tuple[int, Sequence[str | None]]
# The names of columns, and rows.
Listed = tuple[list[str], list[SummaryRow]]
_Values = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of the `files` that may have wanted rows. The `merged` groups are needed to count their rows.

    `shared` maps partition columns, which are equal in all rows of a file, to their index in the partition.
    `bounds` is by file and column.
    """

    files: Sequence[TableFile]
    merged: Sequence[MergeGroup]
    shared: Mapping[str, int]
    bounds: Mapping[str, Mapping[str, Bounds]]

    @property
    def is_of_metadata(self) -> bool:
        """Whether no data file has to be read."""
        return not self.merged

    def listed(self, count: Callable[[TableFile], int]) -> Listed:
        """The columns and rows of the summary, given the row count of each file."""
        counts: dict[_Values, int] = {}
        bounds: dict[_Values, dict[str, Bounds]] = {}
        for file in self.files:
            if not (rows := count(file)):
                continue
            alike = tuple(file.partition[index] for index in self.shared.values())
            counts[alike] = counts.get(alike, 0) + rows
            of_group = bounds.setdefault(alike, {})
            for column, of_file in self.bounds.get(file.address, {}).items():
                of_group[column] = of_group.get(column, NOTHING).with_(of_file)
        names = list(next(iter(bounds.values()), {}))
        rows_of = [row for alike, n in counts.items() for row in _rows(alike, n, bounds[alike], names)]
        return [*self.shared, *names], rows_of


def _rows(
    alike: _Values, count: int, bounds: Mapping[str, Bounds], names: Sequence[str]
) -> Iterator[SummaryRow]:
    """The rows of one group. With bounds, a second row has the maxima and stands for no rows."""
    yield count, (*alike, *(_text(bounds[name].low) for name in names))
    if names:
        yield 0, (*alike, *(_text(bounds[name].high) for name in names))


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def summarised(
    schema: TableSchema,
    schemas: Mapping[int, TableSchema],
    needed: SummaryColumns,
    files: Sequence[TableFile],
    merged: Sequence[MergeGroup],
) -> Summary | None:
    """A summary for an aggregate; None if the metadata don't answer it exactly. `schemas` are the files'."""
    partition = {name: index for index, name in enumerate(schema.partition_keys)}
    if needed.values - partition.keys():
        return None
    bounded = sorted(needed.bounds - partition.keys())
    bounds: dict[str, dict[str, Bounds]] = {}
    if bounded:
        # Statistics cover all rows in a file, and files of keyed tables may hold uncounted deletions.
        if merged or "rowkind.field" in schema.options:
            return None
        exact = ExactBounds(schema, schemas)
        for file in files:
            file_bounds = dict(_bounds(exact, file, bounded))
            if len(file_bounds) < len(bounded):
                return None
            bounds[file.address] = file_bounds
    shared = {name: index for name, index in partition.items() if name in needed.values | needed.bounds}
    return Summary(files, merged, shared, bounds)


def _bounds(exact: ExactBounds, file: TableFile, columns: Iterable[str]) -> Iterator[tuple[str, Bounds]]:
    """The bounds by column, up to the first column without exact bounds."""
    for column in columns:
        bounds = exact.of(file, column)
        if bounds is None:
            return
        yield column, bounds

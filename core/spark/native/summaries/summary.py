"""What a table's metadata say of an aggregate over it, for the rows that are alike in what it asks.

Conditions are left to Spark, which works them out on the summary: so they are any on columns of partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.spark.merging.model import MergeGroup
from core.spark.native.needs import Asked
from core.spark.native.state import TableFile
from core.spark.native.summaries.bounds import NOTHING, Bounds, ExactBounds
from core.table.records import TableSchema

# For how many rows it stands; texts, None for null.
SummaryRow = tuple[int, Sequence[str | None]]
# Columns, and rows of them.
Listed = tuple[list[str], list[SummaryRow]]
_Values = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """Of the `files` that may have rows wanted; how many rows of them there are the `merged` groups say.

    `shared` are columns whose values the rows of a file share, by their place in its partition; `bounds` go
    by file and column.
    """

    files: Sequence[TableFile]
    merged: Sequence[MergeGroup]
    shared: Mapping[str, int]
    bounds: Mapping[str, Mapping[str, Bounds]]

    @property
    def is_of_metadata(self) -> bool:
        """Whether no data file is looked into."""
        return not self.merged

    def listed(self, count: Callable[[TableFile], int]) -> Listed:
        """Its rows, given how many rows of each file there are."""
        counts: dict[_Values, int] = {}
        bounds: dict[_Values, dict[str, Bounds]] = {}
        for file in self.files:
            if not (rows := count(file)):
                continue
            alike = tuple(file.partition[place] for place in self.shared.values())
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
    """Those of one group: where bounds are asked for, a second row has the greatest values."""
    yield count, (*alike, *(_text(bounds[name].low) for name in names))
    if names:
        yield 0, (*alike, *(_text(bounds[name].high) for name in names))


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def summarised(
    schema: TableSchema,
    schemas: Mapping[int, TableSchema],
    asked: Asked,
    files: Sequence[TableFile],
    merged: Sequence[MergeGroup],
) -> Summary | None:
    """None where the metadata do not say exactly what is asked. `schemas` are those of the files."""
    partition = {name: place for place, name in enumerate(schema.partition_keys)}
    if asked.values - partition.keys():
        return None
    bounded = sorted(asked.bounds - partition.keys())
    bounds: dict[str, dict[str, Bounds]] = {}
    if bounded:
        # Statistics are of all rows in a file, and of keyed tables some may be deleted without being counted.
        if merged or "rowkind.field" in schema.options:
            return None
        exact = ExactBounds(schema, schemas)
        for file in files:
            found = dict(_bounds(exact, file, bounded))
            if len(found) < len(bounded):
                return None
            bounds[file.address] = found
    shared = {name: place for name, place in partition.items() if name in asked.values | asked.bounds}
    return Summary(files, merged, shared, bounds)


def _bounds(exact: ExactBounds, file: TableFile, columns: Iterable[str]) -> Iterator[tuple[str, Bounds]]:
    """Up to the first column of which the metadata do not say."""
    for column in columns:
        bounds = exact.of(file, column)
        if bounds is None:
            return
        yield column, bounds

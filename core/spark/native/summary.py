"""Summarise a table's metadata for an aggregate: one or two rows for all rows with equal partition values.

Spark evaluates the conditions on the summary, so any conditions on partition columns are possible.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from paimark.core.spark.datasource.field_types import INTEGERS
from paimark.core.spark.merging.model import MergeGroup
from paimark.core.spark.native.conditions import SummaryColumns, ValueReader, micros, value_reader
from paimark.core.spark.native.pruning import StoredColumn
from paimark.core.spark.native.state import TableFile
from paimark.core.table.definition.column_types import TIMES, ColumnType
from paimark.core.table.manifests.partitions import timestamp
from paimark.core.table.records import SchemaField, TableSchema

_EXACT = frozenset({*INTEGERS, *TIMES, "BOOLEAN", "DATE", "DECIMAL"})


# Statistics leave out NaN, and may cut off texts and bytes, so columns of such types have no exact bounds.
# Files without statistics, such as pypaimon's, have none either.
class Bounds(NamedTuple):
    """Values in the form of `values.value_reader`; both are None if all values are null."""

    low: Any
    high: Any

    def with_(self, other: Bounds) -> Bounds:
        """The bounds of both together."""
        if self.low is None or other.low is None:
            return other if self.low is None else self
        return Bounds(min(self.low, other.low), max(self.high, other.high))


NOTHING = Bounds(None, None)


class ExactBounds:
    """`schema` is the one that the table is read with, `schemas` are those of its files, by id."""

    def __init__(self, schema: TableSchema, schemas: Mapping[int, TableSchema]) -> None:
        self._fields = {field.name: field for field in schema.fields}
        self._schemas = schemas
        self._in_file = cache(self._find)

    def of(self, file: TableFile, column: str) -> Bounds | None:
        """The bounds of a column in a file; None if the metadata don't give them exactly."""
        in_file = self._in_file(file.schema_id, column)
        if not isinstance(in_file, StoredColumn):
            return in_file
        try:
            return _stated(file, in_file)
        except (struct.error, ValueError, IndexError, KeyError, TypeError):
            # Invalid statistics give no bounds.
            return None

    def _find(self, schema_id: int, column: str) -> StoredColumn | Bounds | None:
        field, fields = self._fields[column], self._schemas[schema_id].fields
        file_field = next((each for each in fields if each.id == field.id), None)
        if file_field is None:
            # The column was added after the file was written.
            return NOTHING
        read = _reader(field, file_field)
        return None if read is None else StoredColumn(file_field.name, [each.name for each in fields], read)


def _reader(field: SchemaField, file_field: SchemaField) -> ValueReader | None:
    """A reader of the file's type; None if its values may differ from the table's, or can't be exact."""
    if not isinstance(field.type, str) or not isinstance(file_field.type, str):
        return None
    now, then = ColumnType.of(field.type), ColumnType.of(file_field.type)
    is_same = now.name == then.name or {now.name, then.name} <= INTEGERS.keys()
    if not is_same or now.name not in _EXACT:
        return None
    if now.is_local:
        return lambda row, at: micros(*timestamp(row, at, then.fraction))
    return value_reader(file_field.type)


def _stated(file: TableFile, column: StoredColumn) -> Bounds | None:
    if (stated := column.stated(file)) is None:
        return None
    if stated.low is not None and stated.high is not None:
        return Bounds(stated.low, stated.high)
    is_all_null = stated.low is None and stated.high is None and stated.nulls == file.row_count
    return NOTHING if is_all_null else None


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

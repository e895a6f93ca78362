"""Skip files that can't have rows for a statement, by partitions, buckets and statistics in manifests.

A file is kept unless its metadata rule it out. Files without statistics, such as pypaimon's, are kept.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from paimark.core.spark.native.buckets import Buckets
from paimark.core.spark.native.conditions import Condition
from paimark.core.spark.native.state import TableFile
from paimark.core.spark.native.values import ValueReader, value_at, value_reader
from paimark.core.table.records import TableSchema


@dataclass(frozen=True, slots=True)
class Range:
    """Bounds of a column's values in a file, None if unknown. `nulls` is how many of `rows` are null."""

    low: Any
    high: Any
    nulls: int | None
    rows: int


class Pruner:
    """`schema` is the one that the table is read with, `schemas` are those of its files, by id."""

    def __init__(self, schema: TableSchema, schemas: Mapping[int, TableSchema]) -> None:
        self._ids = {field.name: field.id for field in schema.fields}
        self.partition = {name: index for index, name in enumerate(schema.partition_keys)}
        self.key = schema.trimmed_primary_keys
        self._types = {field.name: field.type for field in schema.fields}
        self._schemas = schemas
        self._buckets = Buckets(schema, schemas)
        self._readers = {
            name: reader
            for name in {*self.partition, *self.key[:1]}
            if (reader := value_reader(self._types.get(name))) is not None
        }
        # By schema and column: the name in the file, the order of its statistics, and a reader of values.
        self._field = cache(self._find_field)

    def on_keys(self, conditions: Iterable[Condition]) -> list[Condition]:
        """The conditions that all versions of a row satisfy, or none: these may be applied before merging."""
        always = {*self.partition, *self.key}
        return [each for each in conditions if each.column in always]

    def keeps(self, conditions: Sequence[Condition]) -> Callable[[TableFile], bool]:
        """A test whether a file may have rows that satisfy all conditions."""
        is_in_bucket = self._buckets.with_rows(conditions)

        def may_hold(file: TableFile) -> bool:
            return (is_in_bucket is None or is_in_bucket(file)) and all(
                may_satisfy(each, self._range(file, each.column)) for each in conditions
            )

        return may_hold

    def _range(self, file: TableFile, column: str) -> Range:
        try:
            return self._read_range(file, column)
        except (struct.error, ValueError, IndexError):
            # Invalid statistics rule nothing out.
            return Range(None, None, None, file.row_count)

    def _read_range(self, file: TableFile, column: str) -> Range:
        rows, record = file.row_count, file.entry.file
        reader = self._readers.get(column)
        if column in self.partition and reader is not None:
            index, arity = self.partition[column], len(self.partition)
            value = value_at(file.entry.partition, arity, index, reader)
            return Range(value, value, rows if value is None else 0, rows)
        if self.key[:1] == [column] and reader is not None:
            # The smallest key has the smallest value of the first column.
            low = value_at(record["_MIN_KEY"], len(self.key), 0, reader)
            return Range(low, value_at(record["_MAX_KEY"], len(self.key), 0, reader), None, rows)
        in_file = self._field(file.schema_id, column)
        stats = record.get("_VALUE_STATS")
        if in_file is None or stats is None:
            return Range(None, None, None, rows)
        name, columns, reader = in_file
        kept: Sequence[str] | None = record.get("_VALUE_STATS_COLS")
        in_order = columns if kept is None else kept
        if name not in in_order:
            return Range(None, None, None, rows)
        index, arity = in_order.index(name), len(in_order)
        counts = stats.get("_NULL_COUNTS") or ()
        low, high = (value_at(stats[name], arity, index, reader) for name in ("_MIN_VALUES", "_MAX_VALUES"))
        nulls = counts[index] if len(counts) == arity else None
        return Range(low, None if _is_cut_wrong(high) else high, nulls, rows)

    def _find_field(self, schema_id: int, column: str) -> tuple[str, list[str], ValueReader] | None:
        fields = self._schemas[schema_id].fields
        same = next((field for field in fields if field.id == self._ids.get(column)), None)
        reader = None if same is None else value_reader(same.type)
        if same is None or reader is None:
            return None
        return same.name, [field.name for field in fields], reader


def _is_cut_wrong(high: Any) -> bool:
    """Whether a cut-off upper bound may be too low: Java writes `?` for the character after U+D7FF."""
    return isinstance(high, str) and high.endswith("?")


def may_satisfy(condition: Condition, bounds: Range) -> bool:
    if condition.operator == "null":
        return bounds.nulls is None or bounds.nulls > 0
    if bounds.nulls == bounds.rows:
        return False
    if condition.operator == "not null" or bounds.low is None or bounds.high is None:
        return True
    if not all(_comparable(value, bounds.low) for value in condition.values):
        return True
    return any(_may_be(condition.operator, value, bounds.low, bounds.high) for value in condition.values)


def _may_be(operator: str, value: Any, low: Any, high: Any) -> bool:
    match operator:
        case "<":
            return bool(low < value)
        case "<=":
            return bool(low <= value)
        case ">":
            return bool(high > value)
        case ">=":
            return bool(high >= value)
        case "prefix":
            return bool(high >= value and (low <= value or low.startswith(value)))
    return bool(low <= value <= high)


def _comparable(value: object, other: object) -> bool:
    kinds: Collection[type] = (str, bool)
    return all(isinstance(value, kind) == isinstance(other, kind) for kind in kinds)

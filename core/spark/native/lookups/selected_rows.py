"""Find the rows that a statement selects by key or by a value, and the few files that may have them.

A lookup may return more rows than selected: Spark applies the statement's conditions to them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
)

from paimark.core.errors import PaimarkError
from paimark.core.spark.merging.model import MergeGroup
from paimark.core.spark.merging.opening import OpenFile
from paimark.core.spark.merging.reading import exact_bounds
from paimark.core.spark.native.conditions import Condition, digits_of
from paimark.core.spark.native.pruning import Pruner, Range, may_satisfy
from paimark.core.spark.native.state import TableFile, TableState

# Each file is opened, some at a time, and each value is compared with each row.
_MOST_FILES = 64
_MOST_VALUES = 64
_FORMATS = ("parquet", "orc", "avro")
# All rows of an Avro file are read.
_MOST_AVRO_ROWS = 200_000
# A decimal of at most so many digits is a number of 64 bits.
_NARROW = 18
_WHOLE = (ByteType, ShortType, IntegerType, LongType, DateType, TimestampNTZType, BooleanType)


@dataclass(frozen=True, slots=True)
class Equality:
    """A column that must equal one of these values, in the form of `Values.java`: one tuple per value."""

    field: StructField
    values: tuple[tuple[Any], ...]


@dataclass(frozen=True, slots=True)
class SelectedRows:
    """The rows that satisfy all of `equal`, in the `whole` files and in the files of the `merged` groups.

    For a table with a key, all versions of a row satisfy a condition in `equal`, or none does. The groups in
    `marked` have one file each: a `whole` file with a deletion vector.
    """

    equal: tuple[Equality, ...]
    whole: tuple[TableFile, ...]
    merged: tuple[tuple[MergeGroup, tuple[TableFile, ...]], ...]
    marked: tuple[MergeGroup, ...]

    @property
    def fields(self) -> tuple[StructField, ...]:
        return tuple(each.field for each in self.equal)


def selected_rows(
    state: TableState,
    pruner: Pruner,
    types: StructType,
    conditions: Sequence[Condition],
    footers: Footers,
) -> SelectedRows | None:
    """None if the conditions don't select rows by values, or if too many files may have them.

    For a table with a key, the conditions must give all columns of the key.
    """
    equal = _equalities(pruner, types, conditions)
    names = {each.field.name for each in equal}
    if not names or not names.issuperset(pruner.key):
        return None
    # Other conditions hold only for the newest versions, so they may not exclude files of older ones.
    always = pruner.on_keys(conditions) if pruner.key else conditions
    files = list(filter(pruner.keeps(always), state.files))
    if not pruner.key:
        files = footers.narrowed(state, files, conditions)
    if len(files) > _MOST_FILES or not all(file.file_format in _FORMATS for file in files):
        return None
    if sum(file.row_count for file in files if file.file_format == "avro") > _MOST_AVRO_ROWS:
        return None
    groups = _groups(state, files)
    merged = tuple(each for each in groups if not each[0].has_vector)
    marked = tuple(group for group, _ in groups if group.has_vector)
    if not all(group.files[0].format == "parquet" for group in marked):
        # For other formats Spark's readers give no row numbers.
        return None
    hidden = {file.address for _, files in merged for file in files}
    whole = (file for file in files if file.address not in hidden)
    return SelectedRows(equal, tuple(filter(pruner.keeps(conditions), whole)), merged, marked)


def _equalities(pruner: Pruner, types: StructType, conditions: Iterable[Condition]) -> tuple[Equality, ...]:
    equalities = []
    for each in conditions:
        # Partition columns have the same value in all rows of a file.
        if each.operator not in ("=", "in") or each.column in pruner.partition:
            continue
        if pruner.key and each.column not in pruner.key:
            continue
        field = types[each.column]
        values = [_java_value(value, field.dataType) for value in each.values]
        if values and len(values) <= _MOST_VALUES and all(value is not None for value in values):
            equalities.append(Equality(field, tuple((value,) for value in values)))
    return tuple(equalities)


def _java_value(value: Any, kind: DataType) -> Any:
    """A value in the form of `Values.java`; None if a lookup can't compare it and ignores the condition."""
    if kind == StringType():
        return value.encode() if isinstance(value, str) else None
    if isinstance(kind, DecimalType):
        return _digits(value, kind) if isinstance(value, Decimal) else None
    return int(value) if isinstance(kind, _WHOLE) and isinstance(value, int) else None


def _digits(value: Decimal, kind: DecimalType) -> int | str | None:
    """The unscaled value, as text if it may exceed 64 bits; None if the scale would round it."""
    unscaled = digits_of(value, kind.scale)
    return str(unscaled) if unscaled is not None and kind.precision > _NARROW else unscaled


def _groups(
    state: TableState, selected: Sequence[TableFile]
) -> tuple[tuple[MergeGroup, tuple[TableFile, ...]], ...]:
    by_address = {file.address: file for file in selected}
    groups = []
    for group in state.merged:
        files = tuple(by_address[file.path] for file in group.files if file.path in by_address)
        if files:
            groups.append((group, files))
    return tuple(groups)


# The most ranges of columns in row groups in the cache; one takes some hundred bytes.
_MOST_RANGES = 100_000
# At most so many footers are read for one statement; the next statement reads more.
_MOST_READ = 64
_EPOCH = date(1970, 1, 1)

# For each row group the ranges by column.
RowGroups = Sequence[dict[str, Range]]


# Data files never change, so ranges are cached by the file's address and size, in bounded memory.
class Footers:
    """The footers of one warehouse's files. Not thread-safe."""

    def __init__(self, open_file: OpenFile) -> None:
        self._open = open_file
        self._known: OrderedDict[tuple[str, int], RowGroups] = OrderedDict()
        self._ranges = 0

    def narrowed(
        self, state: TableState, files: Iterable[TableFile], conditions: Sequence[Condition]
    ) -> list[TableFile]:
        """The files that may have a row that satisfies all conditions."""
        unread = _MOST_READ
        possible = []
        for file in files:
            key = file.address, file.size
            if key not in self._known and unread and _is_worth_reading(file):
                unread -= 1
                self._keep(key, _read(file, self._open))
            groups = self._known.get(key)
            if groups is None or _may_hold(state, file, groups, conditions):
                possible.append(file)
        return possible

    def _keep(self, key: tuple[str, int], groups: RowGroups | None) -> None:
        if groups is None:
            return
        self._known[key] = groups
        self._ranges += _count(groups)
        while self._ranges > _MOST_RANGES and len(self._known) > 1:
            self._ranges -= _count(self._known.popitem(last=False)[1])


def _count(groups: RowGroups) -> int:
    return 1 + sum(map(len, groups))


def _is_worth_reading(file: TableFile) -> bool:
    """Whether to read a file's footer. Not in a remote store: there each takes a request or two, in turn."""
    is_here = file.address.startswith(("/", "file:"))
    return is_here and file.file_format == "parquet" and file.entry.file.get("_VALUE_STATS_COLS") == []


def _may_hold(state: TableState, file: TableFile, groups: RowGroups, conditions: Sequence[Condition]) -> bool:
    origins = dict(zip(state.names, state.columns[file.schema_id, file.file_format].origins, strict=True))
    stated = [(each, origins[each.column]) for each in conditions if origins[each.column] is not None]
    return any(
        all(may_satisfy(each, group[name]) for each, name in stated if name is not None and name in group)
        for group in groups
    )


def _read(file: TableFile, open_file: OpenFile) -> RowGroups | None:
    """Read a file's ranges; None if it can't be read: the scan reports the error."""
    try:
        with open_file(file.address) as source:
            metadata = pq.ParquetFile(source).metadata
    except (PaimarkError, pa.ArrowException, OSError):
        return None
    if metadata.num_rows != file.row_count:
        return None
    return [_ranges(metadata.row_group(group)) for group in range(metadata.num_row_groups)]


def _ranges(group: Any) -> dict[str, Range]:
    ranges = {}
    for index in range(group.num_columns):
        column = group.column(index)
        statistics = column.statistics
        if statistics is None or not statistics.has_null_count:
            continue
        low, high = map(_value, exact_bounds(statistics) or (None, None))
        # Leave out nested columns: the path is not a column's name, or the counts are not of rows.
        if (
            "." not in column.path_in_schema
            and statistics.null_count + statistics.num_values == group.num_rows
        ):
            ranges[column.path_in_schema] = Range(low, high, statistics.null_count, group.num_rows)
    return ranges


def _value(value: Any) -> Any:
    """The value in the form of conditions; None (unknown) for types that Spark may compare differently."""
    if type(value) is date:
        return (value - _EPOCH).days
    return value if type(value) in (int, str, bool) else None

"""Skip files that can't have rows for a statement, by partitions, buckets and statistics in manifests.

A file is kept unless its metadata rule it out. Files without statistics, such as pypaimon's, are kept.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

from paimark.core.spark.native.conditions import Condition, ValueReader, digits_of, value_at, value_reader
from paimark.core.spark.native.state import TableFile
from paimark.core.table.definition.column_types import UNPADDED_TEXTS, ColumnType
from paimark.core.table.manifests.partitions import INTEGERS, null_bits
from paimark.core.table.records import TableSchema
from paimark.core.text import whole_number


@dataclass(frozen=True, slots=True)
class Range:
    """Bounds of a column's values in a file, None if unknown. `nulls` is how many of `rows` are null."""

    low: Any
    high: Any
    nulls: int | None
    rows: int


class StoredColumn(NamedTuple):
    """A column in the files of one schema. `read` takes a serialised row and the offset of a field in it."""

    name: str
    columns: list[str]
    read: ValueReader

    def stated(self, file: TableFile) -> Range | None:
        """What the manifest says of it; None for nothing. Raises as `value_at` for invalid statistics."""
        record = file.entry.file
        stats, kept = record.get("_VALUE_STATS"), record.get("_VALUE_STATS_COLS")
        in_order: Sequence[str] = self.columns if kept is None else kept
        if stats is None or self.name not in in_order:
            return None
        index, arity = in_order.index(self.name), len(in_order)
        low, high = (
            value_at(stats[name], arity, index, self.read) for name in ("_MIN_VALUES", "_MAX_VALUES")
        )
        counts = stats.get("_NULL_COUNTS") or ()
        return Range(low, high, counts[index] if len(counts) == arity else None, file.row_count)


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
        stated = None if in_file is None else in_file.stated(file)
        if stated is None:
            return Range(None, None, None, rows)
        return replace(stated, high=None) if _is_cut_wrong(stated.high) else stated

    def _find_field(self, schema_id: int, column: str) -> StoredColumn | None:
        fields = self._schemas[schema_id].fields
        same = next((field for field in fields if field.id == self._ids.get(column)), None)
        reader = None if same is None else value_reader(same.type)
        if same is None or reader is None:
            return None
        return StoredColumn(same.name, [field.name for field in fields], reader)


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


# More keys than this are probably in most buckets.
_MOST_KEYS = 256
_INTEGERS = {**INTEGERS, "DATE": "<i"}
# Spark cuts off finer fractions of a second.
_FINEST_TIMESTAMP = 6
_INLINE = 7

# The eight bytes of a field; or the bytes to put after all fields, and the low half of the field's eight.
_Field = bytes | tuple[bytes, int]


# As Paimon's `FixedBucketRowKeyExtractor` and `DefaultBucketFunction`: the murmur hash of the bucket key's
# serialised row (`BinaryRow`), modulo the number of buckets at the time of the write. Stock engines look for
# such rows in no other bucket.
class Buckets:
    """`schema` is the one that the table is read with, `schemas` are those of its files, by id."""

    def __init__(self, schema: TableSchema, schemas: Mapping[int, TableSchema]) -> None:
        self._key = _bucket_key(schema)
        self._types = _types(schema, self._key)
        # Whether files of a schema were bucketed by the same columns.
        self._is_alike = cache(
            lambda schema_id: (
                schema_id in schemas
                and _bucket_key(schemas[schema_id]) == self._key
                and _types(schemas[schema_id], self._key) == self._types
            )
        )

    def with_rows(self, conditions: Iterable[Condition]) -> Callable[[TableFile], bool] | None:
        """A test whether a file's bucket may have rows that satisfy all conditions; None if all may."""
        values_by_column: dict[str, tuple[Any, ...]] = {
            each.column: each.values for each in conditions if each.operator in ("=", "in")
        }
        if not self._key or not all(name in values_by_column for name in self._key):
            return None
        values = [values_by_column[name] for name in self._key]
        if prod(map(len, values)) > _MOST_KEYS:
            return None
        hashes = [_hash_of(self._types, each) for each in product(*values)]
        if None in hashes:
            return None
        buckets = cache(lambda total: {abs(each) % total for each in hashes if each is not None})

        def may_hold(file: TableFile) -> bool:
            total = file.entry.record.get("_TOTAL_BUCKETS") or 0
            is_known = total > 0 and file.entry.bucket >= 0 and self._is_alike(file.schema_id)
            return not is_known or file.entry.bucket in buckets(total)

        return may_hold


def _bucket_key(schema: TableSchema) -> tuple[str, ...]:
    """The columns that choose the bucket; empty if the bucket is chosen in another way."""
    options = schema.options
    if options.get("bucket-function.type", "default").strip().lower() != "default":
        return ()
    if not whole_number(options.get("bucket", "")):
        return ()
    if bucket_key := options.get("bucket-key"):
        return tuple(name.strip() for name in bucket_key.split(","))
    return tuple(schema.trimmed_primary_keys)


def _types(schema: TableSchema, names: Sequence[str]) -> tuple[ColumnType, ...]:
    types = {field.name: field.type for field in schema.fields}
    return tuple(
        ColumnType.of(kind) if isinstance(kind := types.get(name), str) else ColumnType("", None, None, False)
        for name in names
    )


def _hash_of(types: Sequence[ColumnType], values: Sequence[Any]) -> int | None:
    """As `BinaryRow.hashCode`; None if a value can't be stored unchanged in its type."""
    fields = [_field(kind, value) for kind, value in zip(types, values, strict=True)]
    start = null_bits(len(fields))
    fixed, after = bytes(start), b""
    for field in fields:
        if field is None:
            return None
        if isinstance(field, bytes):
            fixed += field
        else:
            stored, length = field
            fixed += struct.pack("<Q", (start + 8 * len(fields) + len(after)) << 32 | length)
            after += stored
    return murmur(fixed + after)


def _field(kind: ColumnType, value: Any) -> _Field | None:
    match value:
        case bool():
            return bytes([value]).ljust(8, b"\0") if kind.name == "BOOLEAN" else None
        case int() if kind.name == "TIMESTAMP" and not kind.is_local:
            return _timestamp(value, kind)
        case int() if kind.name in _INTEGERS:
            return _integer(value, _INTEGERS[kind.name])
        case str() if kind.name in UNPADDED_TEXTS:
            return _text(value)
        case Decimal() if kind.name == "DECIMAL":
            return _decimal(value, kind)
    return None


def _integer(value: int, code: str) -> bytes | None:
    try:
        return struct.pack(code, value).ljust(8, b"\0")
    except struct.error:
        return None


def _text(value: str) -> _Field | None:
    try:
        text = value.encode()
    except UnicodeEncodeError:
        return None
    if len(text) <= _INLINE:
        return text.ljust(7, b"\0") + bytes([0x80 | len(text)])
    return text.ljust(-(-len(text) // 8) * 8, b"\0"), len(text)


def _timestamp(micros: int, kind: ColumnType) -> _Field | None:
    millis, rest = divmod(micros, 1000)
    if kind.fraction > _FINEST_TIMESTAMP:
        return None
    if kind.is_wide:
        return struct.pack("<q", millis), rest * 1000
    return None if rest else struct.pack("<q", millis)


def _decimal(value: Decimal, kind: ColumnType) -> _Field | None:
    precision, scale = kind.decimal
    unscaled = digits_of(value, scale)
    if unscaled is None or abs(unscaled) >= 10**precision:
        return None
    if not kind.is_wide:
        return struct.pack("<q", unscaled)
    # As many bytes as Java's `BigInteger` needs, in room for sixteen.
    length = ((unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8) + 1
    return unscaled.to_bytes(length, "big", signed=True).ljust(16, b"\0"), length


def murmur(words: bytes) -> int:
    """The 32-bit murmur hash of whole words of four bytes, as Paimon's `MurmurHashUtils`."""
    mixed = 42
    for (word,) in struct.iter_unpack("<I", words):
        word = word * 0xCC9E2D51 & 0xFFFFFFFF
        word = (word << 15 | word >> 17) * 0x1B873593 & 0xFFFFFFFF
        mixed ^= word
        mixed = (mixed << 13 | mixed >> 19) & 0xFFFFFFFF
        mixed = mixed * 5 + 0xE6546B64 & 0xFFFFFFFF
    mixed ^= len(words)
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed

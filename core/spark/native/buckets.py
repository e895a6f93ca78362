"""Find the buckets of rows with given values, for tables with a fixed number of buckets.

As Paimon's `FixedBucketRowKeyExtractor` and `DefaultBucketFunction`: the murmur hash of the bucket key's
serialised row (`BinaryRow`), modulo the number of buckets at the time of the write. Stock engines look for
such rows in no other bucket.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from itertools import product
from math import prod
from typing import Any

from paimark.core.spark.native.conditions import Condition
from paimark.core.spark.native.state import TableFile
from paimark.core.spark.native.values import digits_of
from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.manifests.binary_row import INTEGERS, null_bits
from paimark.core.table.records import TableSchema
from paimark.core.text import whole_number

# More keys than this are probably in most buckets.
_MOST_KEYS = 256
_INTEGERS = {**INTEGERS, "DATE": "<i"}
_TEXTS = ("VARCHAR", "STRING")
# Spark cuts off finer fractions of a second.
_FINEST_TIMESTAMP = 6
_INLINE = 7

# The eight bytes of a field; or the bytes to put after all fields, and the low half of the field's eight.
_Field = bytes | tuple[bytes, int]


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
        case str() if kind.name in _TEXTS:
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

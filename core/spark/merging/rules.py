"""Make the merge rules of a table from its schemas, and its files from a manifest's records."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from paimark.core.cancelling import check_cancelled
from paimark.core.errors import Corrupt
from paimark.core.spark.merging.model import MergeColumns, MergeFile, MergeRules, Unmergeable
from paimark.core.table.definition.column_types import (
    BYTES,
    FRACTIONS,
    KEY_PREFIX,
    TEXTS,
    TIMES,
    WHOLE,
    ColumnType,
)
from paimark.core.table.definition.kind_signs import ignored_deletes, is_on, merge_engine
from paimark.core.table.manifests.partitions import INTEGERS, starts, timestamp, unscaled, variable
from paimark.core.table.records import SchemaField, TableSchema

_WIDENED = (WHOLE, FRACTIONS, TEXTS)


def merge_rules(schema: TableSchema, schemas: Mapping[int, TableSchema]) -> MergeRules:
    """The rules of a primary-key table that is read with `schema`; its files were written with `schemas`.

    Raises `Unmergeable`, with the reason, if the newest version alone doesn't give the table's rows.
    """
    options = schema.options
    engine = merge_engine(options)
    if not schema.primary_keys:
        raise Unmergeable("the table has no primary key")
    if engine != "deduplicate":
        raise Unmergeable(f"merge-engine {engine}")
    if is_on(options, "sequence.snapshot-ordering"):
        raise Unmergeable("sequence.snapshot-ordering")
    # The partition's columns are equal in all keys of a partition, and files don't store them as keys.
    key = schema.trimmed_primary_keys
    fields = {field.name: field for field in schema.fields}
    sequence = [name for name in _names(options.get("sequence.field", "")) if name]
    unknown = [name for name in [*key, *sequence] if name not in fields]
    if unknown or not key:
        raise Unmergeable(f"the schema has no column {unknown[0]}" if unknown else "the key is the partition")
    types = {name: str(fields[name].type) for name in [*key, *sequence]}
    # Check the types here, where another reader can still be chosen.
    KeyReader([types[name] for name in types])
    return MergeRules(
        key_types=tuple(types[name] for name in key),
        sequence_types=tuple(types[name] for name in sequence),
        descending=options.get("sequence.field.sort-order", "ascending").strip().lower() == "descending",
        ignore_delete=ignored_deletes(options) is not None,
        columns={
            number: _columns([fields[name] for name in key], [fields[name] for name in sequence], written)
            for number, written in schemas.items()
        },
        # pypaimon writes such deletions without counting them, and stock compaction moves a single file to
        # another level unchanged.
        uncounted_deletes="rowkind.field" in options,
    )


def merge_file(keys: KeyReader | None, path: str, file_format: str, record: Mapping[str, Any]) -> MergeFile:
    """A data file from its record in a manifest; `path` is its address.

    `keys` reads keys of the rules' types. A file that is not merged with others needs no bounds: then `keys`
    is None. Raises `Corrupt`.
    """
    check_cancelled()
    return MergeFile(
        path=path,
        format=file_format,
        schema_id=int(record["_SCHEMA_ID"]),
        level=int(record["_LEVEL"]),
        row_count=int(record["_ROW_COUNT"]),
        min_sequence=int(record["_MIN_SEQUENCE_NUMBER"]),
        max_sequence=int(record["_MAX_SEQUENCE_NUMBER"]),
        delete_row_count=record.get("_DELETE_ROW_COUNT"),
        min_key=keys.read(record["_MIN_KEY"]) if keys else (),
        max_key=keys.read(record["_MAX_KEY"]) if keys else (),
        size=int(record["_FILE_SIZE"]),
    )


def _columns(key: list[SchemaField], sequence: list[SchemaField], written: TableSchema) -> MergeColumns:
    names = {field.id: field.name for field in written.fields}
    missing = [field.name for field in key if field.id not in names]
    if missing:
        raise Unmergeable(f"schema {written.id} has no column {missing[0]}")
    types = {field.id: str(field.type) for field in written.fields}
    for field in sequence:
        if not _compares_as(types.get(field.id, str(field.type)), str(field.type)):
            raise Unmergeable(f"sequence field {field.name} was {types[field.id]} once")
    return MergeColumns(
        key=tuple(KEY_PREFIX + names[field.id] for field in key),
        sequence=tuple(names.get(field.id) for field in sequence),
    )


def _compares_as(written: str, now: str) -> bool:
    """Whether values of an older type compare as in the type they are read as, without Paimon's casts."""
    old, new = ColumnType.of(written), ColumnType.of(now)
    if old.name != new.name:
        chains = (chain for chain in _WIDENED if old.name in chain and new.name in chain)
        return any(chain.index(old.name) < chain.index(new.name) for chain in chains) and _has_room(old, new)
    match old.name:
        case "DECIMAL":
            return old.decimal[1] == new.decimal[1] and old.decimal[0] <= new.decimal[0]
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            # Digits that are cut off no longer count, and finer times are stored in another form.
            return old.fraction <= new.fraction
        case "CHAR" | "BINARY":
            return old.first == new.first
    return _has_room(old, new)


def _has_room(old: ColumnType, new: ColumnType) -> bool:
    """Whether the new type cuts off no texts or bytes."""
    return new.name not in ("VARCHAR", "VARBINARY") or (old.first or 1) <= (new.first or 1)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


_INTEGERS = {**INTEGERS, "DATE": "<i", "TIME": "<i", "BOOLEAN": "<?"}
# The codes of a float and of its bits as an unsigned integer, and their width.
_FLOATS = {"FLOAT": ("<f", "<I", 32), "DOUBLE": ("<d", "<Q", 64)}
_MICROSECONDS = 6

_Value = Callable[[bytes, int], Any]


class KeyReader:
    """Reads keys of these types (Paimon's texts). Raises `Unmergeable` for types without an order."""

    def __init__(self, types: Sequence[str]) -> None:
        self._values = [_value_of(each) for each in types]

    def read(self, serialised: bytes) -> tuple[Any, ...]:
        """Read a file's `_MIN_KEY` or `_MAX_KEY`. Raises `Corrupt`."""
        try:
            row = serialised[4:]
            fields = starts(serialised, len(self._values))
            return tuple(
                # A null sorts before every value.
                (False,) if at is None else (True, value(row, at))
                for at, value in zip(fields, self._values, strict=True)
            )
        except (struct.error, ValueError, IndexError) as error:
            raise Corrupt(f"A data file's smallest or greatest key can't be read ({error})") from error


def _value_of(type_text: str) -> _Value:
    kind = ColumnType.of(type_text)
    if kind.name in _INTEGERS:
        code = _INTEGERS[kind.name]
        return lambda row, at: struct.unpack_from(code, row, at)[0]
    if kind.name in (*TEXTS, *BYTES):
        return variable
    if kind.name in _FLOATS:
        value, bits, width = _FLOATS[kind.name]
        return lambda row, at: _float_order(
            struct.unpack_from(value, row, at)[0], struct.unpack_from(bits, row, at)[0], width
        )
    if kind.name == "DECIMAL":
        precision, _ = kind.decimal
        return lambda row, at: unscaled(row, at, precision)
    # Finer timestamps are stored in a form that can't represent every time.
    if kind.name in TIMES and kind.fraction <= _MICROSECONDS:
        fraction = kind.fraction
        return lambda row, at: timestamp(row, at, fraction)
    raise Unmergeable(f"keys of type {type_text} have no order here")


def _float_order(value: float, bits: int, width: int) -> int:
    """An integer in the order of Java's compare: -0 before 0; all NaN are equal, and after all numbers."""
    sign = 1 << (width - 1)
    if value != value:
        return 1 << width
    return bits ^ sign if bits < sign else (1 << width) - 1 - bits

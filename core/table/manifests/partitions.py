"""The texts of serialised rows, and the names of a partition's directories (`day=2026-05-01/kind=view`).

A data file's entry holds its partition as a BinaryRow; the directory's name results from Java's casts of the
values. Source: Paimon's BinaryRow, InternalRowPartitionComputer, PartitionPathUtils. Fields of such a row
have eight bytes each; longer values lie after them. What reads one takes the row without its arity, and the
offset of the field's eight bytes, and raises `struct.error`, `ValueError` and `IndexError` for other bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal

from paimark.core.errors import Corrupt, Refused
from paimark.core.table.definition.column_types import TEXTS, TIMES, ColumnType, names_legacy
from paimark.core.table.records import TableSchema

_DEFAULT_NAME = "__DEFAULT_PARTITION__"
_ESCAPED = frozenset("\"#%'*/:=?\\{}[]^\x7f" + "".join(map(chr, range(32))))
_EPOCH = datetime(1970, 1, 1)
# The formats of these types in a field.
INTEGERS = {"TINYINT": "<b", "SMALLINT": "<h", "INT": "<i", "BIGINT": "<q"}
# Up to these precisions, the value itself lies in the row's fixed part.
_COMPACT_DECIMAL = 18
_COMPACT_TIMESTAMP = 3


class WritersPath(Refused):
    """Only the writer of a partition knows its directory."""


# The text of one value, from the row without its arity and the offset of the field's eight bytes.
_Text = Callable[[bytes, int], str]


class PartitionNames:
    """Names the directories of a table's partitions. Raises `Refused` for types whose names are unknown."""

    def __init__(self, schema: TableSchema) -> None:
        legacy = names_legacy(schema.options)
        self._default = schema.options.get("partition.default-name", _DEFAULT_NAME)
        self._columns = [_escape(key) for key in schema.partition_keys]
        self._texts = RowTexts(schema, schema.partition_keys, legacy=legacy)
        self._known: dict[bytes, str] = {}

    def path(self, partition: bytes) -> str:
        """The directories of one partition; empty for a table without partitions. Raises `Corrupt`."""
        path = self._known.get(partition)
        if path is None:
            try:
                path = self._known[partition] = self._path(partition)
            except (struct.error, ValueError, IndexError, OverflowError) as error:
                raise Corrupt(f"The partition values {partition.hex()} can't be read ({error})") from error
        return path

    def _path(self, partition: bytes) -> str:
        if not self._columns:
            return ""
        texts = self._texts.of(partition)
        parts = []
        for name, text in zip(self._columns, texts, strict=True):
            parts.append(f"{name}={_escape(text if text and text.strip() else self._default)}")
        return "/".join(parts)


class RowTexts:
    """The values of serialised rows as Java prints them: `legacy` its internal ones, else cast to text.

    Raises `Refused` for types whose texts are unknown.
    """

    def __init__(self, schema: TableSchema, columns: Sequence[str], *, legacy: bool) -> None:
        types = {field.name: field.type for field in schema.fields}
        self._texts = [text_of(column, str(types.get(column)), legacy=legacy) for column in columns]

    def of(self, serialised: bytes) -> list[str | None]:
        """None for a null. Raises `ValueError`, `struct.error` and `IndexError` if it is no such row."""
        row = serialised[4:]
        fields = starts(serialised, len(self._texts))
        return [
            None if at is None else printed(row, at) for at, printed in zip(fields, self._texts, strict=True)
        ]


def _escape(text: str) -> str:
    return "".join(f"%{ord(each):02X}" if each in _ESCAPED else each for each in text)


def text_of(column: str, type_text: str, *, legacy: bool) -> _Text:
    """A printer of one column's values, as `RowTexts` has them."""
    kind = ColumnType.of(type_text)
    name = kind.name
    if name in INTEGERS:
        code = INTEGERS[name]
        return lambda row, at: str(struct.unpack_from(code, row, at)[0])
    if name in TEXTS:
        return lambda row, at: variable(row, at).decode()
    if name == "BOOLEAN":
        return lambda row, at: "true" if row[at] else "false"
    if name == "DECIMAL":
        digits, scale = kind.decimal
        return lambda row, at: _decimal(row, at, digits, scale)
    if name == "DATE":
        return _days if legacy else _date
    if name == "TIME":
        return _days if legacy else lambda row, at: _time(row, at, kind.first or 0)
    if name in TIMES:
        width = kind.fraction
        if legacy:
            return lambda row, at: _iso_timestamp(*_timestamp(row, at, width))
        if not kind.is_local:
            return lambda row, at: sql_timestamp(*_timestamp(row, at, width), width)
    raise WritersPath(
        f"Partition column {column} of type {type_text} does not tell where its files lie",
        "A writer names directories of FLOAT, DOUBLE and BINARY values by its Java, of moments by its zone.",
    )


def _decimal(row: bytes, at: int, precision: int, scale: int) -> str:
    value = unscaled(row, at, precision)
    digits = tuple(int(digit) for digit in str(abs(value)))
    return f"{Decimal((int(value < 0), digits, -scale)):f}"


def _days(row: bytes, at: int) -> str:
    """Legacy names of DATE and TIME: the number that is stored."""
    return str(struct.unpack_from("<i", row, at)[0])


def _date(row: bytes, at: int) -> str:
    (days,) = struct.unpack_from("<i", row, at)
    return (date(1970, 1, 1) + timedelta(days=days)).isoformat()


def _time(row: bytes, at: int, precision: int) -> str:
    (millis,) = struct.unpack_from("<i", row, at)
    seconds, millis = divmod(millis, 1000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    digits = ""
    # Java stops when only zeros are left, but not before the first digit.
    while len(digits) < precision:
        digits += str(millis // 100)
        millis = millis % 100 * 10
        if not millis:
            break
    return f"{text}.{digits}" if digits else text


def _timestamp(row: bytes, at: int, precision: int) -> tuple[datetime, int]:
    """The time to the second, and the nanoseconds after it."""
    millis, nanos = timestamp(row, at, precision)
    seconds, rest = divmod(millis, 1000)
    return _EPOCH + timedelta(seconds=seconds), rest * 1_000_000 + nanos


def _iso_timestamp(second: datetime, nanos: int) -> str:
    """As java.time.LocalDateTime prints itself."""
    text = second.isoformat(timespec="seconds" if second.second or nanos else "minutes")
    if not nanos:
        return text
    digits = f"{nanos:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f"{text}.{digits}"


def sql_timestamp(second: datetime, nanos: int, precision: int) -> str:
    """As Java casts a TIMESTAMP of so many digits to text."""
    digits = f"{nanos:09d}"
    while len(digits) > precision and digits.endswith("0"):
        digits = digits[:-1]
    text = second.isoformat(sep=" ", timespec="seconds")
    return f"{text}.{digits}" if digits else text


def starts(serialised: bytes, arity: int) -> list[int | None]:
    """The offset of each field's eight bytes in `serialised[4:]`; None for a null."""
    count = int.from_bytes(serialised[:4], "big")
    if count != arity:
        raise ValueError(f"{count} values for {arity} columns")
    row = serialised[4:]
    first = null_bits(arity)
    return [None if row[bit // 8] >> bit % 8 & 1 else first + 8 * (bit - 8) for bit in range(8, arity + 8)]


def null_bits(arity: int) -> int:
    """The number of bytes before the row's fields."""
    return (arity + 8 + 63) // 64 * 8


def variable(row: bytes, at: int) -> bytes:
    """Text of up to seven bytes lies in the field itself; for longer text the field has offset and length."""
    (field,) = struct.unpack_from("<Q", row, at)
    if field >> 63:
        return row[at : at + (field >> 56 & 0x7F)]
    return _slice(row, field >> 32, field & 0xFFFFFFFF)


def unscaled(row: bytes, at: int, precision: int) -> int:
    """A decimal's digits, without its point."""
    if precision <= _COMPACT_DECIMAL:
        value: int = struct.unpack_from("<q", row, at)[0]
        return value
    (field,) = struct.unpack_from("<Q", row, at)
    return int.from_bytes(_slice(row, field >> 32, field & 0xFFFFFFFF), "big", signed=True)


def timestamp(row: bytes, at: int, precision: int) -> tuple[int, int]:
    """Epoch milliseconds, and the nanoseconds after them."""
    if precision <= _COMPACT_TIMESTAMP:
        return struct.unpack_from("<q", row, at)[0], 0
    (field,) = struct.unpack_from("<Q", row, at)
    (millis,) = struct.unpack("<q", _slice(row, field >> 32, 8))
    return millis, field & 0xFFFFFFFF


def _slice(row: bytes, start: int, length: int) -> bytes:
    if start + length > len(row):
        raise ValueError("a value ends outside its row")
    return row[start : start + length]

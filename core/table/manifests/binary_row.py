"""Fields of a row as Paimon serialises it (BinaryRow): eight bytes each; longer values lie after them.

Every function takes the row without its arity, and the offset of the field's eight bytes. They raise
`struct.error`, `ValueError` and `IndexError` for bytes that are no such row.
"""

from __future__ import annotations

import struct

# The formats of these types in a field.
INTEGERS = {"TINYINT": "<b", "SMALLINT": "<h", "INT": "<i", "INTEGER": "<i", "BIGINT": "<q"}
# Up to these precisions, the value itself lies in the row's fixed part.
_COMPACT_DECIMAL = 18
_COMPACT_TIMESTAMP = 3


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

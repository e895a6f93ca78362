"""Read Paimon's serialised keys to tuples that compare in Python as the keys do in Paimon."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from paimark.core.errors import Corrupt
from paimark.core.spark.merging.model import Unmergeable
from paimark.core.table.definition.column_types import BYTES, TEXTS, ColumnType
from paimark.core.table.manifests.binary_row import INTEGERS, starts, timestamp, unscaled, variable

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
    if kind.name in ("DECIMAL", "NUMERIC"):
        precision, _ = kind.decimal
        return lambda row, at: unscaled(row, at, precision)
    # Finer timestamps are stored in a form that can't represent every time.
    if kind.name in ("TIMESTAMP", "TIMESTAMP_LTZ") and kind.fraction <= _MICROSECONDS:
        fraction = kind.fraction
        return lambda row, at: timestamp(row, at, fraction)
    raise Unmergeable(f"keys of type {type_text} have no order here")


def _float_order(value: float, bits: int, width: int) -> int:
    """An integer in the order of Java's compare: -0 before 0; all NaN are equal, and after all numbers."""
    sign = 1 << (width - 1)
    if value != value:
        return 1 << width
    return bits ^ sign if bits < sign else (1 << width) - 1 - bits

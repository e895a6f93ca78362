"""Read values of Paimon's serialised rows in Spark's units: dates in days, timestamps in microseconds."""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.manifests.binary_row import INTEGERS, starts, timestamp, unscaled, variable

_FIXED = {**INTEGERS, "DATE": "<i", "BOOLEAN": "<?"}

ValueReader = Callable[[bytes, int], Any]


def value_reader(type_text: object) -> ValueReader | None:
    """A reader of fields of this Paimon type, in the format of `manifests.binary_row`; None for other types.

    It returns bool, int, str or Decimal, which compare as Spark compares the values.
    """
    kind = ColumnType.of(type_text) if isinstance(type_text, str) else ColumnType("", None, None, False)
    if kind.name in _FIXED:
        code = _FIXED[kind.name]
        return lambda row, at: struct.unpack_from(code, row, at)[0]
    if kind.name in ("CHAR", "VARCHAR", "STRING"):
        return lambda row, at: variable(row, at).decode()
    if kind.name in ("DECIMAL", "NUMERIC"):
        precision, scale = kind.decimal
        return lambda row, at: _decimal(unscaled(row, at, precision), scale)
    if kind.name == "TIMESTAMP" and not kind.is_local:
        return lambda row, at: micros(*timestamp(row, at, kind.fraction))
    return None


def digits_of(value: Decimal, scale: int) -> int | None:
    """The unscaled value of a decimal at this scale; None if the scale would round it."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or exponent + scale < 0:
        return None
    unscaled: int = int("".join(map(str, digits))) * 10 ** (exponent + scale)
    return -unscaled if sign else unscaled


def _decimal(digits: int, scale: int) -> Decimal:
    return Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -scale))


def value_at(serialised: bytes, arity: int, index: int, reader: ValueReader) -> Any:
    """A field of a serialised row of `arity` fields; None for a null. Raises as `manifests.binary_row`."""
    at = starts(serialised, arity)[index]
    return None if at is None else reader(serialised[4:], at)


def micros(millis: int, nanos: int) -> int:
    return millis * 1000 + nanos // 1000

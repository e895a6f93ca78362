"""What a statement needs of a table, as `scans/Needs.java` has it; readers of values to compare with that."""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal

import msgspec

from paimark.core.table.definition.column_types import TEXTS, ColumnType
from paimark.core.table.manifests.partitions import INTEGERS, starts, timestamp, unscaled, variable

Operator = Literal["=", "<", "<=", ">", ">=", "in", "prefix", "null", "not null"]


class Condition(msgspec.Struct, frozen=True, array_like=True):
    """A condition on one column; `values` are in the form that `value_reader` returns."""

    column: str
    operator: Operator
    values: tuple[Any, ...] = ()


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
    if kind.name in TEXTS:
        return lambda row, at: variable(row, at).decode()
    if kind.name == "DECIMAL":
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


class SummaryColumns(msgspec.Struct, frozen=True):
    """The columns that an aggregate uses, if a summary of the table may answer it.

    `values`: columns in conditions, groups and the like. `bounds`: columns of which the aggregate takes the
    minimum or maximum. Row counts are always part of a summary.
    """

    values: frozenset[str] = frozenset()
    bounds: frozenset[str] = frozenset()


class ViewNeeds(msgspec.Struct, frozen=True):
    """What a statement needs of one table: columns by name, and at most `limit` rows per reader (None: all).

    Rows that do not satisfy all `conditions` are not needed: these can be compared with a file's statistics.
    `summary_columns`: only aggregates that a summary may answer use the table, and these are their columns.
    """

    columns: frozenset[str]
    conditions: tuple[Condition, ...]
    limit: int | None = None
    summary_columns: SummaryColumns | None = None

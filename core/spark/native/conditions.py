"""Extract the conditions of a statement that can be compared with a file's statistics.

They come from Spark's optimised plan, as the JSON of one expression, which takes one call at any size. A row
must satisfy all of them. An expression that is not understood is left out; then fewer files are skipped.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, Literal

import msgspec

from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.manifests.partitions import INTEGERS, starts, timestamp, unscaled, variable

Operator = Literal["=", "<", "<=", ">", ">=", "in", "prefix", "null", "not null"]

_COMPARISONS: Mapping[str, tuple[Operator, Operator]] = {
    # The operator as written, and with the sides exchanged.
    "EqualTo": ("=", "="),
    "EqualNullSafe": ("=", "="),
    "LessThan": ("<", ">"),
    "LessThanOrEqual": ("<=", ">="),
    "GreaterThan": (">", "<"),
    "GreaterThanOrEqual": (">=", "<="),
}
_NULL_TESTS: Mapping[str, Operator] = {"IsNull": "null", "IsNotNull": "not null"}
_EPOCH = date(1970, 1, 1)


class Condition(msgspec.Struct, frozen=True):
    """A condition on one column; `values` are in the form that `values.value_reader` returns."""

    column: str
    operator: Operator
    values: tuple[Any, ...] = ()


class _Node:
    """An expression: its class without the package, its facts, and its children."""

    __slots__ = ("children", "facts", "kind")

    def __init__(self, nodes: Iterator[dict[str, Any]]) -> None:
        self.facts = next(nodes)
        self.kind = str(self.facts["class"]).rpartition(".")[2]
        self.children = [_Node(nodes) for _ in range(self.facts["num-children"])]


def conditions(expression_json: str, columns: Mapping[int, str]) -> tuple[Condition, ...]:
    """Parse a condition of Spark's; `columns` has the names of a table's columns by Spark's ids."""
    nodes: list[dict[str, Any]] = msgspec.json.decode(expression_json)
    return tuple(
        condition
        for each in _conjuncts(_Node(iter(nodes)))
        if (condition := _condition(each, columns)) is not None
    )


def _conjuncts(node: _Node) -> Iterator[_Node]:
    if node.kind == "And":
        for child in node.children:
            yield from _conjuncts(child)
    else:
        yield node


def _condition(node: _Node, columns: Mapping[int, str]) -> Condition | None:
    # Spark rewrites a comparison of a boolean column with TRUE or FALSE to this form.
    truth, column = (False, node.children[0]) if node.kind == "Not" else (True, node)
    if (flag := _name(column, columns)) is not None:
        return Condition(flag, "=", (truth,))
    names = [_name(child, columns) for child in node.children]
    if operators := _COMPARISONS.get(node.kind):
        for side in (0, 1):
            value = _value(node.children[1 - side])
            name = names[side]
            if name is not None and value is not None:
                return Condition(name, operators[side], (value,))
        return None
    name = names[0] if names else None
    if name is None:
        return None
    if operator := _NULL_TESTS.get(node.kind):
        return Condition(name, operator)
    values = [_value(child) for child in node.children[1:]]
    if node.kind == "In" and values:
        given = [each.facts.get("value") for each in node.children[1:] if each.kind == "Literal"]
        # A null in the list equals no value, so it is left out.
        known = tuple(value for value in values if value is not None)
        is_whole = len(given) == len(values) and len(known) == sum(text is not None for text in given)
        return Condition(name, "in", known) if is_whole else None
    if node.kind == "StartsWith" and len(values) == 1 and isinstance(values[0], str):
        return Condition(name, "prefix", (values[0],))
    return None


def _name(node: _Node, columns: Mapping[int, str]) -> str | None:
    if node.kind != "AttributeReference":
        return None
    return columns.get(int(node.facts["exprId"]["id"]))


def _text(text: str) -> str:
    if "\N{REPLACEMENT CHARACTER}" in text:
        raise ValueError("bytes that are no text")
    return text


_VALUES: Mapping[str, Callable[[str], Any]] = {
    "byte": int,
    "short": int,
    "integer": int,
    "long": int,
    "string": _text,
    "boolean": lambda text: text == "true",
    "date": lambda text: (date.fromisoformat(text) - _EPOCH).days,
    "timestamp_ntz": int,
}


def _value(node: _Node) -> Any:
    text = node.facts.get("value")
    if node.kind != "Literal" or not isinstance(text, str):
        return None
    kind = node.facts.get("dataType")
    read = Decimal if isinstance(kind, str) and kind.startswith("decimal(") else _VALUES.get(str(kind))
    try:
        return None if read is None else read(text)
    # A year of more than four digits; or bytes that are not UTF-8, which JSON can't hold.
    except ValueError:
        return None


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


class SummaryColumns(msgspec.Struct, frozen=True):
    """The columns that an aggregate uses, if a summary of the table may answer it.

    `values`: columns in conditions, groups and the like. `bounds`: columns of which the aggregate takes the
    minimum or maximum. Row counts are always part of a summary.
    """

    values: frozenset[str] = frozenset()
    bounds: frozenset[str] = frozenset()

    def and_(self, other: SummaryColumns) -> SummaryColumns:
        return SummaryColumns(self.values | other.values, self.bounds | other.bounds)


@dataclass(slots=True)
class ViewNeeds:
    """What a statement needs of one view: columns by name, and at most `limit` rows per reader (None: all).

    Rows that do not satisfy all `conditions` are not needed. `summary_columns`: only aggregates that a
    summary may answer use the view, and these are their columns.
    """

    columns: set[str] = field(default_factory=set)
    limit: int | None = None
    conditions: tuple[Condition, ...] = ()
    summary_columns: SummaryColumns | None = None

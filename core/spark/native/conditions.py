"""Extract the conditions of a statement that can be compared with a file's statistics.

They come from Spark's optimised plan, as the JSON of one expression, which takes one call at any size. A row
must satisfy all of them. An expression that is not understood is left out; then fewer files are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Literal

import msgspec

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

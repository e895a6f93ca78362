"""Rows that Spark wrote as JSON, with each value as its column has it.

A float would round a DECIMAL, take two of many digits for one, and lose the zeros at its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec

from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.records import TableSchema

_DECODER = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)


def decoded(row: str) -> dict[str, Any]:
    """What a query selected. Each number with a point is a `Decimal`, whatever column it is of."""
    return _DECODER.decode(row)


def typed(schema: TableSchema, row: Mapping[str, Any]) -> dict[str, Any]:
    """A decoded row of a table, or its key: only values of a DECIMAL stay a `Decimal`."""
    kinds = {field.name: field.type for field in schema.fields}
    return {name: _typed(kinds[name], value) for name, value in row.items()}


def _typed(kind: Any, value: Any) -> Any:
    """`kind` is the schema's value: a text, or an object for a nested type."""
    match value:
        case Decimal():
            return value if ColumnType.of(str(kind)).name == "DECIMAL" else float(value)
        case list() if _part(kind, "key") is not None:
            # A map came as its entries, so that Spark could compare it.
            return {str(each["key"]): _typed(kind["value"], each.get("value")) for each in value}
        case list():
            return [_typed(_part(kind, "element"), each) for each in value]
        case dict():
            fields = {each["name"]: each["type"] for each in _part(kind, "fields", ())}
            of_all = _part(kind, "value")
            return {name: _typed(fields.get(name, of_all), each) for name, each in value.items()}
    return value


def _part(kind: Any, name: str, otherwise: Any = None) -> Any:
    return kind.get(name, otherwise) if isinstance(kind, Mapping) else otherwise

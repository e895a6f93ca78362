"""The word for what metadata counts."""

from __future__ import annotations

from paimark.core.table.definition.kind_signs import is_on
from paimark.core.table.records import TableSchema


def unit_of(schema: TableSchema | None) -> str:
    """`record` where metadata may count several for one row: with a key, by which rows are merged when they
    are read, and where rows lie in parts, a file for each (data evolution, so with BLOB columns). Else
    `row`.

    `record` as well if the schema is not known, because that is right for every table.
    """
    if schema is None or schema.primary_keys or is_on(schema.options, "data-evolution.enabled"):
        return "record"
    return "row"

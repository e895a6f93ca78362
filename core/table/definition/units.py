"""The word for what metadata counts."""

from __future__ import annotations

from paimark.core.table.records import TableSchema


def unit_of(schema: TableSchema | None) -> str:
    """`record` in a table with a key, where several may be one row when they are read and merged; else `row`.

    `record` as well if the schema is not known, because that is right for every table.
    """
    return "row" if schema is not None and not schema.primary_keys else "record"

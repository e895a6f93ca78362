"""Files of a table that numbers its rows, of which nobody knows the numbers: another engine compacted them.

A change that keeps the numbers of rows, such as an UPDATE or a compaction, can't read them.
"""

from __future__ import annotations

from collections.abc import Iterable

from paimark.core.table.definition.kind_signs import is_on
from paimark.core.table.manifests.manifests import ManifestEntry
from paimark.core.table.records import TableSchema


def lacks_row_ids(schema: TableSchema, entries: Iterable[ManifestEntry]) -> bool:
    """Whether ids of rows can't be read: a file has neither its first one nor all."""
    return is_on(schema.options, "row-tracking.enabled") and any(
        each.file.get("_FIRST_ROW_ID") is None and "_ROW_ID" not in (each.file.get("_WRITE_COLS") or ())
        for each in entries
    )


def without_ids(table: str) -> tuple[str, str]:
    """What is said of such a table, and what to do."""
    new = f"INSERT OVERWRITE {table} SELECT * FROM {table} gives all rows new ones."
    reason = f"{table} has rows without an id, though row-tracking.enabled is true"
    return reason, f"A compaction by another engine left them. {new}"

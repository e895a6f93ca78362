"""Warnings on stock expiry for plans that keep something."""

from __future__ import annotations

from core.storage.files import Files
from core.table.definition.retention import NEVER
from core.table.layout import Root
from core.table.lineage.branches import branch_health


def stock_expiry_warnings(files: Files, root: Root) -> list[str]:
    """Warnings before something on this root is to be kept. Raises `Corrupt`."""
    if branch_health(files, root) == "ok":
        return []
    return [
        f"Stock expiry on branch {root.branch} can destroy savepoints: "
        f"its schema lacks snapshot.num-retained.min and .max = {NEVER}"
    ]

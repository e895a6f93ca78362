"""What a person should know of stock expiry before something is to be kept."""

from __future__ import annotations

from core.storage.files import Files
from core.table.definition.retention import NEVER
from core.table.layout import Root
from core.table.lineage.branches import branch_health


def stock_expiry_warnings(files: Files, root: Root) -> list[str]:
    """What to know before something on this root is to be kept. Raises `Corrupt`."""
    if branch_health(files, root) == "ok":
        return []
    return [
        f"Stock expiry on branch {root.branch} can destroy savepoints: "
        f"its schema lacks snapshot.num-retained.min and .max = {NEVER}"
    ]

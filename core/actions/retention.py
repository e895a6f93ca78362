"""The two table options that switch stock expiry off on a branch root.

Stock expiry on any branch looks only at the tags of the table directory, and destroys what is not there.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.storage.files import Files
from core.table.layout import Root
from core.table.lineage import Lineage

_NEVER = "2147483647"
RETENTION_OFF: Mapping[str, str] = {
    "snapshot.num-retained.min": _NEVER,
    "snapshot.num-retained.max": _NEVER,
}


def stock_expiry_warnings(files: Files, root: Root) -> list[str]:
    """What to know before something on this root is to be kept."""
    if root.branch is None:
        return []
    schema = Lineage(files, root).latest_schema()
    if schema is None or RETENTION_OFF.items() <= schema.options.items():
        return []
    return [
        f"Stock expiry on branch {root.branch} can destroy savepoints: "
        f"its schema lacks snapshot.num-retained.min and .max = {_NEVER}"
    ]

"""The two table options that switch stock expiry off on a branch root.

Stock expiry on any branch looks only at the tags of the table directory, and destroys what is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from core.storage.files import Files
from core.table.layout import Root
from core.table.lineage.lineage import Lineage

NEVER = "2147483647"
RETENTION_OFF: Mapping[str, str] = {
    "snapshot.num-retained.min": NEVER,
    "snapshot.num-retained.max": NEVER,
}


def retention_off() -> str:
    """The options as an alteration of a schema takes them."""
    return ", ".join(f"'{option}' = '{value}'" for option, value in RETENTION_OFF.items())


# `exposed`: stock expiry on the root can destroy savepoints.
BranchHealth = Literal["ok", "exposed"]


def branch_health(files: Files, root: Root) -> BranchHealth:
    """Raises `Corrupt` where the newest schema can't be read."""
    if root.branch is None:
        return "ok"
    schema = Lineage(files, root).latest_schema()
    return "ok" if schema is None or RETENTION_OFF.items() <= schema.options.items() else "exposed"

"""Paimark's core: Apache Paimon metadata, savepoints, branches and time travel, with no terminal.

For scripts:

    from core import SavepointManager, find_table, open_files

    files = open_files("/lake/warehouse")
    for savepoint in SavepointManager(files, find_table(files, "shop.orders")).all():
        print(savepoint.id, savepoint.record_count)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.storage.open import open_files
    from core.table.catalog import find_table
    from core.table.records import Savepoint
    from core.table.savepoints import SavepointManager

__all__ = ["Savepoint", "SavepointManager", "find_table", "open_files"]

_HOMES = {
    "Savepoint": "core.table.records",
    "SavepointManager": "core.table.savepoints",
    "find_table": "core.table.catalog",
    "open_files": "core.storage.open",
}


def __getattr__(name: str) -> Any:
    # Every start of the program passes here, and few need these.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)

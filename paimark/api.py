"""The public names, which `paimark` passes on. Its docstring describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimark.core.actions.plan import Item, Plan, Refusal, Step
from paimark.core.errors import (
    Cancelled,
    Corrupt,
    FileMissing,
    NotFound,
    PaimarkError,
    Refused,
    StatementFailed,
    Unavailable,
    UsageError,
)
from paimark.core.space.report import BucketRow, SpaceReport, SpaceRow
from paimark.core.table.trash import DroppedTable
from paimark.core.travel.version import SupportsTimeTravel
from paimark.records import Branch, Field, Operation, Schema, Snapshot, Tag
from paimark.results import (
    AutoSavepointDone,
    BranchCreated,
    BranchDeleted,
    BranchMerged,
    CommitsRescued,
    Compacted,
    DroppedDeleted,
    MainReplaced,
    ManyDone,
    Recovered,
    Restored,
    Result,
    RolledBack,
    SavepointCreated,
    SavepointDeleted,
    SchemaAltered,
    SnapshotsExpired,
    TableDropped,
    TableRenamed,
    TableUndropped,
    TagCreated,
    TagDeleted,
    TagRenamed,
    Undone,
)
from paimark.savepoint_manager import SavepointManager
from paimark.savepoints import ManifestFile, Savepoint
from paimark.table import Table
from paimark.version import Version
from paimark.warehouse import Warehouse
from paimark.warehouse import open_warehouse as open

if TYPE_CHECKING:
    from paimark.core.spark.source import PaimarkSource

__all__ = [
    "AutoSavepointDone",
    "Branch",
    "BranchCreated",
    "BranchDeleted",
    "BranchMerged",
    "BucketRow",
    "Cancelled",
    "CommitsRescued",
    "Compacted",
    "Corrupt",
    "DroppedDeleted",
    "DroppedTable",
    "Field",
    "FileMissing",
    "Item",
    "MainReplaced",
    "ManifestFile",
    "ManyDone",
    "NotFound",
    "Operation",
    "PaimarkError",
    "PaimarkSource",
    "Plan",
    "Recovered",
    "Refusal",
    "Refused",
    "Restored",
    "Result",
    "RolledBack",
    "Savepoint",
    "SavepointCreated",
    "SavepointDeleted",
    "SavepointManager",
    "Schema",
    "SchemaAltered",
    "Snapshot",
    "SnapshotsExpired",
    "SpaceReport",
    "SpaceRow",
    "StatementFailed",
    "Step",
    "SupportsTimeTravel",
    "Table",
    "TableDropped",
    "TableRenamed",
    "TableUndropped",
    "Tag",
    "TagCreated",
    "TagDeleted",
    "TagRenamed",
    "Unavailable",
    "Undone",
    "UsageError",
    "Version",
    "Warehouse",
    "open",
]


def __getattr__(name: str) -> Any:
    # It needs pyspark, which no other name does.
    if name == "PaimarkSource":
        from paimark.core.spark.source import PaimarkSource

        return PaimarkSource
    raise AttributeError(name)

"""The public names, which `paimark` passes on. Its docstring describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimark import results
from paimark.core.actions.plan import Item, Plan, Refusal, Step
from paimark.core.errors import (
    Cancelled,
    Corrupt,
    FileMissing,
    NotFound,
    Outrun,
    PaimarkError,
    Refused,
    StatementFailed,
    Unavailable,
    UsageError,
)
from paimark.core.space.report import BucketRow, SpaceReport, SpaceRow
from paimark.core.table.operations import CheckResult
from paimark.core.table.trash import DroppedTable
from paimark.core.travel.version import SupportsTimeTravel
from paimark.records import (
    Blamed,
    Branch,
    Field,
    FirstRows,
    Holder,
    Operation,
    RowChange,
    Schema,
    Snapshot,
    Tag,
)
from paimark.results import *
from paimark.savepoint_manager import SavepointManager
from paimark.savepoints import ManifestFile, Savepoint
from paimark.table import Table
from paimark.version import Version
from paimark.warehouse import Warehouse
from paimark.warehouse import open_warehouse as open

if TYPE_CHECKING:
    from paimark.core.spark.source import PaimarkSource

__all__ = [
    "Blamed",
    "Branch",
    "BucketRow",
    "Cancelled",
    "CheckResult",
    "Corrupt",
    "DroppedTable",
    "Field",
    "FileMissing",
    "FirstRows",
    "Holder",
    "Item",
    "ManifestFile",
    "NotFound",
    "Operation",
    "Outrun",
    "PaimarkError",
    "PaimarkSource",
    "Plan",
    "Refusal",
    "Refused",
    "RowChange",
    "Savepoint",
    "SavepointManager",
    "Schema",
    "Snapshot",
    "SpaceReport",
    "SpaceRow",
    "StatementFailed",
    "Step",
    "SupportsTimeTravel",
    "Table",
    "Tag",
    "Unavailable",
    "UsageError",
    "Version",
    "Warehouse",
    "open",
]
__all__ += results.__all__


def __getattr__(name: str) -> Any:
    # It needs pyspark, which no other name does.
    if name == "PaimarkSource":
        from paimark.core.spark.source import PaimarkSource

        return PaimarkSource
    raise AttributeError(name)

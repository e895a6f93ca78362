"""Apache Paimon tables from Python: savepoints, branches, tags, time travel and rows as Arrow.

    import paimark

    warehouse = paimark.open("s3://lake/warehouse", options={"s3.endpoint": "http://minio:9000"})
    orders = warehouse.table("shop.orders")
    saved = orders.create_savepoint(comment="before the fix")
    rows = orders.at(f"savepoint.{saved.savepoint_id}").to_arrow()

Only the actions of a table (`create_savepoint`, ..., `apply`) write. Every error is a `PaimarkError`, with
`message`, one sentence, and `hint`. Times are epoch milliseconds, sizes are bytes, and counts are of rows
before rows of one key are merged. Warnings and notes are logged to `paimark`. Texts are returned as the
table has them: clean them before you show them on a terminal.

`import paimark` imports neither pyarrow, pypaimon nor pyspark. `to_arrow` needs the first two;
`PaimarkSource`, for Spark's `spark.dataSource.register`, needs the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.actions.plan import Plan, Refusal, Step
from core.errors import (
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
from core.space.report import BucketRow, SpaceReport, SpaceRow
from paimark.records import Branch, Field, Operation, Savepoint, Schema, Snapshot, Tag
from paimark.results import (
    AutoSavepointDone,
    BranchCreated,
    BranchDeleted,
    BranchMerged,
    CommitsRescued,
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
    TagCreated,
    TagDeleted,
    TagRenamed,
    Undone,
)
from paimark.table import Table
from paimark.version import Version
from paimark.warehouse import Warehouse
from paimark.warehouse import open_warehouse as open

if TYPE_CHECKING:
    from core.spark.source import PaimarkSource

__all__ = [
    "AutoSavepointDone",
    "Branch",
    "BranchCreated",
    "BranchDeleted",
    "BranchMerged",
    "BucketRow",
    "Cancelled",
    "CommitsRescued",
    "Corrupt",
    "Field",
    "FileMissing",
    "MainReplaced",
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
    "Schema",
    "SchemaAltered",
    "Snapshot",
    "SnapshotsExpired",
    "SpaceReport",
    "SpaceRow",
    "StatementFailed",
    "Step",
    "Table",
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
        from core.spark.source import PaimarkSource

        return PaimarkSource
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

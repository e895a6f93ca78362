"""The public names, which `paimark` passes on. Its docstring describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimark import results
from paimark.arguments import number
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
from paimark.core.table.savepoints import SavepointManager as Manager
from paimark.core.table.operations import CheckResult
from paimark.core.table.trash import DroppedTable
from paimark.core.travel.version import SupportsTimeTravel
from paimark.records import Branch, Field, Operation, Schema, Snapshot, Tag
from paimark.results import *
from paimark.savepoints import ManifestFile, Savepoint
from paimark.table import Table
from paimark.version import Version
from paimark.warehouse import Warehouse
from paimark.warehouse import open_warehouse as open

if TYPE_CHECKING:
    from paimark.core.spark.source import PaimarkSource


__all__ = [
    "Branch",
    "BucketRow",
    "Cancelled",
    "CheckResult",
    "Corrupt",
    "DroppedTable",
    "Field",
    "FileMissing",
    "Item",
    "ManifestFile",
    "NotFound",
    "Operation",
    "PaimarkError",
    "PaimarkSource",
    "Plan",
    "Refusal",
    "Refused",
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


_HIGHEST = 10**18 - 1


class SavepointManager:
    """Finds a table's savepoints by their ids, which are unique in the table, over all branches.

    It caches nothing. `Table.savepoints` lists them with their health; the table's actions make and delete
    them. Each call raises `NotFound` if the table is gone, and `Unavailable`.
    """

    def __init__(self, table: Table) -> None:
        if not isinstance(table, Table):
            raise UsageError(
                f"SavepointManager takes a table, not {type(table).__name__}",
                "warehouse.table('shop.orders') is one.",
            )
        self._manager = Manager(table._session.files, table._path)

    @property
    def savepoint_directory(self) -> str:
        """The path or URI of the directory with the table's savepoints, whether or not it exists."""
        return f"{self._manager.files.uri}/{self._manager.savepoint_directory}"

    def savepoint_path(self, savepoint_id: int) -> str:
        """The path or URI of the file of a savepoint, whether or not it exists: for `Savepoint.from_path`."""
        return f"{self._manager.files.uri}/{self._manager.savepoint_path(_checked(savepoint_id))}"

    def savepoint(self, savepoint_id: int) -> Savepoint:
        """Raises `NotFound` and `Corrupt`."""
        record = self._manager.savepoint(_checked(savepoint_id))
        return Savepoint._of(record, None)._found_in(self._manager.files, self._manager.savepoint_directory)

    def savepoint_exists(self, savepoint_id: int) -> bool:
        return self._manager.savepoint_exists(_checked(savepoint_id))

    def earliest_savepoint_id(self) -> int | None:
        """The lowest id; None for a table without savepoints."""
        return self._manager.earliest_savepoint_id()

    def latest_savepoint_id(self) -> int | None:
        """The highest id; None for a table without savepoints."""
        return self._manager.latest_savepoint_id()


def _checked(savepoint_id: int) -> int:
    """Raises `UsageError` for what is no id of a savepoint."""
    if number("savepoint_id", savepoint_id, 1) > _HIGHEST:
        raise UsageError(
            f"savepoint_id is at most {_HIGHEST}, not {savepoint_id}", "No table has such a one."
        )
    return savepoint_id

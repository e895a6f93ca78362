"""The savepoints of one table, by id."""

from __future__ import annotations

from paimark.arguments import number
from paimark.core.errors import UsageError
from paimark.core.table.savepoints import SavepointManager as Manager
from paimark.savepoints import Savepoint
from paimark.table import Table

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

"""A table at one snapshot, and its rows as Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paimark.arguments import number
from paimark.core.errors import UsageError
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess, make_scan
from paimark.core.spark.datasource.table_options import ReadScope
from paimark.core.table.layout import Root
from paimark.core.table.names import near_names
from paimark.core.table.records import Snapshot as SnapshotRecord
from paimark.core.table.system_tables import snapshot_row
from paimark.records import Schema, Snapshot
from paimark.session import Session

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Version:
    """One state of a table, resolved once: later commits do not change its rows.

    `Table.at` accepts `name` again (`snapshot.12`, `savepoint.3`, a tag); it is None for the newest state of
    its branch. `schema` has the columns of that state. If the requested snapshot has expired, `note` says
    which state was used instead.
    """

    table: str
    branch: str
    name: str | None
    schema: Schema
    note: str
    _session: Session = field(repr=False)
    _root: Root = field(repr=False)
    _record: SnapshotRecord | None = field(repr=False)
    _scope: ReadScope = field(repr=False)

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot that is read; None for a table without one."""
        return None if self._record is None else Snapshot(*snapshot_row(self._record))

    def to_arrow(self, columns: Sequence[str] | None = None, limit: int | None = None) -> pa.Table:
        """The rows as a pyarrow Table: of these columns in this order (None: all), at most `limit` of them.

        Rows of one key are merged. pypaimon reads them in this process, without Spark. Raises `Refused` with
        the reason for a table that pypaimon would misread; `Corrupt`; `NotFound` if an expiry has deleted a
        file; `Unavailable`; `UsageError` for a column that does not exist.
        """
        import pyarrow as pa

        from paimark.core.spark.datasource.paimon import arrow_schema, row_batches

        scan = self._scan(columns, limit)
        return pa.Table.from_batches(list(row_batches(scan, limit)), arrow_schema(scan))

    def to_arrow_batch_reader(
        self, columns: Sequence[str] | None = None, limit: int | None = None
    ) -> pa.RecordBatchReader:
        """The rows of `to_arrow`, read batch by batch: reading a batch can raise the errors of `to_arrow`."""
        import pyarrow as pa

        from paimark.core.spark.datasource.paimon import arrow_schema, row_batches

        scan = self._scan(columns, limit)
        return pa.RecordBatchReader.from_batches(arrow_schema(scan), row_batches(scan, limit))

    def _scan(self, columns: Sequence[str] | None, limit: int | None) -> Scan:
        if limit is not None:
            number("limit", limit, 0)
        self._require(columns)
        warehouse = WarehouseAccess(
            self._session.files, self._session.files.uri, self._session.settings.options
        )
        pinned = self._scope == "version"
        scan = make_scan(warehouse, self._root, self._record, pinned=pinned, scope=self._scope)
        return scan if columns is None else replace(scan, columns=tuple(columns))

    def _require(self, columns: Sequence[str] | None) -> None:
        if columns is None:
            return
        known = [each.name for each in self.schema.fields]
        if isinstance(columns, str) or not isinstance(columns, Sequence) or not columns:
            raise UsageError("columns is a list of names", f"The table has {', '.join(known)}.")
        for name in columns:
            if name not in known:
                hint = near_names(str(name), known) or f"It has {', '.join(known)}."
                raise UsageError(f"{self.table} has no column {name!r} in this version", hint)
        if len(set(columns)) < len(columns):
            raise UsageError("columns has a name twice", "Leave one of them out.")

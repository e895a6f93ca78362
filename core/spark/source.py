"""The Python Data Source `paimark`: reads a Paimon table through pypaimon, at exactly the given snapshot.

    import paimark

    spark.dataSource.register(paimark.PaimarkSource)
    spark.read.format("paimark").option("warehouse", uri).option("table", "db.t").load()

Options: `warehouse`, `table`, and optionally `branch` and the state to read: one of `version` (as after
VERSION AS OF), Spark's `versionAsOf` and `timestampAsOf` (with a time zone), and Paimon's `scan.version`,
`scan.tag-name`, `scan.watermark`, `scan.snapshot-id`, `scan.timestamp` and `scan.timestamp-millis`. The last
three, with which streams can begin too, read the old rows in the table's current columns. All others are
options of stores (`s3.endpoint`), or are refused.

Runs in Spark's Python workers, so pypaimon is imported only where it is used. Writing is in
`paimark.core.spark.writing.write`; `readStream` and `writeStream` with their options are in
`paimark.core.spark.streaming`, modules `reader` and `writer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from paimark.core.errors import UsageError, hints_in_messages
from paimark.core.spark.datasource.options import (
    READ,
    READ_ANY,
    STATES,
    WRITE,
    WRITE_STREAM,
    catalog_options,
    require_allowed,
)
from paimark.core.spark.datasource.reader import PaimarkReader
from paimark.core.spark.datasource.scan import Scan
from paimark.core.spark.datasource.worker_imports import settle

if TYPE_CHECKING:
    from paimark.core.spark.streaming.reader import PaimarkStreamReader
    from paimark.core.spark.streaming.writer import PaimarkStreamWriter
    from paimark.core.spark.writing.write import PaimarkWriter


class PaimarkSource(DataSource):
    """`option("scan", ...)` has a whole `Scan`, for callers that have resolved the table themselves."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        # Spark makes a source, each in a worker of its own, for every table of a statement.
        settle()

    @classmethod
    def name(cls) -> str:
        return "paimark"

    @hints_in_messages()
    def schema(self) -> StructType:
        from paimark.core.spark.datasource.types import spark_columns

        require_allowed(self.options, READ_ANY)
        columns = spark_columns(self._scan(is_for_rows=False))
        if not self._with_kinds():
            return columns
        from paimark.core.spark.streaming.reader import KIND_FIELD

        return StructType([KIND_FIELD, *columns.fields])

    @hints_in_messages()
    def reader(self, schema: StructType) -> PaimarkReader:
        if self._with_kinds():
            raise UsageError("read.changelog is for streams: rows at rest have no kind", "Leave it out.")
        require_allowed(self.options, READ)
        return PaimarkReader(self._scan(is_for_rows=True), schema)

    @hints_in_messages()
    def streamReader(self, schema: StructType) -> PaimarkStreamReader:
        from paimark.core.spark.streaming.reader import PaimarkStreamReader

        return PaimarkStreamReader(self.options, schema)

    @hints_in_messages()
    def streamWriter(self, schema: StructType, overwrite: bool) -> PaimarkStreamWriter:
        from paimark.core.spark.streaming.writer import stream_writer

        require_allowed(self.options, WRITE_STREAM)
        return stream_writer(self.options, schema, overwrite)

    @hints_in_messages()
    def writer(self, schema: StructType, overwrite: bool) -> PaimarkWriter:
        from paimark.core.spark.writing.write import writer

        require_allowed(self.options, WRITE)
        return writer(self.options, schema, overwrite)

    def _with_kinds(self) -> bool:
        options: Mapping[str, str] = self.options
        return options.get("read.changelog", "").lower() == "true"

    def _scan(self, *, is_for_rows: bool) -> Scan:
        options: Mapping[str, str] = self.options
        if "scan" in options:
            return Scan.from_text(options["scan"])
        return _looked_up(options, is_for_rows=is_for_rows)


def _looked_up(options: Mapping[str, str], *, is_for_rows: bool) -> Scan:
    """The scan that the options name. If no rows are read (`is_for_rows` False), only its columns matter.

    If the options may begin a stream, these are the table's current columns: Spark asks for a stream's schema
    with the same options, and the state that it begins with may be gone, or not exist yet.
    """
    from paimark.core.spark.datasource.requested_state import read_scope, requested_state
    from paimark.core.spark.datasource.scan import WarehouseAccess, make_scan
    from paimark.core.storage.open import open_files
    from paimark.core.table.catalog import find_table
    from paimark.core.table.lineage.main_branch import branch_root

    own = catalog_options(options)
    files = open_files(options["warehouse"], own)
    root = branch_root(files, find_table(files, options["table"]), options.get("branch"))
    is_pinned = any(name in options for name in STATES)
    state = requested_state(files, root, options) if is_pinned or is_for_rows else None
    return make_scan(
        WarehouseAccess(files, options["warehouse"], own),
        root,
        state.snapshot if state is not None else None,
        pinned=is_pinned,
        scope=read_scope(options),
    )

"""The Python Data Source `paimark`: reads a Paimon table through pypaimon, at exactly the given snapshot.

    import paimark

    spark.dataSource.register(paimark.PaimarkSource)
    spark.read.format("paimark").option("warehouse", uri).option("table", "db.t").load()

Options: `warehouse`, `table`, and optionally `branch` and the state to read: one of `version` (as after
VERSION AS OF), Spark's `versionAsOf` and `timestampAsOf` (with a time zone), and Paimon's `scan.version`,
`scan.tag-name`, `scan.watermark`, `scan.snapshot-id`, `scan.timestamp` and `scan.timestamp-millis`. The last
three, with which streams can begin too, read the old rows in the table's current columns. All others are
options of stores (`s3.endpoint`), or are refused.

Runs in Spark's Python workers, so pypaimon is imported only where it is used. Rows are written by Paimon's
library, if Spark has its jar and ours: `paimark.core.spark.source_writer`. `readStream` and
`writeStream` with their options are in `paimark.core.spark.streaming`, modules `reader` and `batch`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from paimark.core.errors import Refused, UsageError, hints_in_messages
from paimark.core.spark.datasource.options import (
    BATCH,
    DOOR,
    JAVA,
    READ,
    READ_ANY,
    STATES,
    WRITE,
    WRITE_STREAM,
    catalog_options,
    require_allowed,
)
from paimark.core.spark.datasource.reader import PaimarkReader, settle
from paimark.core.spark.datasource.scan import Scan
from paimark.core.spark.java.objects import has_classes
from paimark.core.spark.java.sources import JAR

if TYPE_CHECKING:
    from paimark.core.spark.source_writer import PaimarkWriter
    from paimark.core.spark.streaming.reader import PaimarkStreamReader

_JAVA = "paimark.DefaultSource"
# As that looks for it.
_BESIDE_JAVA = "paimark_python"


class PaimarkSource(DataSource):
    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        # Spark makes a source, each in a worker of its own, for every table of a statement.
        settle()

    @classmethod
    def name(cls) -> str:
        """Where Java has a source of this name, which finds it by its class, Python's gets another one."""
        return _BESIDE_JAVA if has_java_source() else "paimark"

    @hints_in_messages()
    def schema(self) -> StructType:
        from paimark.core.spark.datasource.types import spark_columns

        if (door := self.options.get(DOOR)) is not None:
            return self._handed_over(door)
        require_allowed(self.options, READ_ANY)
        scan = _looked_up(self.options, is_for_rows=False, by_library=JAVA in self.options)
        columns = spark_columns(scan)
        if not self._with_kinds():
            return columns
        from paimark.core.spark.streaming.reader import KIND_FIELD

        return StructType([KIND_FIELD, *columns.fields])

    @hints_in_messages()
    def reader(self, schema: StructType) -> PaimarkReader:
        self._require_rows()
        scan = _looked_up(self.options, is_for_rows=True)
        _require_columns(scan, schema)
        return PaimarkReader(scan, schema)

    @hints_in_messages()
    def streamReader(self, schema: StructType) -> PaimarkStreamReader:
        from paimark.core.spark.streaming.reader import PaimarkStreamReader

        return PaimarkStreamReader(self.options, schema)

    @hints_in_messages()
    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:
        from paimark.core.spark.source_writer import no_jar

        # Where Java has its half, that writes streams without asking for this.
        raise no_jar()

    @hints_in_messages()
    def writer(self, schema: StructType, overwrite: bool) -> PaimarkWriter:
        from paimark.core.spark.source_writer import writer

        require_allowed(self.options, WRITE_STREAM if BATCH in self.options else WRITE)
        return writer(self.options, overwrite)

    def _handed_over(self, door: str) -> StructType:
        """For a read of `SourceRead.java`: leave there what to read, and return its columns."""
        from paimark.core.spark.datasource.requested_state import read_scope
        from paimark.core.spark.datasource.types import spark_columns
        from paimark.core.spark.library.java_gateway import Visit

        self._require_rows()
        scan = _looked_up(self.options, is_for_rows=True, by_library=True)
        Visit(door).begin_read(scan, read_scope(self.options))
        return spark_columns(scan)

    def _require_rows(self) -> None:
        """Raises `UsageError` for options that are not of a batch read."""
        if self._with_kinds():
            raise UsageError("read.changelog is for streams: rows at rest have no kind", "Leave it out.")
        require_allowed(self.options, READ)

    def _with_kinds(self) -> bool:
        options: Mapping[str, str] = self.options
        return options.get("read.changelog", "").lower() == "true"


def has_java_source() -> bool:
    """Whether this process has a Spark with Java's half of the source: then it is about to register ours."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if (context := SparkContext._active_spark_context) is not None:
        return has_classes(context._jvm, _JAVA)
    session = SparkSession.getActiveSession()
    return session is not None and JAR.name in str(session.conf.get("spark.jars", ""))


def _require_columns(scan: Scan, schema: StructType) -> None:
    """Raises `Refused` for columns that the table has not, or has lost since it was loaded."""
    known = {field.name for field in scan.table_schema.fields}
    if lacking := [name for name in schema.names if name not in known]:
        raise Refused(f"{scan.name} has no column {', '.join(lacking)}", "Load it again.")


def _looked_up(options: Mapping[str, str], *, is_for_rows: bool, by_library: bool = False) -> Scan:
    """The scan that the options name. If no rows are read (`is_for_rows` False), only its columns matter.
    `by_library`: Paimon's library may read it.

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
        by_library=by_library,
    )

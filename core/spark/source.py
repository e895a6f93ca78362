"""The Python Data Source `paimark`: reads a Paimon table through pypaimon, at exactly the snapshot given.

    from core.spark.source import PaimarkSource

    spark.dataSource.register(PaimarkSource)
    spark.read.format("paimark").option("warehouse", uri).option("table", "db.t").load()

Options: `warehouse`, `table`, and if wanted `branch` and `version` (as after VERSION AS OF); all others are
catalog options. Runs in Spark's Python workers, so pypaimon is imported only where it is used. Writing is in
`core.spark.write`, `readStream` and `writeStream` with their options in `core.spark.streaming`, its modules
`reader` and `writer`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from core.errors import UsageError, hints_told
from core.spark.options import catalog_options
from core.spark.scan import Scan
from core.spark.worker_imports import settle

if TYPE_CHECKING:
    import pyarrow as pa

    from core.spark.filters import Condition
    from core.spark.streaming.reader import PaimarkStreamReader
    from core.spark.streaming.writer import PaimarkStreamWriter
    from core.spark.write import PaimarkWriter

# Fewer bytes than this are not worth a task of their own.
_TASK_BYTES = 32 << 20
_MOST_TASKS = 10_000
# A byte of files that must be merged row by row, in bytes of files read as they are.
_MERGING_COSTS = 16


class PaimarkSource(DataSource):
    """`option("scan", ...)` carries a whole `Scan`, for callers that have resolved it themselves."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        # Spark makes one in a worker of its own for every table of a statement.
        settle()

    @classmethod
    def name(cls) -> str:
        return "paimark"

    def schema(self) -> StructType:
        from core.spark.paimon import open_table
        from core.spark.types import spark_schema

        columns = spark_schema(open_table(self._scan()).fields)
        if not self._with_kinds():
            return columns
        from core.spark.streaming.reader import KIND_FIELD

        return StructType([KIND_FIELD, *columns.fields])

    def reader(self, schema: StructType) -> PaimarkReader:
        if self._with_kinds():
            raise UsageError("read.changelog is for streams: rows at rest have no kind", "Leave it out.")
        return PaimarkReader(self._scan(), schema)

    def streamReader(self, schema: StructType) -> PaimarkStreamReader:
        from core.spark.streaming.reader import PaimarkStreamReader

        return PaimarkStreamReader(self.options, schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> PaimarkStreamWriter:
        from core.spark.streaming.writer import stream_writer

        return stream_writer(self.options, schema.fieldNames(), overwrite)

    def writer(self, schema: StructType, overwrite: bool) -> PaimarkWriter:
        from core.spark.write import writer

        return writer(self.options, schema.fieldNames(), overwrite)

    def _with_kinds(self) -> bool:
        options: Mapping[str, str] = self.options
        return options.get("read.changelog", "").lower() == "true"

    def _scan(self) -> Scan:
        options: Mapping[str, str] = self.options
        return Scan.from_text(options["scan"]) if "scan" in options else _looked_up(options)


class Part(InputPartition):
    """The splits that one task reads."""

    def __init__(self, splits: list[Any]) -> None:
        self.splits = splits


class PaimarkReader(DataSourceReader):
    def __init__(self, scan: Scan, schema: StructType) -> None:
        self.scan = scan
        self.spark_schema = schema
        self.conditions: list[Condition] = []

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        from core.spark.filters import conditions
        from core.spark.paimon import condition_columns, open_table

        if self.scan.filters:
            self.conditions = conditions(filters, condition_columns(open_table(self.scan)))
        # All go back: what pypaimon is told only spares reading, Spark decides.
        return filters

    @hints_told()
    def partitions(self) -> list[InputPartition]:
        from core.spark.paimon import plan_splits

        parts: list[InputPartition] = [
            Part(group) for group in grouped(plan_splits(self.scan, self.conditions))
        ]
        settle()
        return parts

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        from core.spark.paimon import read_splits
        from core.spark.types import as_spark_reads

        if not isinstance(partition, Part):
            return
        schema = to_arrow_schema(self.spark_schema)
        for batch in read_splits(self.scan, self.conditions, partition.splits):
            yield as_spark_reads(batch, schema)


def grouped(splits: list[Any]) -> list[list[Any]]:
    """Neighbours together until they are worth a task."""
    sizes = [
        sum(file.file_size for file in split.files) * (1 if split.raw_convertible else _MERGING_COSTS)
        for split in splits
    ]
    enough = max(_TASK_BYTES, sum(sizes) // _MOST_TASKS)
    groups: list[list[Any]] = []
    filled = enough
    for split, size in zip(splits, sizes, strict=True):
        if filled + size > enough:
            groups.append([])
            filled = 0
        groups[-1].append(split)
        filled += size
    return groups


def _looked_up(options: Mapping[str, str]) -> Scan:
    from core.spark.scan import Warehouse, make_scan
    from core.storage.open import open_files
    from core.table.catalog import find_table
    from core.table.layout import MAIN
    from core.table.lineage import Lineage
    from core.table.main_branch import branch_root
    from core.travel.version import resolve_version

    if "warehouse" not in options or "table" not in options:
        raise UsageError("The paimark source needs the options warehouse and table", "table is `db.t`.")
    own = catalog_options(options)
    files = open_files(options["warehouse"], own)
    root = branch_root(files, find_table(files, options["table"]), options.get("branch"))
    version = options.get("version")
    snapshot = resolve_version(files, root, version).snapshot if version else Lineage(files, root).latest()
    warehouse = Warehouse(files, options["warehouse"], own)
    is_alone = options.get("branch") == MAIN
    return make_scan(warehouse, root, snapshot, pinned=version is not None, is_alone=is_alone)

"""The Python Data Source `paimark`: reads a Paimon table through pypaimon, at exactly the snapshot given.

    import paimark

    spark.dataSource.register(paimark.PaimarkSource)
    spark.read.format("paimark").option("warehouse", uri).option("table", "db.t").load()

Options: `warehouse`, `table`, and if wanted `branch` and the state to read: one of `version` (as after
VERSION AS OF), Spark's `versionAsOf` and `timestampAsOf` (with a time zone), and Paimon's `scan.version`,
`scan.tag-name`, `scan.watermark`, `scan.snapshot-id`, `scan.timestamp` and `scan.timestamp-millis`. The last
three, by which streams begin as well, read the rows of then in the columns of now. All others are options of
stores (`s3.endpoint`), or refused.

Runs in Spark's Python workers, so pypaimon is imported only where it is used. Writing is in
`core.spark.writing.write`, `readStream` and `writeStream` with their options in `core.spark.streaming`, its
modules `reader` and `writer`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from core.errors import UsageError, hints_told
from core.spark.datasource.options import (
    READ,
    READ_ANY,
    STATES,
    WRITE,
    WRITE_STREAM,
    catalog_options,
    require_known,
)
from core.spark.datasource.scan import Scan
from core.spark.datasource.worker_imports import settle

if TYPE_CHECKING:
    import pyarrow as pa

    from core.spark.datasource.conditions import Condition
    from core.spark.streaming.reader import PaimarkStreamReader
    from core.spark.streaming.writer import PaimarkStreamWriter
    from core.spark.writing.write import PaimarkWriter

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

    @hints_told()
    def schema(self) -> StructType:
        from core.spark.datasource.types import spark_columns

        require_known(self.options, READ_ANY)
        columns = spark_columns(self._scan(is_for_rows=False))
        if not self._with_kinds():
            return columns
        from core.spark.streaming.reader import KIND_FIELD

        return StructType([KIND_FIELD, *columns.fields])

    @hints_told()
    def reader(self, schema: StructType) -> PaimarkReader:
        if self._with_kinds():
            raise UsageError("read.changelog is for streams: rows at rest have no kind", "Leave it out.")
        require_known(self.options, READ)
        return PaimarkReader(self._scan(is_for_rows=True), schema)

    @hints_told()
    def streamReader(self, schema: StructType) -> PaimarkStreamReader:
        from core.spark.streaming.reader import PaimarkStreamReader

        return PaimarkStreamReader(self.options, schema)

    @hints_told()
    def streamWriter(self, schema: StructType, overwrite: bool) -> PaimarkStreamWriter:
        from core.spark.streaming.writer import stream_writer

        require_known(self.options, WRITE_STREAM)
        return stream_writer(self.options, schema.fieldNames(), overwrite)

    @hints_told()
    def writer(self, schema: StructType, overwrite: bool) -> PaimarkWriter:
        from core.spark.writing.write import writer

        require_known(self.options, WRITE)
        return writer(self.options, schema.fieldNames(), overwrite)

    def _with_kinds(self) -> bool:
        options: Mapping[str, str] = self.options
        return options.get("read.changelog", "").lower() == "true"

    def _scan(self, *, is_for_rows: bool) -> Scan:
        options: Mapping[str, str] = self.options
        if "scan" in options:
            return Scan.from_text(options["scan"])
        return _looked_up(options, is_for_rows=is_for_rows)


class Part(InputPartition):
    """The splits that one task reads."""

    def __init__(self, splits: list[Any]) -> None:
        self.splits = splits


class PaimarkReader(DataSourceReader):
    def __init__(self, scan: Scan, schema: StructType) -> None:
        self.scan = scan
        self.spark_schema = schema
        self.conditions: list[Condition] = []

    @property
    def pushFilters(self) -> _Pushing:
        return _Pushing(self)

    def push(self, filters: list[Filter]) -> None:
        """Note what pypaimon can be told of them."""
        from core.spark.datasource.filters import conditions
        from core.spark.datasource.paimon import condition_columns, open_table

        if self.scan.filters:
            self.conditions = conditions(filters, condition_columns(open_table(self.scan)))

    @hints_told()
    def partitions(self) -> list[InputPartition]:
        from core.spark.datasource.paimon import plan_splits

        parts: list[InputPartition] = [
            Part(group) for group in grouped(plan_splits(self.scan, self.conditions))
        ]
        settle()
        return parts

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        from core.spark.arrow import fit_batch
        from core.spark.datasource.paimon import read_splits

        if not isinstance(partition, Part):
            return
        schema = to_arrow_schema(self.spark_schema)
        for batch in read_splits(self.scan, self.conditions, partition.splits):
            yield fit_batch(batch, schema)


class _Pushing:
    """`pushFilters` of a reader.

    Where filters are not pushed, as in any Spark that nobody has set up, a reader with such a method of its
    own is an error to Spark. It looks for that by this attribute; where they are pushed it just calls.
    """

    __func__ = staticmethod(DataSourceReader.pushFilters)

    def __init__(self, reader: PaimarkReader) -> None:
        self._reader = reader

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        self._reader.push(filters)
        # All go back: what pypaimon is told only spares reading, Spark decides.
        return filters


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


def _looked_up(options: Mapping[str, str], *, is_for_rows: bool) -> Scan:
    """What the options name. Only its columns count where it is not for the rows.

    Where a stream may begin so, they are those that the table has now: its schema is asked for in the same
    words, and what it begins with may be gone or be still to come.
    """
    from core.spark.datasource.asked_state import asked_by, asked_state
    from core.spark.datasource.scan import Warehouse, make_scan
    from core.storage.open import open_files
    from core.table.catalog import find_table
    from core.table.lineage.main_branch import branch_root

    if "warehouse" not in options or "table" not in options:
        raise UsageError("The paimark source needs the options warehouse and table", "table is `db.t`.")
    own = catalog_options(options)
    files = open_files(options["warehouse"], own)
    root = branch_root(files, find_table(files, options["table"]), options.get("branch"))
    is_pinned = any(name in options for name in STATES)
    state = asked_state(files, root, options) if is_pinned or is_for_rows else None
    return make_scan(
        Warehouse(files, options["warehouse"], own),
        root,
        state.snapshot if state is not None else None,
        pinned=is_pinned,
        asked=asked_by(options),
    )

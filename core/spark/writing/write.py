"""The writing half of the Python Data Source `paimark`: it writes rows to a table as one atomic commit.

    rows = clustered(frame, warehouse=uri, table="db.t")
    rows.write.format("paimark").mode("append").option("warehouse", uri).option("table", "db.t").save()

Options: `warehouse`, `table`, and optionally `branch`; all others are catalog options. Without a branch the
rows go to the root that is main. Mode `overwrite` replaces the whole table; with the option
`partitionOverwriteMode` = `dynamic` only the partitions that rows come for. Columns are matched by name. Each
bucket of a primary-key table must be written by one task, which `clustered` ensures. If the table has the
option `rowkind.field`, that column tells which rows delete (`-D`).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from paimark.core.errors import UsageError, hints_in_messages
from paimark.core.quoting import quoted
from paimark.core.spark.datasource.options import catalog_options
from paimark.core.spark.datasource.scan import WarehouseAccess
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.storage.open import open_files
from paimark.core.table.catalog import find_table
from paimark.core.table.layout import MAIN
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.records import COMMIT_USER

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


class TaskMessage(WriterCommitMessage):
    """pypaimon's commit messages of one task."""

    def __init__(self, messages: list[Any]) -> None:
        self.messages = messages


class PaimarkWriter(DataSourceArrowWriter):
    """It is made where the statement is planned; then each task writes, and one process commits."""

    def __init__(self, target: WriteTarget) -> None:
        self.target = target

    @hints_in_messages()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskMessage:
        from paimark.core.spark.writing.row_files import write_rows

        return TaskMessage(write_rows(self.target, iterator))

    @hints_in_messages()
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        from paimark.core.spark.writing.row_files import commit_rows

        commit_rows(self.target, [each.messages for each in messages if isinstance(each, TaskMessage)])

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        delete_uncommitted(self.target, messages)


def delete_uncommitted(target: WriteTarget, messages: list[WriterCommitMessage | None]) -> None:
    """Delete the tasks' files if no commit was tried.

    Spark also calls this after a failed commit, which may have landed all the same. No commit was tried only
    if a task returned no message.
    """
    if all(each is not None for each in messages):
        return
    from paimark.core.spark.writing.row_files import delete_rows

    delete_rows(target, [each.messages for each in messages if isinstance(each, TaskMessage)])


def writer(options: Mapping[str, str], columns: StructType, overwrite: bool) -> PaimarkWriter:
    """Make the writer for the options. Raises `Refused` for columns that the table does not have."""
    from paimark.core.spark.writing.row_files import check_columns

    target_text = options.get("target")
    target = WriteTarget.from_text(target_text) if target_text else find_target(options, overwrite)
    check_columns(target, columns)
    return PaimarkWriter(target)


def clustered(frame: DataFrame, *, warehouse: str, table: str, **options: str) -> DataFrame:
    """The same rows, with each bucket's in one partition of the frame; `options` as for writing."""
    return clustered_for(frame, find_target({**options, "warehouse": warehouse, "table": table}, False))


def clustered_for(frame: DataFrame, target: WriteTarget) -> DataFrame:
    """Like `clustered`. Raises `Refused` for a kind of table that can't be written."""
    from pypaimon.table.bucket_mode import BucketMode
    from pyspark.sql.types import IntegerType, StructField, StructType

    from paimark.core.spark.writing.row_files import BUCKET_COLUMN, open_target

    table = open_target(target)
    mode, partition = table.bucket_mode(), [quoted(name) for name in table.partition_keys]
    if mode == BucketMode.HASH_FIXED:
        names = frame.columns
        schema = StructType([*frame.schema.fields, StructField(BUCKET_COLUMN, IntegerType())])
        # PySpark would parse the names of a frame's columns as expressions there.
        plain = frame.toDF(*(f"c{index}" for index in range(len(names))))
        numbered = plain.mapInArrow(partial(_with_buckets, target.to_text(), names), schema)
        return numbered.repartition(*partition, BUCKET_COLUMN)
    if mode == BucketMode.HASH_DYNAMIC:
        # Each partition's index, which assigns buckets, may have only one writer.
        return frame.repartition(*partition) if partition else frame.repartition(1)
    return frame


def _with_buckets(
    target: str, names: list[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    from paimark.core.spark.writing.row_files import buckets_of

    with hints_in_messages():
        yield from buckets_of(
            WriteTarget.from_text(target), (batch.rename_columns(names) for batch in batches)
        )


def find_target(options: Mapping[str, str], overwrite: bool) -> WriteTarget:
    """The target that the options name, with its newest schema. Raises `UsageError` and `NotFound`."""
    own = catalog_options(options)
    files = open_files(options["warehouse"], own)
    branch = options.get("branch")
    root = branch_root(files, find_table(files, options["table"]), branch)
    lineage = Lineage(files, root)
    mode = options.get("partitionOverwriteMode", "static").lower()
    if mode not in ("static", "dynamic"):
        raise UsageError(f"partitionOverwriteMode is static or dynamic, not {mode}")
    return WriteTarget(
        *WarehouseAccess(files, options["warehouse"], own).address(root),
        lineage.require_schema().to_json().decode(),
        follows_main=branch is None or branch == MAIN,
        commit_user=f"{COMMIT_USER}{uuid.uuid4()}",
        known=lineage.latest_id() or 0,
        overwrite=overwrite,
        dynamic=mode == "dynamic",
        operation="overwrite" if overwrite else "write",
    )

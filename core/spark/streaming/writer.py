"""The streaming half of the Python Data Source `paimark`, writing: `rows.writeStream.format("paimark")`.

    spark.dataSource.register(PaimarkSource)
    query = (
        rows.writeStream.format("paimark").option("warehouse", uri).option("table", "db.t")
        .option("checkpointLocation", directory).start()
    )

Every micro-batch is one commit, and every row is in the table exactly once, however often the query is killed
and restarted on its checkpoint. Rows of a table with keys are upserts; if a key occurs twice in a batch, the
later row counts, or that of the higher task. If the table has the option `rowkind.field`, that column tells
which rows delete (`-D`).

Options besides those of `paimark.core.spark.writing.write`: `checkpointLocation`, given here and not in
Spark's settings, because the query's id is read from it, and each batch's event-time watermark, which the
snapshot gets unless the one before has a later one. If this process can't read it: `query-id`, a name that no
other query has; then there is no watermark. Without `branch` each batch goes to the root that is main then.
The output mode is `append`; write aggregates that change with `foreachBatch`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from paimark.core.errors import Corrupt, PaimarkError, Refused, UsageError, hints_in_messages
from paimark.core.spark.datasource.options import catalog_options
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.spark.writing.write import TaskMessage, delete_uncommitted, find_target
from paimark.core.storage.files import read_if_there
from paimark.core.storage.open import open_files
from paimark.core.table.operations import STREAM
from paimark.core.table.records import STREAM_USER

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_QUERY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# The most rows of a task in a batch: the sequence numbers of neighbouring tasks are so far apart.
_MOST_ROWS = 1 << 26


class StreamTaskMessage(TaskMessage):
    """The files that a task wrote, the target that it wrote for, and Spark's id of this run of the query."""

    def __init__(self, target: str, messages: list[Any], run: str) -> None:
        super().__init__(messages)
        self.target = target
        self.run = run


class PaimarkStreamWriter(DataSourceStreamArrowWriter):
    """A new one is made for each micro-batch, and another for its commit."""

    def __init__(self, target: WriteTarget, checkpoint: str | None = None) -> None:
        self.target = target
        self.checkpoint = checkpoint

    @hints_in_messages()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> StreamTaskMessage:
        from pyspark import TaskContext

        from paimark.core.spark.writing.row_files import write_rows

        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        behind = task * _MOST_ROWS if self.target.table_schema.primary_keys else 0
        # A query's jobs are a group that has the name of its run; only tasks are told.
        run = (context.getLocalProperty("spark.jobGroup.id") if context is not None else None) or ""
        written = write_rows(self.target, _counted(iterator), behind)
        return StreamTaskMessage(self.target.to_text(), written, run)

    @hints_in_messages()
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        from paimark.core.spark.streaming.batch_commit import commit_batch

        from_tasks = [each for each in messages if isinstance(each, StreamTaskMessage)]
        by_task = [(WriteTarget.from_text(each.target), each.messages) for each in from_tasks]
        run = max((each.run for each in from_tasks), default="")
        commit_batch(self.target, batchId, by_task, self._offsets(batchId), run)

    def _offsets(self, batch: int) -> bytes:
        """The offsets file that Spark wrote before the batch, read from the checkpoint; empty without it."""
        if self.checkpoint is None:
            return b""
        files = open_files(self.checkpoint, self.target.options)
        return read_if_there(files, f"offsets/{batch}") or b""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        delete_uncommitted(self.target, messages)


@hints_in_messages()
def stream_writer(options: Mapping[str, str], columns: StructType, overwrite: bool) -> PaimarkStreamWriter:
    """Make the writer for the options. Raises `UsageError` and `Refused` for rows that can't be written."""
    from paimark.core.spark.writing.row_files import check_columns

    if overwrite:
        raise UsageError(
            "A stream can't be written in the output mode complete: each batch would replace the table",
            "Use outputMode append, or foreachBatch with a batch write.",
        )
    target = msgspec.structs.replace(
        find_target(options, False), commit_user=f"{STREAM_USER}{_query_id(options)}", operation=STREAM
    )
    check_columns(target, columns)
    return PaimarkStreamWriter(
        target, options.get("checkpointLocation") if "query-id" not in options else None
    )


def _query_id(options: Mapping[str, str]) -> str:
    """The query's id, which restarts do not change. Raises `UsageError`."""
    if (query_id := options.get("query-id")) is not None:
        if not _QUERY.fullmatch(query_id):
            raise UsageError(f"query-id is letters, digits, '.', '_' and '-', not {query_id!r}")
        return query_id
    location = options.get("checkpointLocation")
    if not location:
        raise UsageError(
            "A stream is written once only with a checkpoint of its own: checkpointLocation is missing",
            'Give it here, not in Spark\'s settings: .option("checkpointLocation", directory).',
        )
    try:
        data = open_files(location, catalog_options(options)).read("metadata")
        query_id = msgspec.json.decode(data, type=dict[str, str])["id"]
    except (PaimarkError, msgspec.DecodeError, KeyError) as error:
        raise UsageError(
            f"The query's id can't be read from the checkpoint {location} ({error})",
            "Give the option query-id: a name that no other query has.",
        ) from error
    if not _QUERY.fullmatch(query_id):
        raise Corrupt(f"The checkpoint {location} gives the query the id {query_id!r}")
    return query_id


def _counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        if rows > _MOST_ROWS:
            raise Refused(
                f"A task has more than {_MOST_ROWS} rows of one micro-batch",
                "Take in less at a time, or repartition the rows.",
            )
        yield batch

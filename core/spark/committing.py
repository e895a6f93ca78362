"""pypaimon's side of a write: a task's files, and the one commit of all of them."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pypaimon.common.json_util import JSON
from pypaimon.common.predicate_builder import PredicateBuilder
from pypaimon.snapshot.snapshot import BATCH_COMMIT_IDENTIFIER
from pypaimon.snapshot.snapshot_commit import SnapshotCommit
from pypaimon.table.bucket_mode import BucketMode
from pypaimon.write.file_store_commit import FileStoreCommit
from pypaimon.write.table_write import BatchTableWrite

from core.errors import Refused
from core.spark.after_commit import after_commit
from core.spark.paimon import open_table
from core.spark.scan import Scan
from core.spark.target import Target, require_as_begun, require_head
from core.storage.files import Files
from core.storage.open import open_files
from core.table.layout import Root
from core.table.lineage import Lineage
from core.table.links import require_no_links
from core.table.records import Snapshot

BUCKET_COLUMN = "__paimark_bucket"
# pypaimon's own 10 tries end within seconds beside a job that commits all the time, and the rows are written.
_RETRIES, _MOST_WAIT_MS = 100, 1000


def open_target(target: Target) -> Any:
    """pypaimon's table to write to. Touches no storage."""
    scan = Scan(
        warehouse=target.warehouse,
        options=target.options,
        database=target.database,
        table=target.table,
        branch=target.branch,
        snapshot="",
        schema=target.schema,
    )
    table = open_table(scan)
    # What it reads of itself to write (sequence numbers, bucket indexes) is the newest snapshot's.
    del table._read_snapshot
    return table.copy_without_time_travel({"dynamic-partition-overwrite": str(target.dynamic).lower()})


def write_rows(target: Target, batches: Iterable[pa.RecordBatch], behind: int = 0) -> list[Any]:
    """Write one task's rows to files that no snapshot names yet; pypaimon's messages about them.

    Rows of one key count by their order in the task, and by their task where `behind`, a distance of
    sequence numbers, differs from task to task. What was written is deleted again when anything fails.
    """
    files, table = open_files(target.warehouse, target.options), open_target(target)
    require_no_links(files, target.root.table)
    writer = BatchTableWrite(table, target.commit_user, {} if target.overwrite else None)
    if behind:
        known = writer.file_store_write._load_seq_number_stats
        writer.file_store_write._load_seq_number_stats = lambda partition: _Behind(known(partition), behind)
    try:
        for batch in batches:
            taken = _as_table_takes(batch, writer.table_pyarrow_schema)
            if taken.num_rows:
                writer.write_arrow_batch(taken)
        messages: list[Any] = writer.prepare_commit()
    except BaseException:
        writer.abort()
        raise
    finally:
        writer.close()
    paths = [str(file.file_path) for message in messages for file in message.new_files]
    try:
        require_no_links(files, target.root.table, paths)
    except Refused:
        delete_rows(target, [messages])
        raise
    return messages


def buckets_of(target: Target, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches with a further column that says which bucket each row belongs to."""
    table = open_target(target)
    extractor = table.create_row_key_extractor()
    arrow = {field.name: field for field in _arrow_schema(table)}
    for batch in batches:
        typed = _as_table_takes(batch, pa.schema([arrow[name] for name in batch.schema.names]))
        buckets = pa.array(extractor.extract_partition_bucket_batch(typed)[1], pa.int32())
        yield batch.append_column(pa.field(BUCKET_COLUMN, pa.int32()), buckets)


def commit_rows(target: Target, by_task: Sequence[Sequence[Any]]) -> None:
    """One commit of all that the tasks wrote, or none; and what follows a commit.

    Raises `Refused` when main, the table's definition or, where that was asked for, its newest snapshot is
    not what it was, or when others commit all the time; the files stay then, for orphan cleaning, as after a
    commit whose fate is not known.
    """
    files = open_files(target.warehouse, target.options)
    table = open_target(target)
    if table.is_primary_key_table and table.bucket_mode() != BucketMode.POSTPONE_MODE:
        try:
            _require_one_task_a_bucket(target, by_task)
        except Refused:
            delete_rows(target, by_task)
            raise
    messages = [message for task in by_task for message in task if not message.is_empty()]
    require_as_begun(files, target)
    commit = Commit(files, target, table)
    try:
        if target.overwrite:
            commit.overwrite({}, messages, BATCH_COMMIT_IDENTIFIER)
        else:
            commit.commit(messages, BATCH_COMMIT_IDENTIFIER)
    except RuntimeError as error:
        if error.__cause__ or "commit conflicts" not in str(error):
            raise
        raise Refused(
            f"Others committed to {target.database}.{target.table} each time that this write tried to",
            "Nothing has changed. Run it again, or raise the table's option commit.max-retries.",
        ) from error
    after_commit(target)


def delete_rows(target: Target, by_task: Iterable[Sequence[Any]]) -> None:
    """Delete files of a write whose commit was never tried."""
    files = open_files(target.warehouse, target.options)
    commit = Commit(files, target, open_target(target))
    commit.abort([message for task in by_task for message in task])


class _Behind(dict[int, int]):
    """The last sequence number of each bucket, moved."""

    def __init__(self, known: Mapping[int, int], distance: int) -> None:
        super().__init__(known)
        self._distance = distance

    def get(self, bucket: int, default: int = -1) -> int:  # type: ignore[override]  # all that is asked
        return super().get(bucket, default) + self._distance


class Commit(FileStoreCommit):  # type: ignore[misc]  # pypaimon has no types
    """pypaimon's commit, on our store and on the state that the rows were made for."""

    def __init__(
        self, files: Files, target: Target, table: Any, create: CreateSnapshot | None = None
    ) -> None:
        super().__init__(create or CreateSnapshot(files, target.root), table, target.commit_user)
        self._files = files
        self._target = target
        if "commit.max-retries" not in table.table_schema.options:
            self.commit_max_retries = _RETRIES
        if "commit.max-retry-wait" not in table.table_schema.options:
            self.commit_max_retry_wait = _MOST_WAIT_MS

    def _try_commit_once(self, *args: Any, latest_snapshot: Any, **rest: Any) -> Any:
        # Here and not before: a commit that others were faster than is tried again on theirs.
        require_as_begun(self._files, self._target)
        require_head(self._target, _record(latest_snapshot))
        return super()._try_commit_once(*args, latest_snapshot=latest_snapshot, **rest)

    def _create_static_partition_filter(self, overwrite_partition: Any, commit_messages: Any) -> Any:
        if self._target.partitions is None:
            return super()._create_static_partition_filter(overwrite_partition, commit_messages)
        partitions = _partitions(self._target.partitions)
        builder = PredicateBuilder(self.table.partition_keys_fields)
        replaced = builder.or_predicates([_is_partition(builder, each) for each in partitions])
        # An overwrite may name some of the columns only: all partitions with these values.
        named = [self.table.partition_keys.index(name) for name in partitions[0]]
        wanted = {tuple(each.values()) for each in partitions}
        given = {tuple(message.partition[place] for place in named) for message in commit_messages}
        if strays := given - wanted:
            raise Refused(f"Rows came for partitions that are not replaced: {sorted(map(str, strays))[:3]}")
        return replaced


class CreateSnapshot(SnapshotCommit):  # type: ignore[misc]  # as above
    """A snapshot's file is created whole or not at all, and by one of many: what the store promises."""

    def __init__(self, files: Files, root: Root) -> None:
        self._files = files
        self._root = root

    def commit(self, base_snapshot_uuid: Any, snapshot: Any, statistics: Any) -> bool:
        path = self._root.snapshot(snapshot.id)
        if self._newest_id() >= snapshot.id or not self._files.create(
            path, JSON.to_json(snapshot, indent=2).encode()
        ):
            return False
        if self._is_of_the_past(snapshot):
            self._files.delete(path)
            return False
        # A hint; readers find the snapshot without it.
        self._files.replace(self._root.latest_hint, str(snapshot.id).encode())
        return True

    def _is_of_the_past(self, snapshot: Any) -> bool:
        """Whether there has been another of this id: it expired while this process stood still.

        The oldest expire first, so there was none while the one before is there.
        """
        neighbours = (snapshot.id - 1, snapshot.id + 1)
        if snapshot.id == 1 or any(self._files.exists(self._root.snapshot(each)) for each in neighbours):
            return False
        return bool(self._newest_id() > snapshot.id)

    def _newest_id(self) -> int:
        return Lineage(self._files, self._root).latest_id() or 0

    def close(self) -> None:
        return

    def __enter__(self) -> CreateSnapshot:
        return self

    def __exit__(self, *_: object) -> None:
        return


def _record(snapshot: Any) -> Snapshot | None:
    return None if snapshot is None else Snapshot.from_json(JSON.to_json(snapshot).encode(), "a snapshot")


def _arrow_schema(table: Any) -> pa.Schema:
    from pypaimon.schema.data_types import PyarrowFieldParser

    return PyarrowFieldParser.from_paimon_schema(table.table_schema.fields)


def _as_table_takes(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns in the table's order and types, others left out; one that is not given is null.

    Raises `Refused` for a value that would have to be rounded or cut.
    """
    have = {name: index for index, name in enumerate(batch.schema.names)}
    columns = []
    for field in schema:
        if field.name in have:
            column = batch.column(have[field.name])
            try:
                column = column if column.type == field.type else column.cast(field.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise Refused(f"Column {field.name} holds what {field.type} can't: {error}") from error
        else:
            column = pa.nulls(batch.num_rows, field.type)
        if not field.nullable and column.null_count:
            raise Refused(f"Column {field.name} may not be null", "Give every row a value.")
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _require_one_task_a_bucket(target: Target, by_task: Sequence[Sequence[Any]]) -> None:
    """Two tasks number their rows alike: of one key in both, nothing would say which is newer."""
    seen: set[tuple[object, ...]] = set()
    for messages in by_task:
        own = {(tuple(message.partition), message.bucket) for message in messages if message.new_files}
        if seen & own:
            raise Refused(
                f"Two tasks wrote to one bucket of {target.database}.{target.table}, whose rows have keys: "
                "give the rows to core.spark.write.clustered first"
            )
        seen |= own


def encode_partitions(partitions: pa.Table) -> str:
    """The distinct rows of partition columns, for `Target.partitions`."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, partitions.schema) as stream:
        stream.write_table(partitions)
    return base64.b64encode(sink.getvalue()).decode()


def _partitions(text: str) -> list[dict[str, Any]]:
    with pa.ipc.open_stream(base64.b64decode(text)) as stream:
        rows: list[dict[str, Any]] = stream.read_all().to_pylist()
    return rows


def _is_partition(builder: Any, values: dict[str, Any]) -> Any:
    return builder.and_predicates(
        [
            builder.is_null(name) if value is None else builder.equal(name, value)
            for name, value in values.items()
        ]
    )


def check_columns(target: Target, given: Collection[str]) -> None:
    """The rows' columns are the table's, by name; what may be null can be left out. Raises `Refused`."""
    name = f"{target.database}.{target.table}"
    fields = {field.name: field for field in _arrow_schema(open_target(target))}
    if unknown := [each for each in given if each not in fields and each != BUCKET_COLUMN]:
        raise Refused(f"{name} has no column {unknown[0]}", f"It has {', '.join(fields)}.")
    missing = [each for each, field in fields.items() if each not in given and not field.nullable]
    if missing:
        raise Refused(f"The rows lack column {missing[0]}, which may not be null", "Add it.")

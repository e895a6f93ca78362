"""Commit a batch of a streaming write by pypaimon, exactly once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
from pypaimon.common.json_util import JSON
from pypaimon.table.bucket_mode import BucketMode
from pypaimon.write.file_store_commit import SuccessResult

from paimark.core.errors import NotFound, Refused
from paimark.core.spark.streaming import commit_attempts
from paimark.core.spark.streaming.offsets import mark_of
from paimark.core.spark.writing.after_commit import after_commit
from paimark.core.spark.writing.commit import Commit, CreateSnapshot
from paimark.core.spark.writing.row_files import delete_rows, deleted_unless_committed, open_target, overlap
from paimark.core.spark.writing.stream_log import StreamLog, run_token
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.storage.files import Files
from paimark.core.storage.open import open_files
from paimark.core.table.lineage.commits import Overwritten
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import Snapshot, TableSchema, query_of

_LAYOUT_OPTIONS = ("bucket", "bucket-key", "bucket-function.type", "data-file.path-directory")


def commit_batch(
    target: WriteTarget,
    batch: int,
    by_task: Sequence[tuple[WriteTarget, Sequence[Any]]],
    offsets: bytes = b"",
    run: str = "",
) -> None:
    """Commit the tasks' files as this batch of the query of `target.commit_user`, unless it landed before.

    `target` is the present root of main, or of the branch; each task has the target that it wrote for.
    `offsets` is the content of Spark's file about the batch, empty if unknown: its watermark becomes the
    snapshot's, unless the one before has a later one. `run` tells this run of the query from others. Raises
    `Refused` if the files do not fit any more; then they are deleted.
    """
    files = open_files(target.warehouse, target.options)
    task_messages = [messages for _, messages in by_task]
    messages = [message for task in task_messages for message in task if not message.is_empty()]
    if not messages:
        return
    table, query = target.root.table, query_of(target.commit_user)
    commit_attempts.require_last_batch(files, table, query, batch)
    # In this order: the commit itself finds a batch that lands after this read of the latest id.
    newest_id = Lineage(files, target.root).latest_id() or 0
    planned = hashlib.sha256(offsets).hexdigest() if offsets else None
    try:
        has_landed = commit_attempts.has_landed(files, table, query, batch, planned)
    except Refused:
        delete_rows(target, task_messages)
        raise
    if has_landed:
        delete_rows(target, task_messages)
        return
    attempt = partial(
        commit_attempts.Attempt,
        query=query,
        batch=batch,
        branch=target.root.branch,
        file=_relative(files, messages),
        planned=planned,
        operation=run_token(target, run),
    )
    before_it = partial(commit_attempts.newest_operation, files, table, query)
    log = StreamLog(files, target, run, batch, before_it)
    create = _RecordingSnapshot(files, target, attempt, watermark_in(offsets), log)
    commit = _BatchCommit(files, target, batch, newest_id, create)
    # The earliest snapshot from which a task read the buckets' indexes.
    commit.known = min(task_target.known for task_target, _ in by_task)
    with deleted_unless_committed(commit, target, task_messages):
        for task_target, task in by_task:
            if task:
                _require_fitting(files, target, task_target)
        if commit.table.bucket_mode() == BucketMode.HASH_DYNAMIC:
            _require_one_task_a_partition(target, task_messages)
        commit.commit(messages, batch)
    after_commit(target)


class _BatchCommit(Commit):
    def __init__(
        self, files: Files, target: WriteTarget, batch: int, newest_id: int, create: CreateSnapshot
    ) -> None:
        super().__init__(files, target, open_target(target), create)
        self._query, self._batch = query_of(target.commit_user), batch
        self._searched_up_to = newest_id
        self._lineage = Lineage(files, target.root)

    def _try_commit_once(self, *args: Any, latest_snapshot: Any, **rest: Any) -> Any:
        """Look for a commit of this batch by another process of this query that was thought dead.

        A commit that lands after this check takes the id of this one, which then fails.
        """
        newest = latest_snapshot.id if latest_snapshot else 0
        for snapshot_id in range(self._searched_up_to + 1, newest + 1):
            snapshot = self._lineage.snapshot(snapshot_id)
            if commit_attempts.is_batch(snapshot, self._query, self._batch):
                return SuccessResult()
        self._searched_up_to = newest
        return super()._try_commit_once(*args, latest_snapshot=latest_snapshot, **rest)


class _RecordingSnapshot(CreateSnapshot):
    """Creates the snapshot's file, and records that in the attempt's file before and after."""

    def __init__(
        self,
        files: Files,
        target: WriteTarget,
        attempt: Callable[..., commit_attempts.Attempt],
        watermark: int | None,
        log: StreamLog,
    ) -> None:
        super().__init__(files, target.root, log=log)
        self._attempt = attempt
        self._watermark = watermark

    def commit(self, base_snapshot_uuid: Any, snapshot: Any, statistics: Any) -> bool:
        # pypaimon copies the watermark of the snapshot before.
        if self._watermark is not None and self._watermark > (snapshot.watermark or 0):
            snapshot.watermark = self._watermark
        new_snapshot = Snapshot.from_json(JSON.to_json(snapshot).encode(), "the new snapshot")
        attempt = self._attempt(
            snapshot=new_snapshot.id, uuid=mark_of(new_snapshot), time=int(time.time() * 1000)
        )
        commit_attempts.begin(self._files, self._root.table, attempt)
        if not super().commit(base_snapshot_uuid, snapshot, statistics):
            if isinstance(self.refused, Overwritten):
                # Keep the attempt: the next one of the batch searches for its files in later snapshots.
                return False
            commit_attempts.discard(self._files, self._root.table, attempt)
            return False
        commit_attempts.mark_landed(self._files, self._root.table, attempt)
        return True


def _require_fitting(files: Files, target: WriteTarget, task_target: WriteTarget) -> None:
    """Raises `Refused` for files that can't be committed to the present root of the target."""
    name, hint = target.name, "Nothing was committed: start the query again."
    now, then = target.table_schema, task_target.table_schema
    if task_target.root != target.root and (now.primary_keys or not _has_schema(files, target, then)):
        # The rows' sequence numbers, which order the rows of a key, continue those of the old root.
        raise Refused(f"Another branch of {name} became main while a batch was written", hint)
    if (now.partition_keys, now.primary_keys) != (then.partition_keys, then.primary_keys) or any(
        now.options.get(option) != then.options.get(option) for option in _LAYOUT_OPTIONS
    ):
        raise Refused(f"{name} is laid out in another way than when a batch was written", hint)
    columns = {field.id: field for field in now.fields}
    if any(columns.get(field.id) != field for field in then.fields):
        raise Refused(f"Columns of {name} changed while a batch was written", hint)


def _has_schema(files: Files, target: WriteTarget, schema: TableSchema) -> bool:
    """Whether the root's schema with the id in the files has the same columns."""
    try:
        return Lineage(files, target.root).schema(schema.id).fields == schema.fields
    except NotFound:
        return False


def _require_one_task_a_partition(target: WriteTarget, by_task: Sequence[Sequence[Any]]) -> None:
    """Raises `Refused` if two tasks wrote to a partition: the index of its buckets has one writer."""
    if overlap({tuple(message.partition) for message in messages} for messages in by_task):
        raise Refused(
            f"Two tasks wrote to one partition of {target.name}, whose buckets are given out by one",
            "Write rows.coalesce(1), or give the table a fixed number of buckets.",
        )


def _relative(files: Files, messages: Sequence[Any]) -> str:
    """The path of a data file of the batch, relative to the warehouse."""
    path = next(str(file.file_path) for message in messages for file in message.new_files)
    _, _, below = path.partition(files.uri.rstrip("/") + "/")
    return below or path


class _BatchMetadata(msgspec.Struct, rename="camel"):
    batch_watermark_ms: int = 0


def watermark_in(offsets: bytes) -> int | None:
    """The event-time watermark in the file that Spark writes before it runs a batch; None without one."""
    _, metadata, *_ = [*offsets.splitlines(), b"", b""]
    try:
        decoded = msgspec.json.decode(metadata, type=_BatchMetadata)
    except msgspec.DecodeError:
        return None
    return decoded.batch_watermark_ms or None

"""Commit a batch of a streaming write, exactly once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from paimark.core.errors import NotFound, PaimarkError, Refused
from paimark.core.spark.library.commit import LibraryCommit
from paimark.core.spark.library.writes import LibraryWrites
from paimark.core.spark.streaming import commit_attempts
from paimark.core.spark.streaming.batch import StreamBatch
from paimark.core.spark.streaming.offsets import mark_of
from paimark.core.spark.writing.publishing import Publisher
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.spark.writing.write_log import StreamLog, run_token
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.commits import Overwritten
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import Snapshot


def commit_batch(writes: LibraryWrites, target: WriteTarget, batch: StreamBatch, write: Any) -> None:
    """Commit the files of `write`, Java's `TableWrite`, as this batch, unless it landed before.

    The watermark in the batch's offsets becomes the snapshot's, unless the one before has a later one. Raises
    `Refused` if main or the table changed meanwhile; then the files are deleted.
    """
    if write.isEmpty():
        return
    files, table, query = writes.files, target.root.table, batch.query
    planned = hashlib.sha256(batch.offsets).hexdigest() if batch.offsets else None
    try:
        commit_attempts.require_last_batch(files, table, query, batch.number)
        # In this order: the commit itself finds a batch that lands after this read of the latest id.
        newest_id = Lineage(files, target.root).latest_id() or 0
        has_landed = commit_attempts.has_landed(files, table, query, batch.number, planned)
    except PaimarkError:
        write.delete()
        raise
    if has_landed:
        write.delete()
        return
    attempt = partial(
        commit_attempts.Attempt,
        query=query,
        batch=batch.number,
        branch=target.root.branch,
        file=_relative(table, str(write.addresses()).split("\n")[0]),
        planned=planned,
        operation=run_token(target, batch.run),
    )
    before_it = partial(commit_attempts.newest_operation, files, table, query)
    log = StreamLog(files, target, batch.run, batch.number, before_it)
    write.ofBatch(batch.number, watermark_in(batch.offsets))
    publisher = _RecordingPublisher(files, target, attempt, log)
    with suppress(_LandedMeanwhile):
        writes.finish(target, write, _BatchCommit(files, target, write, publisher, batch, newest_id))


class _LandedMeanwhile(Exception):
    """Another process of this query, which was thought dead, committed the batch."""


class _BatchCommit(LibraryCommit):
    def __init__(
        self,
        files: Files,
        target: WriteTarget,
        write: Any,
        publisher: Publisher,
        batch: StreamBatch,
        newest_id: int,
    ) -> None:
        super().__init__(files, target, write, publisher)
        self._batch = batch
        self._searched_up_to = newest_id
        self._lineage = Lineage(files, target.root)

    def _require_new(self, latest: Snapshot | None) -> None:
        """A commit that lands after this takes the id of this one, which then fails."""
        newest = latest.id if latest else 0
        for snapshot_id in range(self._searched_up_to + 1, newest + 1):
            try:
                snapshot = self._lineage.snapshot(snapshot_id)
            except NotFound as error:
                raise Refused(
                    f"{error.message} any more, which may have been batch {self._batch.number} of this query",
                    "Start the query again: it looks for what the batch left.",
                ) from error
            if commit_attempts.is_batch(snapshot, self._batch.query, self._batch.number):
                raise _LandedMeanwhile
        self._searched_up_to = newest


class _RecordingPublisher(Publisher):
    """Publishes a snapshot, and records that in the attempt's file before and after."""

    def __init__(
        self,
        files: Files,
        target: WriteTarget,
        attempt: Callable[..., commit_attempts.Attempt],
        log: StreamLog,
    ) -> None:
        super().__init__(files, target.root, log=log)
        self._attempt = attempt

    def publish(self, snapshot_id: int, data: bytes) -> bool:
        attempt = self._of(data)
        commit_attempts.begin(self._files, self._root.table, attempt)
        if super().publish(snapshot_id, data):
            return True
        # The attempt of one that was overwritten stays: the next of the batch searches for its files.
        if not isinstance(self.refused, Overwritten):
            commit_attempts.discard(self._files, self._root.table, attempt)
        return False

    def accept(self, snapshot_id: int, data: bytes) -> bool:
        if not super().accept(snapshot_id, data):
            return False
        commit_attempts.mark_landed(self._files, self._root.table, self._of(data))
        return True

    def _of(self, data: bytes) -> commit_attempts.Attempt:
        snapshot = Snapshot.from_json(data, "the new snapshot")
        return self._attempt(snapshot=snapshot.id, uuid=mark_of(snapshot), time=int(time.time() * 1000))


def _relative(table: TablePath, address: str) -> str:
    """The path of a data file relative to the warehouse; its address if it is elsewhere."""
    _, directory, below = address.partition(f"/{table.directory}/")
    return f"{table.directory}/{below}" if directory else address


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

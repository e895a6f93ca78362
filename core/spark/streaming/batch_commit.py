"""Commit a batch of a streaming write, exactly once."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Self

import msgspec

from paimark.core.errors import Corrupt, NotFound, PaimarkError, Refused, UsageError
from paimark.core.spark.datasource.options import BATCH, RUN, catalog_options
from paimark.core.spark.library.commit import LibraryCommit
from paimark.core.spark.library.writes import LibraryWrites
from paimark.core.spark.streaming import commit_attempts
from paimark.core.spark.streaming.offsets import mark_of
from paimark.core.spark.writing.publishing import Publisher
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.spark.writing.write_log import StreamLog, run_token
from paimark.core.storage.files import Files, read_if_there
from paimark.core.storage.open import open_files
from paimark.core.table.commits import Overwritten
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.operations import STREAM
from paimark.core.table.records import STREAM_USER, Snapshot


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


_QUERY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


# query = ( rows.writeStream.format("paimark").option("warehouse", uri).option("table", "db.t")
# .option("checkpointLocation", directory).start() )
#
# Every micro-batch is one commit, and every row is in the table exactly once, however often the query is
# killed and restarted on its checkpoint. Rows of a table with keys are upserts; if a key occurs twice in a
# batch, a later row of the same task counts.
#
# Options besides those of `paimark.core.spark.source_writer`: `checkpointLocation`, given here and not in
# Spark's settings, because the query's id is read from it, and each batch's event-time watermark, which the
# snapshot gets unless the one before has a later one. If this process can't read it: `query-id`, a name
# that no other query has; then there is no watermark. Without `branch` each batch goes to the root that is
# main then. The output mode is `append`; write aggregates that change with `foreachBatch`.
# `DefaultSource.java` refuses others.
class StreamBatch(msgspec.Struct, frozen=True):
    """The batch `number` of the query with the id `query`; `run` tells this run of the query from others.

    `offsets` is the content of Spark's file about the batch, empty if it is unknown.
    """

    number: int
    query: str
    run: str = ""
    offsets: bytes = b""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self | None:
        """The batch that Java's options name; None if they are of no stream. Raises `UsageError`."""
        if BATCH not in options:
            return None
        number = int(options[BATCH])
        return cls(number, _query_id(options), options.get(RUN, ""), _offsets(options, number))

    def target(self, target: WriteTarget) -> WriteTarget:
        """The target of a batch write as that of this batch."""
        return msgspec.structs.replace(target, commit_user=f"{STREAM_USER}{self.query}", operation=STREAM)


def _offsets(options: Mapping[str, str], batch: int) -> bytes:
    """The offsets file that Spark wrote before the batch, read from the checkpoint."""
    if "query-id" in options:
        return b""
    files = open_files(options["checkpointLocation"], catalog_options(options))
    return read_if_there(files, f"offsets/{batch}") or b""


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

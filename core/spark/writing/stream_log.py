"""The entry of a run of a streaming query in the table's operation log: one for all its batches.

Each batch writes the entry again, with its own snapshot as the last. A run has an entry for each root that it
writes to. Spark tells a data source nothing of a query's end: the next run of the query notes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import msgspec

from paimark.core.spark.writing.late_commit import FileChanges
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.spark.writing.write_log import WriteLog, counts_of, place_of
from paimark.core.storage.files import Files
from paimark.core.table.lineage.edits import Edits
from paimark.core.table.operations import Entry, Operation, StreamRun
from paimark.core.table.records import Snapshot, query_of

_TOKEN_LENGTH = 32


class StreamLog(WriteLog):
    """The entry for the commit of a batch. `before_it` gives the token of the entry of the batch before."""

    def __init__(
        self, files: Files, target: WriteTarget, run: str, batch: int, before_it: Callable[[], str | None]
    ) -> None:
        super().__init__(files, target, run_token(target, run))
        self._run = run
        self._batch = batch
        self._before_it = before_it
        self._earlier: Operation | None = None

    def confirm(self) -> None:
        super().confirm()
        if self._earlier is None:
            self._try(self._end_run_before)

    def _numbered(self, entries: Sequence[Entry]) -> int:
        number = super()._numbered(entries)
        known = [(each.stream.last, each) for each in self._logged(self._token) if each.stream is not None]
        # Spark begins a batch only after the one before has landed, so its entry counts if it is begun only.
        earlier = {last: each for last, each in known if last < self._batch}
        self._earlier = earlier[max(earlier)] if earlier else None
        if self._earlier is not None:
            return self._earlier.number
        # The run began with its first root: what was done since is later than it.
        return next((each.number for each in self._batch_before() if self._is_same_run(each)), number)

    def _made(self, before: Snapshot | None, new: Snapshot, changes: FileChanges) -> Operation:
        made = super()._made(before, new, changes)
        first = self._earlier or made
        rows, before_it = made.turned.rows, first.turned.rows
        assert rows is not None and before_it is not None
        commits = 1 if self._earlier is None else before_it.commits + 1
        added, removed = made.records_added or 0, made.records_removed or 0
        follows_others = False
        if self._earlier is not None:
            follows_others = rows.before != before_it.after
            added, removed = added + (first.records_added or 0), removed + (first.records_removed or 0)
        edit = msgspec.structs.replace(
            before_it,
            after=rows.after,
            commits=commits,
            is_mixed=before_it.is_mixed or follows_others,
        )
        first_batch = self._batch if first.stream is None else first.stream.first
        batches = f"batch {self._batch}"
        if first_batch != self._batch:
            batches = f"batches {first_batch} to {self._batch}"
        query = query_of(self._target.commit_user)
        counts = counts_of(self._target, added, removed)
        where = f"{edit.snapshots} of {place_of(self._target)}"
        return msgspec.structs.replace(
            first,
            summary=f"Stream {query} committed {batches} as {where}: {counts}",
            after=made.after,
            edits=Edits(rows=edit),
            landed=False,
            records_added=added,
            records_removed=removed,
            stream=StreamRun(query, self._run, first_batch, self._batch, made.time),
        )

    def _is_same_run(self, operation: Operation) -> bool:
        return operation.stream is not None and operation.stream.run == self._run

    def _batch_before(self) -> list[Operation]:
        token = self._before_it()
        return [] if token is None else self._logged(token)

    def _end_run_before(self) -> None:
        for ended in self._batch_before():
            is_running = self._is_same_run(ended) or not ended.landed
            if not is_running and ended.stream is not None and not ended.stream.is_over:
                stream = msgspec.structs.replace(ended.stream, is_over=True)
                path = self._table.write_operation(ended.number, ended.token)
                self._files.replace(path, msgspec.structs.replace(ended, stream=stream).to_json())

    def _logged(self, token: str | None) -> list[Operation]:
        """The entries with this token: as the last confirmed batch left it, and one that is begun."""
        paths = [f"{self._table.operations}/{each.name}" for each in self._entries if each.token == token]
        read = zip(paths, self._files.read_many(paths), strict=True)
        return [Operation.from_json(data, path) for path, data in read if data is not None]


def run_token(target: WriteTarget, run: str) -> str:
    """The token of the entry of a run; if Spark does not tell the run, of the query."""
    text = f"{query_of(target.commit_user)}/{run}/{target.root.directory}"
    return hashlib.sha256(text.encode()).hexdigest()[:_TOKEN_LENGTH]

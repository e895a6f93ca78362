"""The entry of a writer's commit in the table's operation log.

It is written right before the commit, with the snapshot that the commit is about to make, and confirmed right
after it. If this process dies in between, `paimark.core.table.operations` asks the snapshots whether the
commit landed. Each path that commits rows for a writer makes a `WriteLog` and hands it to `CreateSnapshot`.
"""

from __future__ import annotations

import hashlib
import logging
import socket
import time
from collections.abc import Callable, Sequence

import msgspec

from paimark.core.figures import counted
from paimark.core.processes import user_name
from paimark.core.redaction import redacted
from paimark.core.spark.writing.late_commit import FileChanges
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.edits import Edits, RowsEdit
from paimark.core.table.operations import (
    KEEP_ROWS,
    Entry,
    Operation,
    StreamRun,
    confirm,
    keep_up,
    log_entries,
    next_number,
)
from paimark.core.table.records import Snapshot, point_of, query_of

_LOG = logging.getLogger(__name__)
# The most characters of a statement that the log keeps.
_MOST_TEXT = 4000


class WriteLog:
    """The entry of one commit to the target. `token` is its own; the commit may take several tries."""

    def __init__(self, files: Files, target: WriteTarget, token: str) -> None:
        self._files = files
        self._target = target
        self._token = token
        self._number = 0
        self._operation: Operation | None = None
        # The log before this commit.
        self._entries: list[Entry] = []

    def begin(self, before: Snapshot | None, new: Snapshot, changes: FileChanges) -> None:
        """Write the entry, before the snapshot `new` is created on `before`. Raises `Unavailable`."""
        if self._operation is None:
            self._entries = log_entries(self._files, self._table)
            self._number = self._numbered(self._entries)
        self._operation = self._made(before, new, changes)
        self._files.replace(self._table.begun_write(self._number, self._token), self._operation.to_json())

    def confirm(self) -> None:
        """Record that the commit landed. It never raises: without this the snapshots tell."""
        if (operation := self._operation) is not None:
            self._try(lambda: confirm(self._files, self._table, operation))
            self._try(lambda: keep_up(self._files, self._table, self._entries, _now()))

    def forget(self) -> None:
        """Remove the entry of a commit that was not made, and never will be. It never raises."""
        if (operation := self._operation) is not None:
            path = self._table.begun_write(operation.number, operation.token)
            self._try(lambda: self._files.delete(path))

    @property
    def _table(self) -> TablePath:
        return self._target.root.table

    def _try(self, deed: Callable[[], None]) -> None:
        try:
            deed()
        except Exception as error:
            _LOG.warning("The operation log of %s: %s", self._target.name, redacted(str(error)))

    def _numbered(self, entries: Sequence[Entry]) -> int:
        """The number of the operation."""
        return next_number(entries)

    def _made(self, before: Snapshot | None, new: Snapshot, changes: FileChanges) -> Operation:
        target, now = self._target, _now()
        assert target.operation is not None
        keeps_rows = target.operation in KEEP_ROWS
        then = None if before is None else point_of(before)
        edit = RowsEdit(
            root=target.root.branch,
            before=then,
            after=point_of(new),
            same_as=then if keeps_rows else None,
            is_write=True,
        )
        label = target.root.label
        counts = target.done or counts_of(target, changes.records_added, changes.records_removed)
        if keeps_rows and not target.done:
            # Its records are the same as before, in other files.
            counts = f"{counted(len(changes.deleted), 'file')} became {len(changes.added)}"
        return Operation(
            number=self._number,
            token=self._token,
            action=target.operation,
            request=_request(target),
            user=user_name(),
            host=socket.gethostname(),
            time=now,
            summary=f"Committed snapshot {new.id} of {place_of(target)}: {counts}",
            before=f"{label} had no snapshot" if before is None else f"{label} at snapshot {before.id}",
            after=f"{label} at snapshot {new.id}",
            edits=Edits(rows=edit),
            no_way_back="it changed no rows: there is nothing to take back" if keeps_rows else None,
            landed=False,
            records_added=changes.records_added,
            records_removed=changes.records_removed,
            message=target.note.message or None,
            author=target.note.author or None,
            owes=changes.owed,
        )


def write_log(files: Files, target: WriteTarget) -> WriteLog | None:
    """The entry for the next commit to the target; None for an action, which has an entry of its own."""
    if target.operation is None:
        return None
    return WriteLog(files, target, target.commit_user.replace("-", ""))


def _request(target: WriteTarget) -> dict[str, str | None]:
    request = {"branch": target.branch} if not target.follows_main else {}
    if target.statement is None:
        return request
    text = redacted(target.statement)
    return {**request, "statement": text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}..."}


def place_of(target: WriteTarget) -> str:
    """The table, with its branch if the writer named one."""
    return target.name + ("" if target.follows_main else f"$branch_{target.branch}")


def counts_of(target: WriteTarget, added: int, removed: int) -> str:
    """`2 rows added, 1 row removed`; in a table with keys they are records."""
    word = "record" if target.table_schema.primary_keys else "row"
    said = f"{counted(added, word)} added"
    return f"{said}, {counted(removed, word)} removed" if removed else said


def _now() -> int:
    return time.time_ns() // 1_000_000


_TOKEN_LENGTH = 32


# Each batch writes the entry again, with its own snapshot as the last. A run has an entry for each root that
# it writes to. Spark tells a data source nothing of a query's end: the next run of the query notes it.
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

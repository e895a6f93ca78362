"""The entry of a writer's commit in the table's operation log.

It is written right before the commit, with the snapshot that the commit is about to make, and confirmed right
after it. If this process dies in between, `paimark.core.table.operations` asks the snapshots whether the
commit landed. Each path that commits rows for a writer makes a `WriteLog` and hands it to `CreateSnapshot`.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Sequence

from paimark.core.figures import counted
from paimark.core.processes import user_name
from paimark.core.redaction import redacted
from paimark.core.spark.writing.late_commit import FileChanges
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.operations import (
    Entry,
    Operation,
    Undoable,
    confirm,
    keep_up,
    log_entries,
    next_number,
)
from paimark.core.table.records import Snapshot, point_of

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
        entry = Undoable(
            token=self._token,
            action=target.operation,
            user=user_name(),
            time=now,
            root=target.root.branch,
            before=None if before is None else point_of(before),
            after=point_of(new),
            is_write=True,
        )
        label = target.root.label
        counts = target.done or counts_of(target, changes.records_added, changes.records_removed)
        if entry.is_compaction and not target.done:
            # Its records are the same as before, in other files.
            counts = f"{counted(len(changes.deleted), 'file')} became {len(changes.added)}"
        return Operation(
            number=self._number,
            token=self._token,
            action=target.operation,
            request=_request(target),
            user=entry.user,
            host=socket.gethostname(),
            time=now,
            summary=f"Committed snapshot {new.id} of {place_of(target)}: {counts}",
            before=f"{label} had no snapshot" if before is None else f"{label} at snapshot {before.id}",
            after=f"{label} at snapshot {new.id}",
            way_back=entry,
            landed=False,
            records_added=changes.records_added,
            records_removed=changes.records_removed,
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

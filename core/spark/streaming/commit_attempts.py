"""Find out whether a streaming query's batch is committed, so that a repeated batch is committed only once.

A snapshot names its query and batch, but it expires. So each attempt to commit has a file of its own,
`branch/STREAM-<query>.<batch>.<uuid>`, which no engine's clean-up touches: it is created right before the
snapshot's file, marked as landed right after, and deleted when a later batch has landed. If the process is
killed between the last two, the snapshot itself tells; and if that has expired, its changelog, or a later
state whose manifests name a data file of the attempt. If none does, the file decides only if it is gone: then
it was committed. If it exists, it may still have been in the table: a tag, a savepoint that was not finished
or a changelog can keep the files of a snapshot that expires, and go later. So a person is asked.
"""

from __future__ import annotations

import re
import time
from typing import ClassVar

import msgspec

from paimark.core.errors import Corrupt, Refused
from paimark.core.spark.streaming.offsets import mark_of
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.commits import Landed, Overwritten, states_since
from paimark.core.table.layout import STREAM_PREFIX, Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots
from paimark.core.table.manifests.files import names_any
from paimark.core.table.records import STREAM_USER, Record, Snapshot
from paimark.core.table.rows import SnapshotRow

# By default no orphan cleaning deletes a younger file.
_DAY_MS = 86_400_000
# The snapshots to search if a query has no attempt file: it never committed, or somebody deleted the file.
_LOOK_BACK = 1000


class Attempt(Record, frozen=True, kw_only=True):
    """An attempt to commit a batch of a query as a snapshot."""

    newest: ClassVar[int | None] = 1

    version: int = 1  # format
    query: str  # the query's id: from its checkpoint, or the option `query-id`
    batch: int  # the micro-batch's number
    branch: str | None = None  # the root
    snapshot: int  # the id of the snapshot
    uuid: str  # the same as in the file's name
    file: str  # a data file of the batch, relative to the warehouse
    time: int  # when it was tried
    planned: str | None = None  # the SHA-256 of `offsets/<batch>` in the checkpoint, where it can be read
    landed: bool = False  # the snapshot was created
    operation: str | None = None  # token of its run in the [operation log](#operation-log)

    def path(self, table: TablePath) -> str:
        return table.stream_attempt(self.query, self.batch, self.uuid)


def is_batch(commit: Snapshot | SnapshotRow, query: str, batch: int) -> bool:
    """Whether it is the commit of this batch."""
    return (commit.commit_user, commit.commit_identifier) == (f"{STREAM_USER}{query}", batch)


def attempts(files: Files, table: TablePath, query: str) -> list[Attempt]:
    """The attempts on disk. Raises `Corrupt`."""
    name = re.compile(rf"{STREAM_PREFIX}{re.escape(query)}\.[0-9]+\.[^.]+")
    paths = [f"{table.branches}/{each}" for each in files.names(table.branches) if name.fullmatch(each)]
    contents = zip(paths, files.read_many(paths), strict=True)
    return [Attempt.from_json(data, path) for path, data in contents if data is not None]


def newest_operation(files: Files, table: TablePath, query: str) -> str | None:
    """The run in the operation log that committed the query's last batch; None if it is unknown."""
    landed = [each for each in attempts(files, table, query) if each.landed]
    return max(landed, key=lambda each: each.batch).operation if landed else None


def begin(files: Files, table: TablePath, attempt: Attempt) -> None:
    """Create the attempt's file, before the snapshot's. Raises `Corrupt` if it exists."""
    if not files.create(attempt.path(table), attempt.to_json()):
        raise Corrupt(f"{attempt.path(table)} is there already")


def discard(files: Files, table: TablePath, attempt: Attempt) -> None:
    """Delete the attempt's file: another commit took the snapshot's id."""
    files.delete(attempt.path(table))


def mark_landed(files: Files, table: TablePath, attempt: Attempt) -> None:
    """Mark an attempt as landed, after the snapshot's file; delete other attempts up to this batch."""
    files.replace(attempt.path(table), msgspec.structs.replace(attempt, landed=True).to_json())
    for other in attempts(files, table, attempt.query):
        if other.batch <= attempt.batch and other.uuid != attempt.uuid:
            files.delete(other.path(table))


def require_last_batch(files: Files, table: TablePath, query: str, batch: int) -> None:
    """Check that the last landed batch before this one is not lost. Raises `Overwritten` if it is.

    Spark has told the source that it is done, so nobody would write it again.
    """
    done = [each for each in attempts(files, table, query) if each.landed and each.batch < batch]
    if not done:
        return
    last = max(done, key=lambda each: each.batch)
    root = table.root(last.branch)
    [data] = files.read_many([root.snapshot(last.snapshot)])
    if data is not None and mark_of(Snapshot.from_json(data, root.snapshot(last.snapshot))) == last.uuid:
        return
    newest = Lineage(files, root).latest_id()
    if data is None and (newest is None or newest >= last.snapshot):
        # The snapshot has expired, or its branch was deleted.
        return
    if data is None or not _is_named_since(files, root, last):
        raise Overwritten(
            f"Batch {last.batch} of this query was snapshot {last.snapshot} of {table.full_name}, and "
            + ("the table ends before it now" if data is None else "another commit has its place")
            + ": its rows are not in the table. Another engine overwrote it, or main was truncated",
            f"Write them from the source again, delete {last.path(table)}, and start the query.",
        )


def has_landed(files: Files, table: TablePath, query: str, batch: int, planned: str | None) -> bool:
    """Whether the batch is committed. Raises `Refused` if that is unknown, or if another has its number."""
    recorded = attempts(files, table, query)
    if not recorded:
        return any(_has_commit(files, root, query, batch) for root in all_roots(files, table))
    newest = max(each.batch for each in recorded)
    if newest > batch:
        # Spark begins a batch only after the one before has landed, so it repeats only the last one.
        raise _put_back(table, batch, f"comes after its batch {newest}")
    unknown: list[Attempt] = []
    for each in recorded:
        if each.batch != batch:
            continue
        fate = Landed.YES if each.landed else _fate(files, table, each)
        if fate is Landed.YES:
            if planned is not None and each.planned not in (None, planned):
                raise _put_back(table, batch, "has landed with other rows")
            return True
        if fate is Landed.UNKNOWN:
            unknown.append(each)
    # Only now: another attempt of the batch may have landed.
    if unknown:
        raise Refused(
            f"Nothing is left that tells whether batch {batch} of this query is in {table.full_name}",
            f"Look for its rows: if they are missing delete {unknown[0].path(table)}, else write "
            '"landed": true into it.',
        )
    return False


def _put_back(table: TablePath, batch: int, what: str) -> Refused:
    return Refused(
        f"Batch {batch} of this query {what}: its checkpoint was put back or emptied, and nothing tells "
        f"which of the rows are in {table.full_name}",
        "Look at the rows. To have written what it reads again, give the option query-id a new name.",
    )


def _fate(files: Files, table: TablePath, attempt: Attempt) -> Landed:
    """Whether the snapshot of an attempt that is not marked as landed was committed."""
    expired: list[Root] = []
    attempt_root, roots = table.root(attempt.branch), all_roots(files, table)
    for root in roots:
        lineage = Lineage(files, root)
        if (latest := lineage.latest_id()) is None or latest < attempt.snapshot:
            continue
        if not lineage.has_snapshot(attempt.snapshot):
            expired.append(root)
        elif mark_of(lineage.snapshot(attempt.snapshot)) == attempt.uuid:
            return Landed.YES
        elif root == attempt_root and _is_named_since(files, root, attempt):
            # It was overwritten after another commit had built on it.
            return Landed.YES
    if not expired:
        return Landed.NO
    if any(_has_changelog(files, root, attempt) or _is_named_since(files, root, attempt) for root in expired):
        return Landed.YES
    if not files.exists(attempt.file):
        is_young = time.time() * 1000 - attempt.time < _DAY_MS
        return Landed.YES if is_young else Landed.UNKNOWN
    if attempt_root in expired:
        # If the next snapshot is left and was built on the attempt's, it names the file.
        has_next = Lineage(files, attempt_root).has_snapshot(attempt.snapshot + 1)
        return Landed.NO if has_next else Landed.UNKNOWN
    # If the root has no such snapshot, the attempt made none. If the root is gone, another may continue it.
    return Landed.NO if attempt_root in roots else Landed.UNKNOWN


def _has_commit(files: Files, root: Root, query: str, batch: int) -> bool:
    return any(is_batch(row, query, batch) for row in Lineage(files, root).newest(_LOOK_BACK))


def _has_changelog(files: Files, root: Root, attempt: Attempt) -> bool:
    """Whether the attempt's snapshot left its changelog: a copy that stock expiry makes, without the uuid."""
    path = root.changelog(attempt.snapshot)
    if (data := read_if_there(files, path)) is None:
        return False
    changelog = Snapshot.from_json(data, path)
    return is_batch(changelog, attempt.query, attempt.batch)


def _is_named_since(files: Files, root: Root, attempt: Attempt) -> bool:
    """Whether a state of the root since the attempt is its snapshot, or its manifests name its data file.

    Until they are merged, manifests also name a file that a later commit has deleted.
    """
    name = attempt.file.rpartition("/")[2]
    for snapshot in states_since(Lineage(files, root), attempt.snapshot):
        if mark_of(snapshot) == attempt.uuid:
            return True
        if names_any(files, root.table, snapshot, [name]):
            return True
    return False

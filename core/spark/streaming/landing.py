"""Whether a streaming query's batch is in the table: what makes a batch that is written again count once.

A snapshot says whose commit and which batch it is, until it expires. So the query's last attempt is kept
in `branch/STREAM-<query>`, which no engine's clean-up touches: it is written right before the snapshot's file
is created, and marked as landed right after. Killed between the two, the snapshot itself tells; and when that
has expired meanwhile, the first data file of the attempt does. Files that a commit named are deleted only
with the last snapshot that names them: so one that is there, and in no state that is left, was never named.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from core.errors import FileMissing, Refused
from core.spark.streaming.offsets import mark_of
from core.storage.files import Files
from core.table.files import data_manifests, live_entries
from core.table.layout import Root, TablePath
from core.table.lineage import Lineage
from core.table.main_branch import all_roots
from core.table.records import Record, Snapshot

# No orphan cleaning takes a file that is younger, unless it is told to.
_DAY_MS = 86_400_000
# A query without a record of its own has never committed, or somebody took the record away.
_LOOK_BACK = 1000


class Attempt(Record, frozen=True, kw_only=True):
    """A batch of a query as snapshot `snapshot` of `branch` (None: the table directory), told by `uuid`.

    `file` is a data file of it, relative to the warehouse. `time` is epoch milliseconds.
    """

    version: int = 1
    batch: int
    branch: str | None = None
    snapshot: int
    uuid: str
    file: str
    time: int
    landed: bool = False


def read_attempt(files: Files, table: TablePath, query: str) -> Attempt | None:
    """The query's last attempt. Raises `Corrupt`."""
    path = table.stream(query)
    try:
        return Attempt.from_json(files.read(path), path)
    except FileMissing:
        return None


def write_attempt(files: Files, table: TablePath, query: str, attempt: Attempt) -> None:
    files.replace(table.stream(query), attempt.to_json())


def has_landed(files: Files, table: TablePath, query: str, batch: int) -> bool:
    """Whether the batch is committed. Raises `Refused` where nothing is left that tells."""
    attempt = read_attempt(files, table, query)
    if attempt is None:
        return any(_has_commit(files, root, query, batch) for root in all_roots(files, table))
    if attempt.batch != batch:
        # Spark goes on to the next batch when one has landed, and never back by more than one.
        return attempt.batch > batch
    if attempt.landed:
        return True
    expired: list[Root] = []
    for root in all_roots(files, table):
        lineage = Lineage(files, root)
        if (latest := lineage.latest_id()) is None or latest < attempt.snapshot:
            continue
        if not lineage.has_snapshot(attempt.snapshot):
            expired.append(root)
        elif mark_of(lineage.snapshot(attempt.snapshot)) == attempt.uuid:
            return True
    return bool(expired) and _was_named(files, table, query, attempt, expired)


def _has_commit(files: Files, root: Root, query: str, batch: int) -> bool:
    return any(
        (row.commit_user, row.commit_identifier) == (query, batch)
        for row in Lineage(files, root).newest(_LOOK_BACK)
    )


def _was_named(files: Files, table: TablePath, query: str, attempt: Attempt, roots: list[Root]) -> bool:
    """Of an attempt whose snapshot, or another of that id, has expired."""
    name = attempt.file.rpartition("/")[2]
    for root in roots:
        for snapshot in _states_since(files, root, attempt.snapshot):
            if mark_of(snapshot) == attempt.uuid:
                return True
            entries = live_entries(files, table, data_manifests(files, table, snapshot))
            if any(entry.file["_FILE_NAME"] == name for entry in entries):
                return True
    if files.exists(attempt.file):
        return False
    if time.time() * 1000 - attempt.time < _DAY_MS:
        return True
    path = table.stream(query)
    raise Refused(
        f"Nothing is left that tells whether batch {attempt.batch} of this query is in {table.full_name}",
        f'Look for its rows. If they are missing delete {path}, else write "landed": true into it.',
    )


def _states_since(files: Files, root: Root, snapshot_id: int) -> Iterator[Snapshot]:
    """The tags from the snapshot on, and the earliest snapshot after it."""
    lineage = Lineage(files, root)
    yield from (tag for _, tag in lineage.tags() if tag.id >= snapshot_id)
    later = [each for each in lineage.snapshot_ids() if each > snapshot_id]
    if later:
        yield lineage.snapshot(later[0])

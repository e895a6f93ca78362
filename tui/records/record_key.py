"""The identity of a row's record, which differs from that of another with the same id or name."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

import msgspec

from paimark.core.table.layout import Root
from paimark.core.table.records import Snapshot
from paimark.core.table.rows import SnapshotRow

RecordKind = Literal["snapshot", "savepoint", "branch", "tag", "column", "option", "run", "space"]


class RecordKey(msgspec.Struct, frozen=True):
    """The identity of a record of a root (a table and a branch).

    Ids and names are used again after a truncation or a deletion: then `made` differs.
    """

    root: Root
    kind: RecordKind
    name: str
    made: Hashable = None


def has_moved(key: Hashable, to: Hashable) -> bool:
    """Whether two keys are of one record, which is of another root since main was replaced."""
    if not isinstance(key, RecordKey) or not isinstance(to, RecordKey) or key.root.table != to.root.table:
        return False
    # Options are known by their names alone; of other records another may have the same name.
    is_known = key.made is not None or key.kind == "option"
    return is_known and (key.kind, key.name, key.made) == (to.kind, to.name, to.made)


class CommitKey(msgspec.Struct, frozen=True):
    """Distinguishes two commits with the same id. `time_ms` is epoch milliseconds."""

    id: int
    time_ms: int
    user: str
    identifier: int


def commit_of(snapshot: Snapshot) -> CommitKey:
    return CommitKey(snapshot.id, snapshot.time_millis, snapshot.commit_user, snapshot.commit_identifier)


def commit_of_row(row: SnapshotRow) -> CommitKey:
    return CommitKey(row.snapshot_id, row.commit_time, row.commit_user, row.commit_identifier)


def snapshot_key(root: Root, commit: CommitKey) -> RecordKey:
    return RecordKey(root, "snapshot", f"snapshot.{commit.id}", commit)

"""Which record a row stands for, so that no other with the same number or name is ever taken for it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

import msgspec

from core.table.layout import Root
from core.table.records import Snapshot
from core.table.rows import SnapshotRow

RecordKind = Literal["snapshot", "savepoint", "branch", "tag", "column", "option", "run", "space"]


class RecordKey(msgspec.Struct, frozen=True):
    """A record of a root (a table and a branch).

    Numbers and names are given again, after a truncation or a deletion: `made` differs then.
    """

    root: Root
    kind: RecordKind
    name: str
    made: Hashable = None


class CommitKey(msgspec.Struct, frozen=True):
    """Tells two commits of one number apart. `time_ms` is epoch milliseconds."""

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

"""Savepoints whose tag another engine deleted while every file exists: the tag is written again."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import msgspec

from core.actions.context import Progress
from core.actions.roots.guard_tags import guard
from core.errors import Corrupt, FileMissing, NotFound, Refused
from core.storage.files import Files
from core.storage.parallel import each_of
from core.table.layout import MAIN, Root, TablePath, savepoint_tag
from core.table.lineage.lineage import Lineage
from core.table.lineage.main_branch import all_roots, branch_root, root_exists
from core.table.manifests.apart import INSTEAD, endangered, marked_unless_proven
from core.table.manifests.files import missing_of
from core.table.records import Savepoint, Snapshot, is_apart
from core.table.savepoints import SavepointManager, tagged_savepoints


class Unprotected(NamedTuple):
    """A savepoint, the root that is to hold its tag, and the snapshot of the tag."""

    savepoint: Savepoint
    root: Root
    snapshot: Snapshot

    @property
    def path(self) -> str:
        return self.root.tag(savepoint_tag(self.savepoint.id))


def unprotected(files: Files, table: TablePath, going: Root | None = None) -> list[Unprotected]:
    """Unprotected savepoints with all their files. Raises `Corrupt` when a root can't be read.

    Tags in the root `going` do not count as protection.
    """
    manager = SavepointManager(files, table)
    ids = set(manager.ids())
    if not ids:
        return []
    roots = [root for root in all_roots(files, table) if root != going]
    ids.difference_update(*each_of(partial(tagged_savepoints, files), roots))
    lacking = []
    for savepoint in (each for each in manager.all() if each.id in ids):
        home, snapshot = _root_of(files, table, savepoint), _snapshot_of(files, table, savepoint)
        if home is not None and snapshot is not None and not _missing(files, home, snapshot):
            lacking.append(Unprotected(savepoint, home, snapshot))
    return lacking


def warning(files: Files, each: Unprotected) -> str | None:
    """The risk of the tag for older ones, if its root was rolled back past it; None without a risk."""
    if not is_apart(marked_unless_proven(files, each.root, each.snapshot)):
        return None
    older = endangered(Lineage(files, each.root).tags(), each.snapshot.id)
    if not older:
        return None
    return (
        f"Savepoint {each.savepoint.id} may be of a history that {each.root.label} was rolled back from: "
        f"beside its tag a stock expiry can take files of older tags ({older}). {INSTEAD}"
    )


def protect_without(files: Files, going: Root, progress: Progress) -> None:
    """Before a root is removed: write main's tags for savepoints that no other root protects. Idempotent."""
    for each in unprotected(files, going.table, going):
        protect(files, each, progress)


def protect(files: Files, each: Unprotected, progress: Progress) -> None:
    """Write the tag, then check whether it came in time. Idempotent."""
    files.create(each.path, marked_unless_proven(files, each.root, each.snapshot).to_json())
    guard(files, each.root, savepoint_tag(each.savepoint.id))
    if gone := _missing(files, each.root, each.snapshot):
        progress(f"savepoint {each.savepoint.id} lost {gone[0]} just before its tag was there again")
    else:
        progress(f"savepoint {each.savepoint.id} has its tag again, and every file of it is there")


def _root_of(files: Files, table: TablePath, savepoint: Savepoint) -> Root | None:
    """The root where it was made, if it still exists."""
    try:
        root = branch_root(files, table, None if savepoint.branch == MAIN else savepoint.branch)
    except NotFound:
        return None
    return root if root_exists(files, root) else None


def _snapshot_of(files: Files, table: TablePath, savepoint: Savepoint) -> Snapshot | None:
    """The saved snapshot: from the savepoint's record, else from the snapshot's own file."""
    if savepoint.snapshot is not None:
        path = table.savepoint(savepoint.id)
        return Snapshot.from_json(msgspec.json.encode(savepoint.snapshot), path)
    root = _root_of(files, table, savepoint)
    if root is None:
        return None
    try:
        path = root.snapshot(savepoint.saved_snapshot_id)
        snapshot = Snapshot.from_json(files.read(path), path)
    except (FileMissing, Corrupt):
        return None
    return snapshot if snapshot.time_millis == savepoint.snapshot_time else None


def _missing(files: Files, root: Root, snapshot: Snapshot) -> list[str]:
    try:
        return missing_of(files, root, snapshot)
    except (Corrupt, NotFound, Refused) as error:
        return [error.message]

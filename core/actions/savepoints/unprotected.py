"""Savepoints whose tag another engine deleted while every file is there: the tag is written again."""

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
from core.table.manifests.files import each_needed_file, missing_files
from core.table.records import Savepoint, Snapshot, is_same_commit
from core.table.savepoints import SavepointManager, tagged_savepoints

# How many older tags a warning names.
_NAMED = 5


class Unprotected(NamedTuple):
    """A savepoint, the root that is to hold its tag, and the snapshot that the tag is of."""

    savepoint: Savepoint
    root: Root
    snapshot: Snapshot

    @property
    def path(self) -> str:
        return self.root.tag(savepoint_tag(self.savepoint.id))


def unprotected(files: Files, table: TablePath) -> list[Unprotected]:
    """Unprotected savepoints of which every file is there. Raises `Corrupt` when a root can't be read."""
    manager = SavepointManager(files, table)
    ids = set(manager.ids())
    if not ids:
        return []
    ids.difference_update(*each_of(partial(tagged_savepoints, files), all_roots(files, table)))
    lacking = []
    for savepoint in (each for each in manager.all() if each.id in ids):
        home, snapshot = _root_of(files, table, savepoint), _snapshot_of(files, table, savepoint)
        if home is not None and snapshot is not None and not _missing(files, home, snapshot):
            lacking.append(Unprotected(savepoint, home, snapshot))
    return lacking


def warning(files: Files, each: Unprotected) -> str | None:
    """A warning where the root was rolled back past the tag, which then harms older tags; else None.

    A stock expiry spares what the nearest earlier tag holds, and takes that for a state of the same history.
    """
    lineage, number = Lineage(files, each.root), each.snapshot.id
    ids = lineage.snapshot_ids()
    is_there = number in ids and is_same_commit(lineage.snapshot(number), each.snapshot)
    is_past = bool(ids) and number < ids[0]
    older = [name for name, tag in lineage.tags() if tag.id < number]
    if is_there or is_past or not older:
        return None
    told = ", ".join(older[:_NAMED]) + (", ..." if len(older) > _NAMED else "")
    return (
        f"Savepoint {each.savepoint.id} is of a history that {each.root.label} was rolled back from: beside "
        f"its tag a stock expiry can take files of older tags ({told}). Expire with Paimark alone, or roll "
        "back to the savepoint and delete it"
    )


def protect(files: Files, each: Unprotected, progress: Progress) -> None:
    """Write the tag, then look whether it came in time. Idempotent."""
    files.create(each.path, each.snapshot.to_json())
    guard(files, each.root, savepoint_tag(each.savepoint.id))
    if gone := _missing(files, each.root, each.snapshot):
        progress(f"savepoint {each.savepoint.id} lost {gone[0]} just before its tag was there again")
    else:
        progress(f"savepoint {each.savepoint.id} has its tag again, and every file of it is there")


def _root_of(files: Files, table: TablePath, savepoint: Savepoint) -> Root | None:
    """Where it was made, as long as that is still a root."""
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
        return missing_files(files, each_needed_file(files, root, snapshot))
    except (FileMissing, Corrupt, Refused) as error:
        return [error.message]

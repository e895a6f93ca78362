"""Savepoints whose tag another engine deleted while every file exists: the tag is written again.

It belongs into the root where the savepoint was made. If another engine deleted that branch, main gets the
tag where it means the same and endangers no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from paimark.core.actions.context import Progress, Remark
from paimark.core.actions.roots.guard_tags import guard
from paimark.core.actions.roots.waiting import wait_for_expiry
from paimark.core.errors import Corrupt, FileMissing, NotFound, Refused
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import MAIN, Root, TablePath, savepoint_tag
from paimark.core.table.lineage.main_branch import all_roots, branch_root, main_root, root_exists
from paimark.core.table.manifests.chain import INSTEAD, endangered, marked_unless_proven
from paimark.core.table.manifests.files import missing_of, snapshot_facts
from paimark.core.table.records import Savepoint, Snapshot, is_apart
from paimark.core.table.savepoints import SavepointManager, has_schemas_of, tagged_savepoints


class Unprotected(NamedTuple):
    """A savepoint, the root that is to hold its tag, and the snapshot of the tag."""

    savepoint: Savepoint
    root: Root
    snapshot: Snapshot

    @property
    def path(self) -> str:
        return self.root.tag(savepoint_tag(self.savepoint.id))


def unprotected(files: Files, table: TablePath, going: Root | None = None) -> list[Unprotected]:
    """Unprotected savepoints that can have their tag again. Raises `Corrupt` when a root can't be read.

    The root `going` does not count: neither its tags protect, nor does it get one.
    """
    return [each for _, each in _untagged(files, table, going) if isinstance(each, Unprotected)]


def beyond_repair(files: Files, table: TablePath, going: Root | None = None) -> dict[int, str]:
    """Why each other unprotected savepoint can't have its tag again, by id. Raises `Corrupt`."""
    return {each.id: why for each, why in _untagged(files, table, going) if isinstance(why, str)}


def _untagged(
    files: Files, table: TablePath, going: Root | None
) -> Iterator[tuple[Savepoint, Unprotected | str]]:
    manager = SavepointManager(files, table)
    ids = set(manager.ids())
    if not ids:
        return
    roots = [root for root in all_roots(files, table) if root != going]
    ids.difference_update(*each_of(partial(tagged_savepoints, files), roots))
    for savepoint in (each for each in manager.all() if each.id in ids):
        yield savepoint, _repair(files, table, savepoint, going)


def _repair(files: Files, table: TablePath, savepoint: Savepoint, going: Root | None) -> Unprotected | str:
    snapshot = _snapshot_of(files, table, savepoint)
    if snapshot is None:
        return f"snapshot {savepoint.saved_snapshot_id}, which it saved, has expired"
    home = _home(files, table, savepoint, snapshot, going)
    if isinstance(home, str):
        return home
    if missing := _missing(files, home, snapshot):
        return f"{missing[0]} is gone"
    return Unprotected(savepoint, home, snapshot)


def warning(files: Files, each: Unprotected) -> str | None:
    """The risk of the tag for older ones, if its root was rolled back past it; None without a risk."""
    if not is_apart(marked_unless_proven(files, each.root, each.snapshot)):
        return None
    older = endangered(files, each.root, each.snapshot)
    if not older:
        return None
    return (
        f"Savepoint {each.savepoint.id} may be of a history that {each.root.label} was rolled back from: "
        f"beside its tag a stock expiry can take files of other tags ({older}). {INSTEAD}"
    )


def protect_without(files: Files, going: Root, progress: Progress) -> None:
    """Before a root is removed: write main's tags for savepoints that no other root protects. Idempotent."""
    protect_all(files, unprotected(files, going.table, going), progress)


def protect_all(
    files: Files, untagged: Sequence[Unprotected], progress: Progress, wait: float | None = None
) -> None:
    """Write the tags, then check whether they came in time. Idempotent.

    An expiry that listed the tags before may still be deleting: after `wait` seconds every file is looked for
    again, as for a new savepoint. Without `wait` nothing is proven, and a remark says so.
    """
    for each in untagged:
        files.create(each.path, marked_unless_proven(files, each.root, each.snapshot).to_json())
        guard(files, each.root, savepoint_tag(each.savepoint.id))
    whole = _whole(files, untagged, progress)
    if wait is not None:
        wait_for_expiry(wait if whole else 0, progress)
        whole = _whole(files, whole, progress)
    for each in whole:
        told = f"savepoint {each.savepoint.id} has its tag again, and every file of it is there"
        if wait is not None:
            progress(told)
            continue
        word = each.root.table.word
        progress(
            Remark(f"{told} now. It is not proven that no expiry is deleting: run `paimark verify {word}`")
        )


def _whole(files: Files, untagged: Sequence[Unprotected], progress: Progress) -> list[Unprotected]:
    """Those whose files are all there; a remark says what is gone of each other."""
    whole = []
    for each in untagged:
        if gone := _missing(files, each.root, each.snapshot):
            progress(Remark(f"savepoint {each.savepoint.id} lost {gone[0]}: its tag came too late"))
        else:
            whole.append(each)
    return whole


def _home(
    files: Files, table: TablePath, savepoint: Savepoint, snapshot: Snapshot, going: Root | None
) -> Root | str:
    """The root where it was made; else main, if the tag is right there; else why no root can have it."""
    made, main = _made_in(files, table, savepoint), main_root(files, table)
    if made is not None and made != going and has_schemas_of(files, made, savepoint) is not False:
        return made
    why = f"branch {savepoint.branch}, where it was made, is gone"
    if made is not None:
        why = f"{made.label} has other schemas than those it was made with"
    if main in (made, going) or not _means_the_same(files, main, savepoint, snapshot):
        return why if main == made else f"{why}, and main may have other schemas"
    if others := endangered(files, main, snapshot):
        return f"{why}, and beside its tag in main a stock expiry could take files of other tags ({others})"
    return main


def _made_in(files: Files, table: TablePath, savepoint: Savepoint) -> Root | None:
    """The root of the name where it was made, if there is one: it may be another since."""
    try:
        root = branch_root(files, table, None if savepoint.branch == MAIN else savepoint.branch)
    except NotFound:
        return None
    return root if root_exists(files, root) else None


def _means_the_same(files: Files, main: Root, savepoint: Savepoint, snapshot: Snapshot) -> bool:
    """Whether main has each schema of the savepoint's files, with the same content.

    Without a digest only schema 0 counts: it is the same in every root of a table.
    """
    is_known = has_schemas_of(files, main, savepoint)
    if is_known is False:
        return False
    try:
        facts = snapshot_facts(files, main.table, snapshot)
        newest = max((each.schema_id for each in facts), default=0)
    except (FileMissing, Corrupt):
        return False
    return max(newest, snapshot.schema_id) <= (savepoint.schema_id if is_known else 0)


def _snapshot_of(files: Files, table: TablePath, savepoint: Savepoint) -> Snapshot | None:
    """The saved snapshot: from the savepoint's record, else from the snapshot's own file."""
    if savepoint.snapshot is not None:
        path = table.savepoint(savepoint.id)
        return Snapshot.from_json(msgspec.json.encode(savepoint.snapshot), path)
    root = _made_in(files, table, savepoint)
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

"""Find out whether a commit was made, though others have committed and expired snapshots since the attempt.

A commit has a user name that no other commit has. The search reads every snapshot that is newer than those
known before the attempt. If one of them has expired, a tag or a changelog may still hold it. If an expired
one left no trace, the answer is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from paimark.core.errors import NotFound
from paimark.core.storage.files import Files
from paimark.core.table.layout import CHANGELOG_PREFIX, Root
from paimark.core.table.lineage.lineage import Lineage, numbered
from paimark.core.table.lineage.main_branch import all_roots
from paimark.core.table.manifests.chain import breaks
from paimark.core.table.records import Point, Snapshot


class Landed(Enum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Fate(NamedTuple):
    """`snapshot` is the commit, if it landed; `expired` are the ids of snapshots that left no trace.

    `overwritten` are the ids of snapshots on which the next one was not built: another snapshot had that id
    before, and it may have been the commit.
    """

    landed: Landed
    snapshot: Snapshot | None = None
    expired: tuple[int, ...] = ()
    overwritten: tuple[int, ...] = ()


def find_commit(files: Files, root: Root, user: str, after: int) -> Fate:
    """The commit that `user` made to the root after snapshot `after`, its newest before (0: it had none).

    Call it only when no part of the commit can still be under way. Raises `Corrupt`.
    """
    lineage = Lineage(files, root)
    newer = [each for each in lineage.snapshot_ids() if each > after]
    missing = set(range(after + 1, newer[-1] + 1)) if newer else set()
    others = list(_read(files, map(root.snapshot, newer)))
    for snapshot in others:
        if snapshot.commit_user == user:
            return Fate(Landed.YES, snapshot)
        missing.discard(snapshot.id)
    if overwritten := tuple(each.snapshot_id for each in breaks(files, root, others)):
        return Fate(Landed.UNKNOWN, overwritten=overwritten)
    if not missing:
        return Fate(Landed.NO)
    for holder, snapshot in _other_copies(files, root, missing):
        if snapshot.commit_user == user:
            return Fate(Landed.YES, snapshot)
        # Another root may have a different snapshot with this id.
        if holder == root:
            missing.discard(snapshot.id)
    return Fate(Landed.UNKNOWN, expired=tuple(sorted(missing))) if missing else Fate(Landed.NO)


def fate_of(files: Files, root: Root, commit: Point) -> Landed:
    """Whether the root got this very commit; UNKNOWN if its id, or the root, went without a trace."""
    lineage = Lineage(files, root)
    there = list(_read(files, [root.snapshot(commit.id)]))
    if there:
        return Landed.YES if commit.is_of(there[0]) else Landed.NO
    try:
        if (lineage.latest_id() or 0) < commit.id:
            return Landed.NO
    except NotFound:
        # The branch went since: only a copy in another root tells.
        pass
    others = _other_copies(files, root, [commit.id])
    return Landed.YES if any(commit.is_of(each) for _, each in others) else Landed.UNKNOWN


def _other_copies(files: Files, root: Root, ids: Iterable[int]) -> Iterator[tuple[Root, Snapshot]]:
    """The tags, changelogs and other roots' snapshots with these ids, each with its root."""
    sorted_ids = sorted(ids)
    changelog_ids = numbered(files.names(root.changelogs), CHANGELOG_PREFIX)
    for changelog in _read(files, (root.changelog(each) for each in sorted_ids if each in changelog_ids)):
        yield root, changelog
    for each in all_roots(files, root.table):
        for _, tag in Lineage(files, each).tags():
            if tag.id in sorted_ids:
                yield each, tag
        if each != root:
            for snapshot in _read(files, map(each.snapshot, sorted_ids)):
                yield each, snapshot


def _read(files: Files, paths: Iterable[str]) -> Iterator[Snapshot]:
    all_paths = list(paths)
    for path, data in zip(all_paths, files.read_many(all_paths), strict=True):
        if data is not None:
            yield Snapshot.from_json(data, path)

"""Paimark's own commits: each is read again before it counts, and found again after a process died.

A stock writer checks whether a snapshot's file exists, and then moves its own file there. In an object store
a move does not fail if the target exists. So a writer that checked before Paimark created its snapshot
overwrites it a moment later, and neither process learns of it. Therefore Paimark reads a commit again before
it reports success, and once more before the next commit of the same change, stream or session.

A commit has a user name that no other commit has. The search reads every snapshot that is newer than those
known before the attempt. If one of them has expired, a tag or a changelog may still hold it. If an expired
one left no trace, the answer is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from paimark.core.errors import Corrupt, NotFound, Refused
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import CHANGELOG_PREFIX, Root, numbered
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots
from paimark.core.table.records import Point, Snapshot

_HINT = (
    "Its files are kept. Stop the other writer, or give it a catalog that takes locks (lock.enabled); see "
    "`paimark verify {table}`, look at the rows, and run it again."
)
# This process's last commit, by warehouse and root: the id and the bytes of the snapshot.
_LAST: dict[tuple[str, Root], tuple[int, bytes]] = {}


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
    missing -= {each.id for each in others}
    if ours := next((each for each in others if each.commit_user == user), None):
        if ours.id + 1 in missing:
            # It may have come late, with an id that another commit had and that expired.
            return Fate(Landed.UNKNOWN, expired=tuple(sorted(missing)))
        return Fate(Landed.YES, ours)
    # Late: whoever asks for no commit of its own never reads manifests.
    from paimark.core.table.manifests.chain import breaks

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
    """Whether the root got this very commit; UNKNOWN if its id, the next or the root left no trace."""
    lineage = Lineage(files, root)
    there = {each.id: each for each in _read(files, map(root.snapshot, (commit.id, commit.id + 1)))}
    if commit.id in there:
        if not commit.is_of(there[commit.id]):
            return Landed.NO
        # Without the next one it may have come late, with an id that another commit had and that expired.
        is_followed = commit.id + 1 in there or lineage.latest_id() == commit.id
        return Landed.YES if is_followed else Landed.UNKNOWN
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


class Overwritten(Refused):
    """Another engine replaced a commit of Paimark's by its own: the commit failed.

    The files of the overwritten commit must stay: a third writer may have built on it in between.
    """


def settle(files: Files, root: Root, snapshot_id: int, data: bytes) -> None:
    """After a snapshot's file was created: point LATEST to it, and read it again. Raises `Overwritten`."""
    # A hint; readers find the snapshot without it.
    files.replace(root.latest_hint, str(snapshot_id).encode())
    [there] = files.read_many([root.snapshot(snapshot_id)])
    if there is None:
        # It expired while this process was suspended. Stock readers fail on a hint to a missing snapshot.
        newest = Lineage(files, root).latest_id()
        files.replace(root.latest_hint, str(newest or snapshot_id).encode())
    elif there != data:
        raise overwritten(root, snapshot_id)


def states_since(lineage: Lineage, snapshot_id: int) -> Iterator[Snapshot]:
    """The tags of this and later snapshots, and the earliest snapshot after it."""
    yield from (tag for _, tag in lineage.tags() if tag.id >= snapshot_id)
    later = [each for each in lineage.snapshot_ids() if each > snapshot_id]
    if later:
        yield lineage.snapshot(later[0])


def stored(files: Files, root: Root, commit: Point) -> bytes | None:
    """The file of this very commit in a root; None if there is none, or a half-written one."""
    path = root.snapshot(commit.id)
    data = read_if_there(files, path)
    try:
        return data if data is not None and commit.is_of(Snapshot.from_json(data, path)) else None
    except Corrupt:
        return None


def is_unchanged(files: Files, root: Root, snapshot_id: int, data: bytes) -> bool:
    """Whether the file of a snapshot still has the bytes with which it was created, or has expired since."""
    [there] = files.read_many([root.snapshot(snapshot_id)])
    return there is None or there == data


def note_last(files: Files, root: Root, snapshot_id: int, data: bytes) -> None:
    """Remember this process's last commit to a root."""
    _LAST[files.uri, root] = snapshot_id, data


def require_last_commit(files: Files, root: Root) -> None:
    """Before the next commit, read this process's last commit again. Raises `Overwritten`, once.

    A branch keeps a commit that was cut off main, and another commit may have got its id since.
    """
    last = _LAST.pop((files.uri, root), None)
    if last is None:
        return
    number, data = last
    if not is_unchanged(files, root, number, data):
        copies = files.read_many(each.snapshot(number) for each in all_roots(files, root.table))
        if data in copies:
            return
        raise overwritten(root, number, "the last commit of this session: nothing was committed now, and")
    _LAST[files.uri, root] = last


def overwritten(root: Root, snapshot_id: int, what: str = "right after it was committed:") -> Overwritten:
    """The error for a commit that another engine overwrote."""
    name = root.table.full_name if root.branch is None else f"{root.table.full_name} (branch {root.branch})"
    return Overwritten(
        f"Another engine overwrote snapshot {snapshot_id} of {name} {what} what it brought is not in the "
        "table",
        _HINT.format(table=root.table.word),
    )


def only_compacted_since(lineage: Lineage, point: Point, newest: Snapshot) -> bool:
    """Whether the newest snapshot is this one, or has its rows: only compactions came since."""
    while not point.is_of(newest):
        if newest.commit_kind != "COMPACT" or newest.id <= point.id:
            return False
        try:
            newest = lineage.snapshot(newest.id - 1)
        except NotFound:
            return False
    return True

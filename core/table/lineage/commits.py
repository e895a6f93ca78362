"""Check Paimark's own commits: each is read again before it counts.

A stock writer checks whether a snapshot's file exists, and then moves its own file there. In an object store
a move does not fail if the target exists. So a writer that checked before Paimark created its snapshot
overwrites it a moment later, and neither process learns of it. Therefore Paimark reads a commit again before
it reports success, and once more before the next commit of the same change, stream or session.
"""

from __future__ import annotations

from collections.abc import Iterator

from paimark.core.errors import NotFound, Refused
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots
from paimark.core.table.records import Point, Snapshot

_HINT = (
    "Its files are kept. Stop the other writer, or give it a catalog that takes locks (lock.enabled); see "
    "`paimark verify {table}`, look at the rows, and run it again."
)


# This process's last commit, by warehouse and root: the id and the bytes of the snapshot.
_LAST: dict[tuple[str, Root], tuple[int, bytes]] = {}


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

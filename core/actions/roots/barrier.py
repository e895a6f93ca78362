"""The notice and the barrier: stock engines fail on them in the table directory while a branch is main.

The notice is in the place of the first schema. A session that had opened the table before remembers its
definition, so the notice does not stop it. Without snapshots it would read an empty table, and a job that
copies the rows elsewhere would empty its target. So LATEST names a snapshot that can't be read, the barrier,
and reads and writes fail.
"""

from __future__ import annotations

import re

from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import BARRIER_ID, SNAPSHOT_PREFIX, Root, TablePath, numbered
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, main_branch_name
from paimark.core.table.records import Snapshot, is_same_commit

_NOTICE = "MAIN_OF_THIS_TABLE_IS_NOW_ITS_BRANCH_"
_HINT = str(BARRIER_ID).encode()


def notice(branch: str) -> bytes:
    """The content of the notice and of the barrier: one line that is not JSON.

    Stock engines show only its first word in their error, so that word contains the message.
    """
    word = re.sub(r"\W", "_", branch)
    return (
        f"{_NOTICE}{word}: it is read and written as $branch_{branch}. "
        "`paimark undo` makes this directory main again.\n"
    ).encode()


_IN_NOTICE = re.compile(r"is read and written as \$branch_(.*)\. `paimark undo`")


def branch_in_notice(schema: bytes | None) -> str | None:
    """The branch that a notice names as main; None for anything else."""
    text = "" if schema is None else schema.decode(errors="replace")
    found = _IN_NOTICE.search(text) if text.startswith(_NOTICE) else None
    return found and found[1]


def put_barrier(files: Files, table: TablePath, main: str) -> None:
    """Write the barrier while branch `main` is main. Idempotent."""
    own = table.root()
    path, hint = own.snapshot(BARRIER_ID), own.latest_hint
    there, latest = files.read_many([path, hint])
    # The snapshot first: engines ignore a hint to a missing one.
    if there != notice(main):
        files.replace(path, notice(main))
    if latest != _HINT:
        files.replace(hint, _HINT)


def put_before_removal(files: Files, root: Root, becomes: str) -> None:
    """Mark a branch before its removal; `becomes` is its new state or name. Idempotent.

    A stock orphan cleaning that lists the snapshots from now on fails. It may not know the branch's new name,
    and would take files without a snapshot for orphans. A stock fast-forward begins with the earliest
    snapshot and fails too: it would give main snapshots whose files are going.
    """
    word = re.sub(r"\W", "_", becomes)
    text = f"THIS_BRANCH_IS_{word}_NOW: `paimark recover` removes what is left of it.\n"
    # The hint first: engines ignore a hint to a missing snapshot.
    files.replace(root.earliest_hint, _HINT)
    files.create(root.snapshot(BARRIER_ID), text.encode())


def close_before_removal(files: Files, root: Root) -> None:
    """Let stock reads and commits of a marked branch fail from now on, by the text of the mark. Idempotent.

    A commit whose writer has read the newest snapshot before can still come.
    """
    if read_if_there(files, root.latest_hint) != _HINT:
        files.replace(root.latest_hint, _HINT)


def is_marked(files: Files, root: Root) -> bool:
    """Whether a branch is marked for removal."""
    return files.exists(root.snapshot(BARRIER_ID))


def unmark(files: Files, root: Root, earliest: bytes | None) -> None:
    """Unmark and open a branch that stays, and restore its EARLIEST, if it had one. Idempotent."""
    ids = numbered(files.names(root.snapshots), SNAPSHOT_PREFIX)
    latest = str(ids[-1]).encode() if ids else None
    # LATEST first: without it engines list the snapshots, and take the mark for the newest one.
    for path, before in ((root.latest_hint, latest), (root.earliest_hint, earliest)):
        _restore_hint(files, path, before)
    files.delete(root.snapshot(BARRIER_ID))


def _restore_hint(files: Files, path: str, before: bytes | None) -> None:
    """Replace a hint to the barrier. Without a hint engines search for the snapshot."""
    if read_if_there(files, path) == _HINT:
        restore_file(files, path, before)


def restore_file(files: Files, path: str, before: bytes | None) -> None:
    """Replace a file by what it was before; None if there was none. Idempotent."""
    if read_if_there(files, path) == before:
        return
    if before is not None:
        files.replace(path, before)
    else:
        files.delete(path)


def remove_barrier(files: Files, table: TablePath, latest: bytes | None) -> None:
    """Remove the barrier when the table directory is main again, and restore its LATEST. Idempotent."""
    own = table.root()
    _restore_hint(files, own.latest_hint, latest)
    files.delete(own.snapshot(BARRIER_ID))


def has_barrier(files: Files, table: TablePath) -> bool:
    """Whether the barrier and its hint are both there."""
    own = table.root()
    there, latest = files.read_many([own.snapshot(BARRIER_ID), own.latest_hint])
    return there is not None and latest == _HINT


def stray_commits(files: Files, table: TablePath) -> list[Snapshot]:
    """The snapshots in the table directory that no branch has, oldest first; none while it is main.

    A job that opened the table before a replacement still commits there, where no reader looks.
    An interrupted replacement may leave snapshots there, but a branch has those, so they do not count.
    """
    own = table.root()
    if main_branch_name(files, table) is None:
        return []
    if not numbered(files.names(own.snapshots), SNAPSHOT_PREFIX):
        return []
    strays = list(Lineage(files, own).snapshots())
    for name in branch_names(files, table):
        paths = [table.root(name).snapshot(each.id) for each in strays]
        held = files.read_many(paths)
        strays = [
            each
            for each, path, data in zip(strays, paths, held, strict=True)
            if data is None or not is_same_commit(each, Snapshot.from_json(data, path))
        ]
    return strays

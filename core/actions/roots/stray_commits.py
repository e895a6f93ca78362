"""Stray commits: snapshots that a stale writer left in the table directory while a branch is main.

A job that opened the table before a replacement still commits to the table directory, where no reader looks.
"""

from __future__ import annotations

from paimark.core.storage.files import Files
from paimark.core.table.layout import SNAPSHOT_PREFIX, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, main_branch_name
from paimark.core.table.reading import numbered
from paimark.core.table.records import Snapshot, is_same_commit


def stray_commits(files: Files, table: TablePath) -> list[Snapshot]:
    """The snapshots in the table directory that no branch has, oldest first; none while it is main.

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

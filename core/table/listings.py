"""Lists for the command and the public API: the newest snapshots, and the savepoints of all branches."""

from __future__ import annotations

from collections.abc import Iterator

from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, branch_root
from paimark.core.table.reading import read_records
from paimark.core.table.records import Savepoint, Snapshot
from paimark.core.table.savepoints import SavepointManager
from paimark.core.table.system_tables import Row, Unreadable, savepoint_row


def newest_snapshots(
    files: Files, root: Root, limit: int | None, unreadable: Unreadable
) -> Iterator[Snapshot]:
    """The `limit` newest snapshots of a root (None: all), whole, newest first."""
    lineage = Lineage(files, root)
    lineage.unreadable = unreadable
    if limit is None:
        ids = lineage.snapshot_ids()[::-1]
    else:
        ids = [row.snapshot_id for row in lineage.newest(limit)]
    paths = [root.snapshot(each) for each in ids]
    return (snapshot for _, snapshot in read_records(Snapshot, files, paths, unreadable))


def savepoints_by_id(
    files: Files, table: TablePath, branch: str | None, unreadable: Unreadable
) -> list[tuple[Savepoint, str]]:
    """The savepoints of one branch, or without `branch` those of all, by id, each with its health."""
    manager = SavepointManager(files, table)
    manager.unreadable = unreadable
    main = branch_root(files, table, branch)
    if branch is not None:
        return manager.health_of_root(main)
    # Main comes last, so that its health replaces that in other branches that have the same savepoint.
    others = [root for root in map(table.root, branch_names(files, table)) if root != main]
    found = {
        each.id: (each, health) for root in (*others, main) for each, health in manager.health_of_root(root)
    }
    return [found[number] for number in sorted(found)]


def savepoint_rows(files: Files, table: TablePath, branch: str | None, unreadable: Unreadable) -> list[Row]:
    """The rows of `$savepoints`, as `savepoints_by_id` lists them."""
    return [savepoint_row(*each) for each in savepoints_by_id(files, table, branch, unreadable)]

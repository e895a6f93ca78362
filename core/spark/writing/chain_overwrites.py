"""What an overwrite of a chain table's delta branch takes out of its snapshot branch.

Readers take a partition from the snapshot branch if that has it: there it would hide the new rows. So two
commits belong together. The entry of the first in the operation log says what the second has to do, before
either is made: if the writer dies in between, `recover` makes the second.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Collection

from paimark.core.errors import NotFound
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.storage.files import Files
from paimark.core.table.definition.kind_signs import chain_branches
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.manifests.files import delta_facts, snapshot_facts
from paimark.core.table.operations import Owed
from paimark.core.table.records import Point, Snapshot, point_of


def owed_by(files: Files, target: WriteTarget, new: Snapshot) -> Owed | None:
    """What the snapshot branch has of the partitions that the commit changes; None for nothing.

    Actions write rows as a version had them: the snapshot branch stays as it is. Raises `NotFound`.
    """
    full, delta = chain_branches(target.table_schema.options)
    # Where nothing was to be replaced it is a plain commit.
    overwrites = target.overwrite or new.commit_kind == "OVERWRITE"
    if target.operation is None or not full or target.branch != delta or not overwrites:
        return None
    root = branch_root(files, target.root.table, full)
    if (head := Lineage(files, root).latest()) is None:
        return None
    changed = {each.key.partition for each in delta_facts(files, root.table, new)}
    found = changed & {each.key.partition for each in snapshot_facts(files, root.table, head)}
    if not found:
        return None
    return Owed(full, point_of(head), tuple(b64encode(each).decode() for each in sorted(found)))


def still_owed(files: Files, table: TablePath, owed: Owed) -> set[bytes]:
    """Those of its partitions that the snapshot branch still has. Raises `NotFound`."""
    if (head := Lineage(files, branch_root(files, table, owed.branch)).latest()) is None:
        return set()
    return partitions_of(owed) & {each.key.partition for each in snapshot_facts(files, table, head)}


def partitions_of(owed: Owed) -> set[bytes]:
    return {b64decode(each) for each in owed.partitions}


def may_have_changed(
    files: Files, root: Root, since: Point, partitions: Collection[bytes], harmless: Collection[str]
) -> bool:
    """Whether a commit after that one may have changed these partitions, but for the harmless kinds.

    True also if a snapshot is gone, so that nobody knows.
    """
    lineage = Lineage(files, root)
    newest = lineage.latest_id() or 0
    try:
        if not since.is_of(lineage.snapshot(since.id)):
            return True
        for number in range(since.id + 1, newest + 1):
            snapshot = lineage.snapshot(number)
            if snapshot.commit_kind in harmless:
                continue
            if any(each.key.partition in partitions for each in delta_facts(files, root.table, snapshot)):
                return True
    except NotFound:
        return True
    return False

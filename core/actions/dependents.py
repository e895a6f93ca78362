"""The living branches that stand on a tag of main.

Stock expiry on main spares what main's own tags hold, and looks at no branch: without the tag that a branch
was made from it deletes files that the branch still reads. That the branch has expired its first snapshots
does not change it: it stands on its own only when it has nothing of that state any more.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from core.errors import FileMissing
from core.storage.files import Files
from core.storage.parallel import each_of
from core.table.files import data_manifests, live_entries
from core.table.forks import Side, find_fork, is_same_commit
from core.table.layout import TablePath
from core.table.main_branch import all_roots, main_root
from core.table.records import Snapshot, Tag


def dependents(files: Files, table: TablePath, tag: Tag, going: Collection[str]) -> list[str]:
    """Who needs that main holds the commit of this tag, each as `Branch fix parts from main at`.

    `going` are the paths of the tags that leave, this one among them. Nobody needs it while main keeps
    another tag of the commit for good. Raises `Corrupt`.
    """
    own = main_root(files, table)
    if any(_holds_for_good(other, tag) for other in Side(files, own, going).tags.values()):
        return []
    main = Side(files, own).read()
    sides = [Side(files, root, going) for root in all_roots(files, table) if root not in (own, table.root())]
    found = each_of(partial(_dependence, files, main, tag), sides)
    return [each for each in found if each is not None]


def _holds_for_good(other: Tag, tag: Tag) -> bool:
    return other.tag_time_retained is None and is_same_commit(other, tag)


def _dependence(files: Files, main: Side, tag: Tag, branch: Side) -> str | None:
    name, fork = branch.root.label, find_fork(main, branch)
    parted = (fork.snapshot_id or 0) if fork.is_proven else 0
    if parted == tag.id:
        return f"Branch {name} parts from main at"
    if any(is_same_commit(each, tag) for each in branch.tags.values()):
        return f"Branch {name} has a tag of the same snapshot as"
    after = min((each for each in branch.known_ids if each > parted), default=None)
    if after is None or not parted < tag.id < after:
        return None
    # It has lost all that it knew of between: only files tell whether it parted there.
    return _sharing(files, main, tag, branch, branch.record(after))


def _sharing(files: Files, main: Side, tag: Tag, branch: Side, oldest: Snapshot | None) -> str | None:
    table = main.root.table
    try:
        is_shared = oldest is None or _live_names(files, table, tag) & _live_names(files, table, oldest)
    except FileMissing:
        return f"Branch {branch.root.label} may have files of"
    return f"Branch {branch.root.label} has files of" if is_shared else None


def _live_names(files: Files, table: TablePath, record: Snapshot) -> set[str]:
    entries = live_entries(files, table, data_manifests(files, table, record))
    return {str(entry.file["_FILE_NAME"]) for entry in entries}

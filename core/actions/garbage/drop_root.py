"""Remove a branch root for good: first the files that only it keeps, then the root.

Its own snapshots and tags name the files, so they are deleted last: a recovery reads them again.
"""

from __future__ import annotations

from paimark.core.actions.change.journal import Hold
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.garbage.references import ToDelete
from paimark.core.actions.garbage.sweep import LISTS_GONE, Removed, remove
from paimark.core.actions.garbage.unreferenced import FileCount
from paimark.core.actions.roots.root_files import remove_root
from paimark.core.errors import Refused
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import has_schema
from paimark.core.table.records import Snapshot, commit_key


def root_to_delete(files: Files, root: Root, kept: frozenset[str] = frozenset()) -> ToDelete:
    """Everything that a root holds, except the files in `kept`. Raises `Refused` if some is unreadable."""
    lineage = Lineage(files, root)
    snapshots = [each for each in lineage.snapshots() if root.snapshot(each.id) not in kept]
    tags = [(name, tag) for name, tag in lineage.tags() if root.tag(name) not in kept]
    for sentence in lineage.unreadable.values():
        raise Refused(
            f"What {root.label} keeps can't be told: {sentence}", "Repair or remove that file first."
        )
    records: dict[tuple[int, str, str], Snapshot] = {commit_key(tag): tag for _, tag in tags}
    records |= {commit_key(each): each for each in snapshots}
    ascending = sorted(records.values(), key=lambda each: each.id)
    paths = [root.snapshot(each.id) for each in snapshots] + [root.tag(name) for name, _ in tags]
    return ToDelete(
        roots=(root,),
        schema_id=ascending[-1].schema_id if ascending else 0,
        records=tuple(ascending),
        paths=frozenset(paths),
        is_expiry=True,
    )


def drop_root(
    context: Context, hold: Hold, root: Root, progress: Progress, count: FileCount | None = None
) -> Removed:
    """Delete the files that only this root keeps, then the root. Idempotent. `count`: as in `drop_files`."""
    removed = drop_files(context, hold, root, progress, count)
    remove_root(context.files, root)
    progress(f"removed branch {root.label}")
    return removed


def drop_files(
    context: Context,
    hold: Hold,
    root: Root,
    progress: Progress,
    count: FileCount | None = None,
    kept: frozenset[str] = frozenset(),
) -> Removed:
    """Delete the files that only this root keeps, besides what its files `kept` need. Idempotent.

    `count`: a count of them that was made before. Without a schema nobody can tell where its data files are:
    they stay.
    """
    if LISTS_GONE in hold.steps or not has_schema(context.files, root):
        return Removed()
    to_delete = root_to_delete(context.files, root, kept)
    return remove(context, hold, to_delete, progress, count=count) if to_delete.records else Removed()

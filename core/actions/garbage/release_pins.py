"""Delete pins: the tags by which main keeps what a branch depends on. Tells when they may go."""

from __future__ import annotations

import re
from collections.abc import Mapping

from paimark.core.actions.change.journal import Hold
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.garbage.dependents import is_held
from paimark.core.actions.garbage.references import ToDelete
from paimark.core.actions.garbage.sweep import Removed, remove
from paimark.core.actions.garbage.unreferenced import FileCount
from paimark.core.actions.names import first_name
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.forks import Side, find_forks
from paimark.core.table.lineage.main_branch import all_roots, main_root
from paimark.core.table.records import Tag, commit_key


def released(files: Files, main: Root, branch: str) -> dict[str, Tag]:
    """Main's pins for a branch that are no longer needed once the branch is gone, by name.

    None while the branch is only retired, and may come back. A pin also stays if another branch forks from
    main at it or at an unknown snapshot, unless another permanent tag of main holds the commit. Raises
    `Corrupt`.
    """
    side, name = Side(files, main), first_name(branch)
    own = re.compile(rf"paimark\.(merge|truncate)\.{re.escape(name)}\.\d+")
    pins = {each: tag for each, tag in side.tags.items() if own.fullmatch(each)}
    others = [root for root in all_roots(files, main.table) if root not in (main, main.table.root(branch))]
    if not pins or name in {first_name(root.label) for root in others}:
        return {}
    besides = {each: tag for each, tag in side.tags.items() if each not in pins}
    forks = {each.snapshot_id for each in find_forks(files, side, others)}
    return {
        each: tag
        for each, tag in pins.items()
        if forks.isdisjoint({tag.id, None}) or is_held(files, main, tag, besides)
    }


def pins_to_delete(main: Root, pins: Mapping[str, Tag]) -> ToDelete:
    """One or more pins, while their files and their guards still exist."""
    roots = (main,) if main.branch is None else (main, main.table.root())
    records = {commit_key(tag): tag for tag in pins.values()}
    ascending = sorted(records.values(), key=lambda each: each.id)
    paths = frozenset(root.tag(name) for root in roots for name in pins)
    return ToDelete(roots, ascending[-1].schema_id, tuple(ascending), paths)


def release(
    context: Context,
    hold: Hold,
    branch: str,
    progress: Progress,
    count: FileCount | None = None,
    snapshot: int | None = None,
) -> Removed:
    """After a branch is gone: delete its pins, with the files that only they kept. Idempotent.

    `count`: a count of them that was made before. With `snapshot`, only the pins of it.
    """
    files, main = context.files, main_root(context.files, hold.table)
    found = released(files, main, branch).items()
    pins = {name: tag for name, tag in found if snapshot in (None, tag.id)}
    if not pins:
        return Removed()
    to_delete = pins_to_delete(main, pins)
    removed = remove(context, hold, to_delete, progress, part="pins: ", count=count)
    for path in sorted(to_delete.paths):
        files.delete(path)
    progress(f"released tag {', '.join(pins)}")
    return removed

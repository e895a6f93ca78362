"""Tags that protected what a statement read, and were left when its engine died."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from core.actions.change import driver
from core.actions.context import Context, Progress, Remark
from core.errors import NotFound, Refused
from core.storage.files import Files
from core.storage.parallel import each_of
from core.table.layout import Root, TablePath
from core.table.lineage.lineage import Lineage
from core.table.lineage.main_branch import all_roots, main_root
from core.table.read_tags import is_left_over, is_read_tag


def left_reads(context: Context, table: TablePath) -> Iterator[tuple[Root, str]]:
    """The roots and the names."""
    files = context.files
    main = main_root(files, table)
    # While a branch is main, what guards its tags in the table directory is put right elsewhere.
    roots = [root for root in all_roots(files, table) if root.branch is not None or root == main]
    for root, names in zip(roots, each_of(partial(_of_reads, files), roots), strict=True):
        lineage = Lineage(files, root)
        for name in names:
            if is_left_over(name, lineage.tag(name), context.clock()):
                yield root, name


def _of_reads(files: Files, root: Root) -> list[str]:
    try:
        return list(filter(is_read_tag, Lineage(files, root).tag_names()))
    except NotFound:
        # Half made or half deleted: finishing or undoing that comes first.
        return []


def remove(context: Context, root: Root, name: str, progress: Progress) -> None:
    """With every file that only the tag keeps by now."""
    from core.actions.registry import action

    try:
        planned = action("delete-tag").plan(context, root.table, {"name": name, "branch": root.branch})
        driver.apply(context, planned, progress)
    except (NotFound, Refused) as error:
        # Somebody else removed it, or it must stay for a reason that its plan gives.
        progress(Remark(f"tag {name} was not removed: {error.message}"))

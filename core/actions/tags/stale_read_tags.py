"""Find and remove read tags that were left behind when their engine died."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from paimark.core.actions.change import driver
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.errors import NotFound, Refused
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, main_root
from paimark.core.table.read_tags import is_read_tag, is_stale


def left_reads(context: Context, table: TablePath) -> Iterator[tuple[Root, str]]:
    """The roots and names of stale read tags."""
    files = context.files
    main = main_root(files, table)
    # While a branch is main, its guards in the table directory are repaired elsewhere.
    roots = [root for root in all_roots(files, table) if root.branch is not None or root == main]
    for root, names in zip(roots, each_of(partial(_of_reads, files), roots), strict=True):
        lineage = Lineage(files, root)
        for name in names:
            try:
                tag = lineage.tag(name)
            except NotFound:
                # Its read has ended since the listing.
                continue
            if is_stale(name, tag, context.clock()):
                yield root, name


def _of_reads(files: Files, root: Root) -> list[str]:
    try:
        return list(filter(is_read_tag, Lineage(files, root).tag_names()))
    except NotFound:
        # The root is half made or half deleted: a recovery comes first.
        return []


def remove(context: Context, root: Root, name: str, progress: Progress) -> None:
    """Remove the tag, with every file that only it keeps by now."""
    from paimark.core.actions.registry import action

    try:
        planned = action("delete-tag").plan(context, root.table, {"name": name, "branch": root.branch})
        driver.apply(context, planned, progress)
    except (NotFound, Refused) as error:
        # Another process removed it, or it must stay for the reason in the error.
        progress(Remark(f"tag {name} was not removed: {error.message}"))

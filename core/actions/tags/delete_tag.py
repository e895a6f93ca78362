"""`delete-tag`: remove a stock tag with every file that only it keeps; also read tags whose engine died."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from paimark.core.actions.change import driver
from paimark.core.actions.change.change import Work
from paimark.core.actions.checks import required_text, text_argument
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.garbage import deletion
from paimark.core.actions.garbage.deletion import (
    DeleteReference,
    DeletionTarget,
    dependents_refusals,
    seen,
    tags_named,
)
from paimark.core.actions.plan import Plan, Refusal
from paimark.core.errors import NotFound, Refused
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import SAVEPOINT_TAG_PREFIX, Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, branch_root, main_root
from paimark.core.table.read_tags import is_read_tag, is_stale
from paimark.core.table.records import Tag, is_same_commit

_OURS = "paimark."


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `name`, `branch` (main when None). Raises `NotFound`."""
    name, branch = required_text(arguments, "name"), text_argument(arguments, "branch")
    target, refusals = _find(context, table, name, branch)
    arguments_now = {"tag_name": name, "branch": branch}
    return deletion.plan_deletion(context, target, f"tag {name}", arguments_now, refusals)


class DeleteTag(DeleteReference):
    """Delete the tag that the plan names."""

    @classmethod
    def find(cls, work: Work) -> tuple[DeletionTarget, list[Refusal]]:
        given = work.plan.arguments
        return _find(work.context, work.table, str(given["tag_name"]), text_argument(given, "branch"))


def _find(
    context: Context, table: TablePath, name: str, branch: str | None
) -> tuple[DeletionTarget, list[Refusal]]:
    files = context.files
    root = branch_root(files, table, branch)
    tag = Lineage(files, root).tag(name)
    roots = [root]
    if root.branch is not None and root == main_root(files, table):
        # Its guard in the table directory has to be deleted with it.
        roots.append(table.root())
    tags = tags_named(files, roots, name)
    same = {
        each: tag_and_roots for each, tag_and_roots in tags.items() if is_same_commit(tag_and_roots[0], tag)
    }
    target = DeletionTarget(table, name, root, tuple(same), tag, None, seen(b"", same))
    return target, _refusals(context, target, tag)


def _refusals(context: Context, target: DeletionTarget, tag: Tag) -> list[Refusal]:
    name, number = target.tag_name, target.tag_name.removeprefix(SAVEPOINT_TAG_PREFIX)
    if name.startswith(SAVEPOINT_TAG_PREFIX):
        hint = f"Delete the savepoint: `paimark delete-savepoint {target.table.word} --id {number}`"
        return [Refusal(f"Tag {name} protects a savepoint", hint)]
    if is_read_tag(name):
        if is_stale(name, tag, context.clock()):
            return []
        return [Refusal(f"Tag {name} protects what a statement reads", "It goes when that ends.")]
    if name.startswith(_OURS):
        return [Refusal(f"Tag {name} is kept by the program for a merge", "It goes with its branch.")]
    return dependents_refusals(context.files, target, f"tag {name}")


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


def remove_left_read(context: Context, root: Root, name: str, progress: Progress) -> None:
    """Remove the tag, with every file that only it keeps by now."""
    from paimark.core.actions.registry import action

    try:
        planned = action("delete-tag").plan(context, root.table, {"name": name, "branch": root.branch})
        driver.apply(context, planned, progress)
    except (NotFound, Refused) as error:
        # Another process removed it, or it must stay for the reason in the error.
        progress(Remark(f"tag {name} was not removed: {error.message}"))

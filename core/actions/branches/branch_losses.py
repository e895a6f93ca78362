"""What is lost with a branch, and who uses it: the items of the plans that delete, retire or rename one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from paimark.core.actions.change import operations
from paimark.core.actions.change.change import Work
from paimark.core.actions.context import Context
from paimark.core.actions.merge.base import base_of
from paimark.core.actions.plan import Item
from paimark.core.actions.plan_wording import (
    commits_between,
    engine_of,
    final,
    job_of,
    job_that_writes,
    name_lost,
    streaming_readers,
    unit_in,
    version_of,
)
from paimark.core.actions.roots.root_state import RootState
from paimark.core.errors import Corrupt, FileMissing, NotFound, Refused
from paimark.core.figures import age, counted
from paimark.core.storage.files import Files
from paimark.core.table.commits import only_compacted_since
from paimark.core.table.layout import Root
from paimark.core.table.lineage.forks import Side, find_fork
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.read_tags import is_read_tag, is_stale
from paimark.core.table.records import Snapshot, point_of


def lost_with(context: Context, root: Root, branch_state: RootState | None) -> list[Item]:
    """The commits that main does not have, and that there is no way back."""
    no_way = final("--keep retires the branch: that can")
    if branch_state is None:
        what = "the branch has no schema: the data files that only it kept stay"
        return [*_unread(context, root), no_way, Item("keeps", what)]
    main = main_root(context.files, root.table)
    head = branch_state.head
    if head is None:
        return [name_lost(root.label, "the branch has no commit"), no_way]
    start = _in_main(context.files, main, root)
    unit = unit_in(context.files, root)
    if start is None:
        text = f"{version_of(head.snapshot, unit)} and all before it: where the branch was made is not known"
        return [Item("loses", text, "branch-commits-gone", is_grave=True), no_way]
    commits = commits_between(start, head.snapshot)
    if commits.number <= 0:
        return [name_lost(root.label, "main has all its commits"), no_way]
    if only_compacted_since(Lineage(context.files, root), point_of(start), head.snapshot):
        return [name_lost(root.label, "main has all its commits but compactions"), no_way]
    were = "it was" if commits.number == 1 else "they were"
    text = f"{commits.said('its', unit, context.clock())}: {were} not merged into main"
    return [commits.item(text, "branch-commits-gone", unit), no_way]


def loses_commits(lost: Sequence[Item]) -> bool:
    return any(each.kind == "loses" and each.is_grave for each in lost)


def _unread(context: Context, root: Root) -> list[Item]:
    """Commits that no engine reads: left of the branch, or of a job that was open when the branch went."""
    newest = Lineage(context.files, root).latest()
    if newest is None:
        return []
    count = len(Lineage(context.files, root).snapshot_ids())
    job = job_of(newest.commit_user) or engine_of(newest.writer_version)
    text = (
        f"{counted(count, 'commit')} that nobody reads (newest {age(newest.time_millis, context.clock())}, "
        f"by {job}). If a job went on after the branch was gone, stop it, and have it write its rows again"
    )
    return [Item("loses", text, "unread-commits", is_grave=True, count=count, unit="commits")]


def _in_main(files: Files, main: Root, root: Root) -> Snapshot | None:
    """The newest snapshot of the branch that main has, by a merge or from before the fork; None: unknown."""
    target, branch = (Side(files, each, ancestors_only=True) for each in (main, root))
    try:
        base = base_of(files, target, branch)
        if base.root == root:
            return base.state
        # What it has from others tells nothing of its own commits.
        fork = find_fork(target, branch).snapshot_id
        return None if fork is None else branch.record(fork)
    except (Refused, Corrupt, FileMissing):
        return None


def _jobs(context: Context, root: Root) -> Item:
    """Who writes to the branch: what it was made with says nothing of its own jobs."""
    main = Side(context.files, main_root(context.files, root.table))
    try:
        made_from = find_fork(main, Side(context.files, root)).snapshot_id or 0
    except Corrupt:
        made_from = 0
    writer = job_that_writes(context.files, root, made_from)
    if writer is None:
        return Item("affects", "jobs on it fail, if there are any: readers leave no trace", "stock-unseen")
    text = (
        f"stop the jobs on it ({writer.job or writer.engine} wrote {age(writer.time, context.clock())}): "
        "what one commits that is open then is in no branch, and nobody reads it"
    )
    return Item("first", text, "branch-writer-seen", is_grave=True, newest=writer.time)


def reads_now(context: Context, root: Root) -> Iterator[Item]:
    """That a statement reads the branch: nothing keeps the branch for it."""
    lineage = Lineage(context.files, root)
    names = filter(is_read_tag, lineage.tag_names())
    with suppress(NotFound):
        # A read that ends deletes its tag.
        if any(not is_stale(name, lineage.tag(name), context.clock()) for name in names):
            yield Item("affects", "a statement reads it now: that fails", "read-now")


def affected(context: Context, root: Root, branch_state: RootState | None) -> list[Item]:
    """Who uses the branch, and which changes can't be taken back without it."""
    items = []
    if branch_state is not None:
        items += [_jobs(context, root), *streaming_readers(context.files, [root])]
    return [*items, *_ways_back(context, root)]


def _ways_back(context: Context, root: Root) -> Iterator[Item]:
    for entry in operations.undoable(context, root.table):
        if root.label in entry.turned.needs:
            what = f"{entry.branch} becoming main" if entry.turned.main else entry.description
            yield Item("loses", f"the way back from {what}", "way-back-gone", is_grave=True)


def require_ways_back(work: Work, root: Root) -> None:
    """Raises `Refused` if the branch has become the way back from a change, which the plan does not name."""
    agreed = {each.text for each in work.plan.items}
    for each in _ways_back(work.context, root):
        if each.text not in agreed:
            text = f"branch {root.label} of {root.table.full_name} is {each.text} by now"
            raise Refused(text, "Nothing was changed: make a new plan.")

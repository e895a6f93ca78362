"""The snapshot that a new tag is to keep, and the proof that the tag came in time.

An expiry lists the tags once, deletes data files, then manifests, and the snapshot file last. A tag that is
written meanwhile may be too late to save its files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from paimark.core.actions.change import journal
from paimark.core.actions.checks import fingerprint, require_unmoved, text_argument
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.plan import Item, Plan
from paimark.core.actions.plan_wording import holding_expiry
from paimark.core.actions.roots.waiting import wait_for_expiry
from paimark.core.actions.temp_files import read_again_if_moved
from paimark.core.errors import Corrupt, FileMissing, NotFound, Refused, Unavailable
from paimark.core.figures import counted
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.definition.retention import retention_off
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.branches import branch_health
from paimark.core.table.lineage.forks import Side, find_fork, unheld_fork
from paimark.core.table.lineage.lineage import Lineage, said_ids
from paimark.core.table.lineage.main_branch import branch_root, main_root, root_exists
from paimark.core.table.manifests.files import NeededNames, each_needed_file, missing_names, needed_names
from paimark.core.table.records import Snapshot
from paimark.core.text import capitalised, lowered

_ATTEMPTS = 3
_DELETION = "delete-branch"

T = TypeVar("T")


class SnapshotLost(Refused):
    """The snapshot's files were gone before the tag could keep them; the operation is taken back."""

    def __init__(self, chosen: ChosenSnapshot, missing: list[str]) -> None:
        count = f"{len(missing)} of its files are" if len(missing) > 1 else f"{missing[0]} is"
        super().__init__(
            f"Snapshot {chosen.snapshot.id} of {chosen.root.table.full_name} could not be kept: {count} gone",
            "It has expired, or is expiring now: choose a newer one.",
        )


@dataclass(frozen=True)
class ChosenSnapshot:
    """A snapshot with the bytes of its file, which a tag copies."""

    root: Root
    snapshot: Snapshot
    data: bytes

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.root.directory, self.data)


def choose(files: Files, root: Root, snapshot_id: int | None) -> ChosenSnapshot | None:
    """The snapshot with this id, or the newest; None for a root without snapshots. Raises `NotFound`."""
    lineage = Lineage(files, root)
    for _ in range(_ATTEMPTS):
        wanted = lineage.latest_id() if snapshot_id is None else snapshot_id
        if wanted is None:
            return None
        path = root.snapshot(wanted)
        try:
            data = files.read(path)
        except FileMissing:
            if snapshot_id is not None:
                raise _no_snapshot(lineage, snapshot_id) from None
            # It expired, or was rolled back, after it was found to be the newest.
            continue
        return ChosenSnapshot(root, Snapshot.from_json(data, path), data)
    raise Unavailable(
        f"The snapshots of {root.table.full_name} change faster than they can be read", "Try again."
    )


def choose_planned(files: Files, root: Root, at: int | None) -> ChosenSnapshot | None:
    """As `choose`, for the snapshot of a plan, if there is one. Raises `Refused` if that is gone."""
    try:
        return choose(files, root, at)
    except NotFound as error:
        if at is None:
            raise
        hint = f"It was there when the plan was made: make a new plan. {holding_expiry(files, root)}"
        raise Refused(error.message, hint) from error


def choose_as_planned(context: Context, table: TablePath, plan: Plan) -> ChosenSnapshot:
    """The snapshot of the arguments `branch` and `snapshot`. Raises `Refused` when it is another one now."""
    files, branch = context.files, text_argument(plan.arguments, "branch")
    wanted = int(plan.arguments["snapshot"] or 0)
    try:
        chosen = read_again_if_moved(lambda: choose(files, branch_root(files, table, branch), wanted))
    except NotFound:
        chosen = None
    require_unmoved(table, plan, chosen.fingerprint if chosen else "")
    if chosen is None:
        raise Refused(f"{table.full_name} has no snapshot", "Commit some rows first.")
    return chosen


def keep(
    context: Context,
    chosen: ChosenSnapshot,
    plan: Plan,
    progress: Progress,
    make: Callable[[ChosenSnapshot], T],
) -> T:
    """Make a reference to the snapshot; if it expires and the newest was asked for, take a newer one."""
    while True:
        try:
            return make(chosen)
        except SnapshotLost:
            newer = choose(context.files, chosen.root, None) if plan.arguments["newest"] else None
            if newer is None or newer.snapshot.id <= chosen.snapshot.id:
                raise
            progress(Remark(f"snapshot {chosen.snapshot.id} expired meanwhile: taking {newer.snapshot.id}"))
            chosen = newer


def cost_of_proof(context: Context, chosen: ChosenSnapshot) -> str:
    """What the proof that nothing is lost comes to, for the plan."""
    if is_newest(context.files, chosen):
        return "no data is copied"
    return f"no data is copied; every file is looked for twice, {context.verify_wait:g} s apart"


def stock_expiry_items(files: Files, root: Root) -> list[Item]:
    """What a plan says before something on this root is to be kept. Raises `Corrupt`."""
    if root.branch is None or branch_health(files, root) == "ok":
        return []
    text = f"stock expiry on branch {root.branch} can destroy savepoints: its schema lacks {retention_off()}"
    return [Item("affects", text, "stock-expiry")]


def expiry_items(files: Files, chosen: ChosenSnapshot) -> list[Item]:
    """How stock expiry may harm a snapshot that is to be kept. Raises `Corrupt`."""
    root = chosen.root
    main, branch = Side(files, main_root(files, root.table)), Side(files, root)
    unheld = None if main.root == root else unheld_fork(main, branch, find_fork(main, branch))
    # A tag of a snapshot that both roots hold is also written to main.
    if unheld is None or (unheld.in_main and unheld.snapshot.id == chosen.snapshot.id):
        return stock_expiry_items(files, root)
    danger = Item("affects", lowered(unheld.danger(f"branch {root.label}")), "stock-expiry")
    return [*stock_expiry_items(files, root), danger]


def is_newest(files: Files, chosen: ChosenSnapshot) -> bool:
    """Whether the snapshot file exists and the next does not; hints are ignored.

    The next one is checked first: expiry deletes in ascending order, so if it has expired, the first has too.
    """
    if files.exists(chosen.root.snapshot(chosen.snapshot.id + 1)):
        return False
    return read_if_there(files, chosen.root.snapshot(chosen.snapshot.id)) == chosen.data


def require_whole(context: Context, chosen: ChosenSnapshot, progress: Progress) -> NeededNames | None:
    """Before a tag is written: check and return every file of the snapshot; None for main's newest.

    The newest is certainly whole. Raises `SnapshotLost`.
    """
    if _is_surely_whole(context, chosen):
        return None
    needed = _needed(context, chosen)
    _require_all(context, chosen, needed, progress)
    return needed


def require_held(
    context: Context, chosen: ChosenSnapshot, needed: NeededNames | None, progress: Progress
) -> None:
    """Prove that the tag just written keeps the snapshot. Raises `SnapshotLost` when it came too late.

    No expiry deletes the newest snapshot. For another one, every file (`needed`, read when None) is looked
    for twice with a pause between, in case an expiry that read the tags before this one is still deleting.
    Raises `Refused` if the snapshot's branch is being deleted, because the deletion may not have seen the
    tag.
    """
    _require_staying(context, chosen.root)
    if _is_surely_whole(context, chosen):
        progress(f"snapshot {chosen.snapshot.id} is the newest: nothing of it can be gone")
        return
    needed = _needed(context, chosen) if needed is None else needed
    _require_all(context, chosen, needed, progress)
    if is_newest(context.files, chosen):
        return
    wait_for_expiry(context.verify_wait, progress)
    _require_all(context, chosen, needed, progress)


def prune_gone(files: Files, root: Root) -> None:
    """After a tag was taken back from a branch that had been deleted: remove the empty directories, too.

    They would be taken for a branch. Idempotent.
    """
    if root.branch is not None and not root_exists(files, root):
        files.prune(root.directory)


def _require_staying(context: Context, root: Root) -> None:
    """Raises `Refused` if the branch is being deleted.

    A deletion that begins later lists the tag, and fails.
    """
    if root.branch is None:
        return
    holder = journal.current(context, root.table)
    # In this order: a deletion that ended in between has removed the root.
    if not root_exists(context.files, root):
        raise Refused(
            f"Branch {root.label} of {root.table.full_name} was deleted just then",
            "Take the snapshot from another branch.",
        )
    if holder is None:
        return
    if (holder.journal.change, holder.journal.state.get("name")) == (_DELETION, root.branch):
        raise Refused(
            f"Branch {root.label} of {root.table.full_name} is being deleted",
            f"Take the snapshot from another branch. `paimark recover {root.table.word}` ends a deletion "
            "that was interrupted.",
        )


def _is_surely_whole(context: Context, chosen: ChosenSnapshot) -> bool:
    """False on a branch: its files from before the fork are main's, and main's expiry may delete them."""
    return chosen.root.branch is None and is_newest(context.files, chosen)


def _needed(context: Context, chosen: ChosenSnapshot) -> NeededNames:
    try:
        needed = needed_names(each_needed_file(context.files, chosen.root, chosen.snapshot))
    except FileMissing as error:
        raise SnapshotLost(chosen, [error.path]) from error
    except Corrupt:
        _require_not_replaced(context.files, chosen.root)
        raise
    if needed.outside:
        raise Refused(
            f"Snapshot {chosen.snapshot.id} has {counted(needed.outside, 'file')} outside the warehouse",
            "Only the newest snapshot of such a table can be kept.",
        )
    return needed


def _require_not_replaced(files: Files, root: Root) -> None:
    """Raises `Refused` if the root was main's and a branch is main now: a notice is in a schema's place."""
    main = main_root(files, root.table)
    if root.branch is None and main != root:
        raise Refused(
            f"main of {root.table.full_name} moved since the plan was made: it is branch {main.label} now",
            "Nothing was changed: make a new plan.",
        )


def _require_all(context: Context, chosen: ChosenSnapshot, needed: NeededNames, progress: Progress) -> None:
    if missing := missing_names(context.files, needed):
        raise SnapshotLost(chosen, missing)
    progress(f"all {counted(needed.count, 'file')} of snapshot {chosen.snapshot.id} are there")


def _no_snapshot(lineage: Lineage, snapshot_id: int) -> NotFound:
    return NotFound(
        f"{lineage.root.label} of {lineage.root.table.full_name} has no snapshot {snapshot_id}",
        f"{capitalised(said_ids(lineage.snapshot_ids()))}.",
    )

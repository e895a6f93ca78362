"""`delete-branch`: delete a branch with every file that only it keeps, or, with `--keep`, only retire it.

A retired branch is still a branch, named `retired-<name>-<time>`, with all its files; `undo` gives it its
name back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import msgspec

from paimark.core.actions.branches.branch_losses import (
    affected,
    loses_commits,
    lost_with,
    reads_now,
    require_ways_back,
)
from paimark.core.actions.branches.removal import (
    Agreed,
    Late,
    agreed_on,
    came_since,
    keep_only,
    last_look,
    mark,
    still_goes,
    unmarked,
)
from paimark.core.actions.change import journal
from paimark.core.actions.change.change import GONE, Change, Done, Work
from paimark.core.actions.change.journal import COMMITTED, Hold, JournaledChange
from paimark.core.actions.checks import (
    KEPT,
    changelog_refusals,
    feature_refusals,
    fingerprint,
    read_along,
    require_kept,
    require_unmoved,
    required_text,
)
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.garbage import release_pins
from paimark.core.actions.garbage.deletion import freed_items, freed_steps
from paimark.core.actions.garbage.release_pins import drop_files, root_to_delete
from paimark.core.actions.garbage.sweep import Removed
from paimark.core.actions.garbage.unreferenced import FileCount, Freed
from paimark.core.actions.names import retired_name
from paimark.core.actions.plan import NO_DATA_FILE, Item, Plan, Refusal, Step, Taken, raise_first
from paimark.core.actions.plan_wording import end_unknown, nothing_lost, otherwise
from paimark.core.actions.replace.comparison import savepoints_held_alone
from paimark.core.actions.roots.root_files import remove_root, root_files
from paimark.core.actions.roots.root_state import RootState, held_by, moving_refusals, state
from paimark.core.actions.roots.waiting import cleanings_to_stop
from paimark.core.actions.savepoints.unprotected import beyond_repair, protect_without
from paimark.core.errors import NotFound, Refused
from paimark.core.figures import counted, some_of
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import MAIN, TAG_PREFIX, Root, TablePath
from paimark.core.table.lineage.main_branch import (
    all_roots,
    branch_root,
    has_schema,
    main_branch_name,
    main_root,
    root_exists,
)
from paimark.core.table.manifests.files import missing_of
from paimark.core.table.names import checked_name

_DELETES = "deletes what only the branch keeps"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `name`, and `keep` to retire it instead. Raises `NotFound`."""
    name, keeps = required_text(arguments, "name"), arguments.get("keep") is True
    root, branch_state = find(context, table, name)
    refusals = branch_refusals(context, root, keeps=keeps)
    freed, released = Freed(), list[Step]()
    if branch_state is not None and not keeps and not refusals:
        freed, released, more = _freed(context, root)
        refusals += more
    sizes = root_files(context.files, root)
    lost = [] if keeps else lost_with(context, root, branch_state)
    retired = retired_name(context, name) if keeps else None
    gone = Step("delete", f"branch {name}", counted(len(sizes), "metadata file"), sum(sizes.values()))
    whole = f"to the name {retired}: {counted(len(sizes), 'metadata file')}, {NO_DATA_FILE}"
    moved = Step("move", f"branch {name}", whole, sum(sizes.values()))
    retiring = f"Retire branch {name} of {table.full_name} as {retired}."
    return Plan(
        change="retire-branch" if keeps else "",
        headline=retiring if keeps else f"Delete branch {name} of {table.full_name}.",
        arguments={"name": name, "keep": keeps, "retired": retired},
        fingerprint=seen(context, root, branch_state),
        steps=(moved,) if keeps else (*freed_steps(freed), gone, *released),
        items=(
            *(_retired(name, retired or "") if keeps else lost),
            *end_unknown(context.files, root),
            *affected(context, root, branch_state),
            *(() if keeps else reads_now(context, root)),
            *(cleanings_to_stop(context.files, root) if keeps else freed_items(table, freed)),
        ),
        phrase=name,
        cost=f"{counted(len(sizes), 'metadata file')}, no data file" if keeps else "",
        refusals=tuple(refusals),
        freed_files=len(freed.files),
        freed_bytes=freed.size,
        undo=table.undo if keeps else "",
        takes=tuple(Taken("tag", each.target.rpartition(f"/{TAG_PREFIX}")[2]) for each in released),
        lasting="" if keeps or loses_commits(lost) else KEPT,
    )


class DeleteBranchState(msgspec.Struct, frozen=True):
    """The branch to delete."""

    name: str  # the branch


class DeleteBranch(Change[DeleteBranchState]):
    """The journal entry is the point of no return: after it the branch is read again and deleted."""

    State = DeleteBranchState

    def __init__(self, work: Work, state: DeleteBranchState) -> None:
        super().__init__(work, state)
        self._removed = Removed()
        self._counts = Counts()
        # Why the branch stays after all.
        self._stays = ""

    @classmethod
    def begin(cls, work: Work) -> Self:
        root, _ = as_planned(work)
        return cls(work, DeleteBranchState(root.label))

    @property
    def _root(self) -> Root:
        return self.work.table.root(self.state.name)

    def check(self, hold: Hold) -> None:
        # Counted first, because it may take minutes: the checks must still hold at the point of no return.
        if has_schema(self.work.files, self._root):
            self._counts = _counts(self.work.files, self._root, self.work.progress)
            self._counts.freed()
        root, _ = as_planned(self.work)
        raise_first(branch_refusals(self.work.context, root, keeps=False))

    def prepare(self, hold: Hold) -> None:
        if root_exists(self.work.files, self._root):
            mark(hold, self._root, "DELETED")

    def commit(self, hold: Hold) -> Mapping[str, Any]:
        as_planned(self.work)
        agreed: dict[str, Any] = msgspec.to_builtins(agreed_on(self.work.files, self._root))
        return agreed

    def finish(self, hold: Hold) -> None:
        context, progress = self.work.context, self.work.progress
        if not still_goes(hold, self._root):
            self._stays = "it is another of this name, made since"
            return
        if _DELETES not in hold.steps:
            is_there = root_exists(context.files, self._root)
            if is_there and (late := last_look(context, self._root, _agreed(hold.journaled), progress)):
                self._stays = f"{late} came after the plan"
                unmarked(hold, self._root)
                return
            hold.note(_DELETES)
        if not has_schema(context.files, self._root):
            protect_without(context.files, self._root, progress)
        kept = self._late(hold.journaled).paths(self._root)
        self._removed = drop_files(context, hold, self._root, progress, self._counts.branch, kept)
        if late := self._late(hold.journaled):
            self._keep_late(hold, late)
            return
        remove_root(context.files, self._root)
        progress(f"removed branch {self.state.name}")
        self._removed += release_pins.release(context, hold, self.state.name, progress, self._counts.pins)

    def _late(self, journaled: JournaledChange) -> Late:
        """What came after the plan."""
        return came_since(self.work.files, self._root, _agreed(journaled))

    def _keep_late(self, hold: Hold, late: Late) -> None:
        """Leave the branch with what came while its files were being deleted."""
        files, root = self.work.files, self._root
        keep_only(files, root, late)
        unmarked(hold, root)
        self._stays = f"{late} came while it was being deleted"
        lost = [each for record in late.commits[-1:] for each in missing_of(files, root, record)]
        if lost:
            self._stays += f", and lacks {some_of(lost, 1)}"

    def take_back(self, hold: Hold) -> None:
        unmarked(hold, self._root)

    def no_way_back(self) -> str:
        return GONE

    def done(self) -> Done:
        name, removed, plan = self.state.name, self._removed, self.work.plan
        message = f"Deleted branch {name} of {plan.table}{removed.said(plan)}"
        if self._stays:
            message = f"Branch {name} of {plan.table} stays: {self._stays}"
        return Done(
            message=message,
            result={
                "branch_name": name,
                "retired_as": None,
                **removed.facts,
                **({"stays": self._stays} if self._stays else {}),
            },
            before=f"branch {name}",
            after=f"branch {name}" if self._stays else f"no branch {name}",
            falls_short=bool(self._stays),
        )

    def prospect(self, hold: Hold) -> Item:
        late = self._late(hold.journaled)
        if not late:
            return nothing_lost("no commit or tag came to the branch since the plan")
        how = "in part" if _DELETES in hold.steps else "whole"
        return otherwise(f"branch {self.state.name} stays, {how}: {late} came after its deletion was planned")

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        branch = f"branch {self.state.name}"
        if not interrupted.is_committed:
            return [Step("check", branch, "it stays: its deletion had not begun")]
        late = self._late(interrupted)
        if late and _DELETES not in interrupted.steps:
            return [Step("check", branch, f"it stays with all its files: {late} came after the plan")]
        if late:
            return [Step("delete", f"what the plan named of {branch}", f"it stays: {late} came after that")]
        return [Step("delete", branch, "and the files that only it kept, as far as they are there")]


def _agreed(journaled: JournaledChange) -> Agreed:
    """What a person agreed to lose, once that is decided."""
    return journaled.all_noted(COMMITTED, Agreed)[-1]


def find(context: Context, table: TablePath, name: str) -> tuple[Root, RootState | None]:
    """The branch with its state (None if it has no schema). Raises `NotFound` and `UsageError`.

    A branch without a schema is what an engine left that died while it made or deleted the branch.
    """
    files, root = context.files, table.root(checked_name(name, "branch"))
    if name != MAIN and files.entries(root.directory) and not has_schema(files, root):
        return root, None
    root = branch_root(files, table, name)
    return root, None if root.branch is None else state(files, root)


def as_planned(work: Work) -> tuple[Root, RootState | None]:
    """The branch that the plan names, with its state. Raises `Refused` when it moved since."""
    root, branch_state = find(work.context, work.table, str(work.plan.arguments["name"]))
    what = f"branch {root.label}"
    require_unmoved(work.table, work.plan, seen(work.context, root, branch_state), what)
    require_ways_back(work, root)
    if work.plan.lasting == KEPT:
        is_kept = not loses_commits(lost_with(work.context, root, branch_state))
        require_kept(work.plan, f"{what} of {work.table.full_name}", is_kept=is_kept)
    return root, branch_state


def seen(context: Context, root: Root, branch_state: RootState | None) -> str:
    return (
        branch_state.fingerprint
        if branch_state
        else fingerprint(root.directory, held_by(context.files, root))
    )


def branch_refusals(context: Context, root: Root, *, keeps: bool) -> list[Refusal]:
    """Why the branch can't be deleted, or retired."""
    files, table = context.files, root.table
    if root == main_root(files, table):
        return [Refusal(f"{root.label} is main of {table.full_name}", "Make another branch main first.")]
    refusals = moving_refusals(context, root)
    if keeps and not has_schema(files, root):
        reason = f"Branch {root.label} of {table.full_name} has no schema: there is no branch to keep"
        refusals.append(Refusal(reason, "Leave --keep out."))
    refusals += _reader_refusals(files, root)
    return refusals if keeps else [*refusals, *_savepoint_refusals(files, root)]


def _savepoint_refusals(files: Files, root: Root) -> list[Refusal]:
    """The savepoints that would be lost. If the branch can't be opened, main gets the tags, where it can."""
    alone = savepoints_held_alone(files, root)
    hint = "Delete what nobody needs first, or retire the branch with --keep."
    if alone and not has_schema(files, root):
        why = beyond_repair(files, root.table, root)
        alone = [each for each in alone if each in why]
        hint = "Main can't get its tag: " + "; ".join(why[each] for each in alone) + "."
    if not alone:
        return []
    reason = f"Branch {root.label} alone holds savepoint {', '.join(map(str, alone))}"
    return [Refusal(reason, hint)]


def _reader_refusals(files: Files, root: Root) -> list[Refusal]:
    """Refusals for roots that are read with the branch's rows, and would lose them."""
    # While a branch is main, the table directory is read by nobody, even if a stale writer committed there.
    stray = root.table.root() if main_branch_name(files, root.table) else None
    others = [each for each in all_roots(files, root.table) if each not in (root, stray)]
    options = each_of(partial(read_along, files), others)
    return [
        Refusal(
            f"{other.label} of {root.table.full_name} is read with the rows of branch {root.label} ({name})",
            f"Unset {name} there first: then those rows are not in it any more.",
        )
        for other, of_root in zip(others, options, strict=True)
        for name, branch in of_root.items()
        if branch == root.branch
    ]


def _freed(context: Context, root: Root) -> tuple[Freed, list[Step], list[Refusal]]:
    """Count the files freed by deleting the branch and by releasing its pins; list the steps for the pins."""
    files = context.files
    refusals = [*feature_refusals(files, root), *changelog_refusals(files, root)]
    if journal.refusals(context, root.table):
        # Every plan is refused then, and to count takes long.
        return Freed(), [], refusals
    try:
        counts = _counts(files, root, context.progress)
        freed = counts.freed()
    except (NotFound, Refused) as error:
        return Freed(), [], [*refusals, Refusal(error.message, error.hint)]
    steps = [Step("delete", path, "nothing else needs it") for path in counts.pin_paths]
    return freed, steps, refusals


@dataclass(frozen=True)
class Counts:
    """Files freed by a branch, and then by the pins that only it needed; None if there are none."""

    branch: FileCount | None = None
    pins: FileCount | None = None
    pin_paths: tuple[str, ...] = ()

    def freed(self) -> Freed:
        """All of these files. Raises `Refused` when the references can't be read."""
        return sum((each.freed() for each in (self.branch, self.pins) if each is not None), Freed())


def _counts(files: Files, root: Root, progress: Progress) -> Counts:
    """Raises `NotFound` and `Refused`."""
    to_delete, main = root_to_delete(files, root), main_root(files, root.table)
    branch = FileCount(files, root.table, to_delete, progress) if to_delete.records else None
    released = release_pins.released(files, main, root.label)
    if not released:
        return Counts(branch)
    pinned = release_pins.pins_to_delete(main, released)
    both = replace(pinned, paths=to_delete.paths | pinned.paths)
    return Counts(branch, FileCount(files, root.table, both, progress), tuple(sorted(pinned.paths)))


def _retired(name: str, retired: str) -> list[Item]:
    return [
        Item("loses", f"the name {name}, until it is taken back", "name-gone", is_grave=True, names=(name,)),
        Item("keeps", f"its rows, versions and tags, as branch {retired}"),
    ]

"""`rollback --truncate`: the plan, and the one change that moves main's later snapshots to a branch."""

from __future__ import annotations

import math
from typing import Self

from paimark.core.actions.change.change import Change, Done, Work
from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.change.landing import hold_expiry, release_expiry
from paimark.core.actions.context import Context
from paimark.core.actions.follow_ups import ids_given_again
from paimark.core.actions.garbage import release_pins
from paimark.core.actions.names import archive_name
from paimark.core.actions.plan import NO_DATA_FILE, Item, Plan, Refusal, Step, Taken, raise_first
from paimark.core.actions.plan_wording import (
    consumers_of,
    job_that_writes,
    nothing_lost,
    otherwise,
    tags_said,
)
from paimark.core.actions.replace.point_main import part
from paimark.core.actions.rollback import truncation
from paimark.core.actions.rollback.target import RollbackTarget, lost_since, target_as_planned
from paimark.core.actions.rollback.truncation import Cut, cut_of
from paimark.core.actions.roots.pin_snapshot import ChosenSnapshot
from paimark.core.actions.roots.root_state import moving_refusals
from paimark.core.actions.roots.waiting import seconds_of_cleanings, wait_for_cleanings
from paimark.core.errors import Corrupt, Refused
from paimark.core.figures import counted
from paimark.core.quoting import shell_line
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, truncation_tag
from paimark.core.table.lineage.edits import Edits, HistoryEdit
from paimark.core.table.lineage.main_branch import root_exists
from paimark.core.table.manifests.files import missing_of
from paimark.core.table.records import Consumer, Snapshot, point_of


def plan(context: Context, target: RollbackTarget, to: str) -> Plan:
    """The plan to end main at the snapshot of `target`, which a person called `to`."""
    head, keep = target.start.head, target.version.snapshot
    files, root = context.files, head.root
    table = root.table
    cut = Cut(root, table.root(archive_name(context)), point_of(keep), point_of(head.snapshot))
    tags = [name.removeprefix("tag/tag-") for name in truncation.later_tags(files, root, keep.id)]
    archive = cut.archive.label
    seconds = seconds_of_cleanings(context, root)
    steps = [
        Step("create", f"branch {cut.archive.label}", "with the schemas of main"),
        Step("create", root.tag(truncation_tag(cut.archive.label, keep.id)), "pins what both share"),
        Step("move", f"snapshots {keep.id + 1} to {cut.head}", f"into that branch: {NO_DATA_FILE}"),
    ]
    if tags:
        steps.append(Step("move", f"{counted(len(tags), 'tag')}: {', '.join(tags)}", "into that branch"))
    return Plan(
        change="truncate",
        headline=f"End main of {table.full_name} at {target.dated}.",
        arguments={
            "to": to,
            "truncate": True,
            "snapshot": keep.id,
            "head": cut.head,
            "archive": cut.archive.label,
        },
        fingerprint=target.fingerprint,
        steps=tuple(steps),
        items=(
            *_first(context, root, seconds),
            lost_since(context, target, f"from main. {_ids(keep.id + 1, cut.head)} given again"),
            *(
                []
                if not tags
                else [Item("loses", f"{tags_said(tags)}, from main", "name-gone", is_grave=True)]
            ),
            Item("keeps", f"these commits{', with their tags' if tags else ''}, as branch {archive}"),
            *_other_definition(target),
        ),
        cost="no data file",
        takes=tuple(Taken("tag", each) for each in tags),
        refusals=tuple(_refusals(context, cut, keep)),
        undo=table.undo,
        until="main has a new commit",
    )


def _first(context: Context, root: Root, seconds: float) -> list[Item]:
    """Ids are given again, and sessions that are open remember snapshots by their ids."""
    writer = job_that_writes(context.files, root)
    seen = "" if writer is None else f" ({writer.briefly(context.clock())})"
    unless = f", unless it ends within {seconds:g} s" if seconds else ""
    stop = (
        f"stop every job that writes to main{seen} and start it anew afterwards: one that goes on brings old "
        f"rows back. Run no stock remove_orphan_files meanwhile{unless}"
    )
    return [Item("first", stop, "stop-writers", is_grave=True)]


def _ids(first: int, last: int) -> str:
    return f"Id {first} is" if first == last else f"Ids {first} to {last} are"


def _other_definition(target: RollbackTarget) -> list[Item]:
    if target.version.snapshot.schema_id == target.start.schema.id:
        return []
    return [Item("keeps", "the columns as they are now")]


class Truncate(Change[HistoryEdit]):
    """The journal entry that the branch is complete is the point of no return."""

    State = HistoryEdit

    def __init__(self, work: Work, state: HistoryEdit) -> None:
        super().__init__(work, state)
        self._reached = self._cut.head
        self._has_archive = True

    @classmethod
    def begin(cls, work: Work) -> Self:
        head, keep = as_planned(work)
        edit = HistoryEdit(
            root=head.root.branch,
            before=point_of(head.snapshot),
            after=point_of(keep),
            to=str(work.plan.arguments["to"]),
            kept_as=str(work.plan.arguments["archive"]),
        )
        cut = cut_of(work.table, edit)
        raise_first(_refusals(work.context, cut, keep))
        if work.files.entries(cut.archive.directory):
            raise Refused(f"{work.plan.table} has a branch {cut.archive.label} already", "Try again.")
        return cls(work, edit)

    @property
    def _cut(self) -> Cut:
        return cut_of(self.work.table, self.state)

    def prepare(self, hold: Hold) -> None:
        cut = self._cut
        # Main is to end at this snapshot: to an expiry it is an old one, until the later ones are gone.
        hold_expiry(self.work.files, cut.main, self.work.token, cut.keep)
        truncation.archive_rest(self.work.files, cut)
        # A cleaning that listed the branches before does not know the new one, and must find all in main.
        wait_for_cleanings(self.work.context, cut.main, self.work.progress)
        _, keep = as_planned(self.work)
        # Again: an expiry that had begun before knows neither the reader nor the pin.
        raise_first(_refusals(self.work.context, cut, keep))
        self.work.progress(f"kept snapshots {cut.keep + 1} to {cut.head} as branch {cut.archive.label}")

    def finish(self, hold: Hold) -> None:
        files, cut = self.work.files, self._cut
        self._has_archive = root_exists(files, cut.archive)
        if self._has_archive:
            self._reached = truncation.cut_off(files, cut)
            if self._reached == cut.head and truncation.is_put_back(files, cut):
                self._forget_archive(hold)
            self.work.progress(f"main ends at snapshot {self._reached}")
        else:
            self._reached = truncation.stay_without_archive(files, cut)
        if self._reached > cut.keep or hold.is_recovery:
            # Main may have kept some of what the branch has.
            part(files, cut.main, cut.archive, self.work.progress)
        release_expiry(files, cut.main, self.work.token)

    def take_back(self, hold: Hold) -> None:
        self._forget_archive(hold)
        part(self.work.files, self._cut.main, self._cut.archive, self.work.progress)
        # Last: an expiry that still saw the pin would spare the files of a snapshot that it deletes.
        release_expiry(self.work.files, self._cut.main, self.work.token)

    def _forget_archive(self, hold: Hold) -> None:
        """Remove the branch and the pin, with the files that only the pin kept. Idempotent."""
        context, cut, progress = self.work.context, self._cut, self.work.progress
        if not truncation.forget_branch(context.files, cut, progress):
            return
        if not context.files.exists(cut.main.snapshot(cut.keep)):
            # An expiry deleted the snapshot, and spared its files because of the pin.
            release_pins.release(context, hold, cut.archive.label, progress, snapshot=cut.keep)
        truncation.forget_pin(context.files, cut)

    def clean(self) -> None:
        truncation.clean(self.work.files, self._cut)

    def edits(self) -> Edits | None:
        is_whole = self._has_archive and self._reached == self._cut.keep
        return Edits(history=self.state) if is_whole else None

    def done(self) -> Done:
        cut, reached, plan = self._cut, self._reached, self.work.plan
        message = f"main of {plan.table} ends at snapshot {reached} again"
        if not self._has_archive:
            rest = "" if reached == cut.head else f", and snapshots {reached + 1} to {cut.head} with it"
            message = (
                f"main of {plan.table} ends at snapshot {reached}: another engine deleted branch "
                f"{cut.archive.label}{rest}"
            )
        elif reached == cut.head:
            message = f"Somebody committed to main of {plan.table} just then: it is as it was"
        elif reached > cut.keep:
            message += f", for somebody committed on it just then; branch {cut.archive.label} has the rest"
        else:
            message += f"; what came later is branch {cut.archive.label}"
        return Done(
            message=message,
            result={
                "snapshot_id": reached,
                "rolled_back_to": cut.keep,
                "archive": cut.archive.label if self._has_archive and reached < cut.head else None,
            },
            before=f"snapshot {cut.head}",
            after=f"snapshot {reached}",
            falls_short=reached > cut.keep,
        )

    def prospect(self, hold: Hold) -> Item:
        files, cut = self.work.files, self._cut
        if not root_exists(files, cut.archive):
            return otherwise(f"main keeps what it has: another engine deleted branch {cut.archive.label}")
        reached = truncation.will_reach(files, cut)
        if reached == cut.keep:
            return nothing_lost(f"branch {cut.archive.label} has what came after snapshot {reached}")
        if reached == cut.head:
            return otherwise("main stays as it is: somebody committed to it since")
        since = f"somebody committed after snapshot {reached} since"
        return otherwise(f"main goes on from snapshot {reached} instead of {cut.keep}: {since}")

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        cut = self._cut
        if interrupted.is_committed:
            files, has = self.work.files, f"branch {cut.archive.label} has it"
            going = truncation.will_go(files, cut) if root_exists(files, cut.archive) else []
            return [Step("delete", cut.main.snapshot(each), has) for each in reversed(going)]
        return [Step("delete", f"branch {cut.archive.label}", "main is as it was")]


def as_planned(work: Work) -> tuple[ChosenSnapshot, Snapshot]:
    """Main's newest snapshot and the one to keep. Raises `Refused` when they are not as planned."""
    target = target_as_planned(work)
    return target.start.head, target.version.snapshot


def _refusals(context: Context, cut: Cut, keep: Snapshot) -> list[Refusal]:
    files, root = context.files, cut.main
    name = root.table.full_name
    if root.branch is not None:
        reason = f"Main of {name} is branch {root.branch}, whose snapshots are guarded in the table directory"
        return [Refusal(reason, "Roll back without --truncate, or take the replacement back first.")]
    refusals = moving_refusals(context, root)
    if not files.exists(root.snapshot(keep.id)):
        refusals.append(
            Refusal(f"Snapshot {keep.id} of {name} has expired", "Roll back to it without --truncate.")
        )
    elif lost := missing_of(files, root, keep):
        # An interrupted expiry may have begun with it, and main's newest snapshot would then lack files.
        reason = f"Snapshot {keep.id} of {name} is not whole: {lost[0]} is gone"
        refusals.append(Refusal(reason, "Choose another version."))
    refusals += ids_given_again(files, root.table, keep.id, "Roll back without --truncate")
    for branch in truncation.stranded(files, root, keep):
        reason = f"Branch {branch} of {name} parts from main after snapshot {keep.id}, or nobody knows where"
        refusals.append(Refusal(reason, "Roll back without --truncate, or delete that branch first."))
    refusals += [
        Refusal(
            f"Consumer {each} of {name} reads on from a snapshot that would be gone",
            f"Stop its job, then run `{_reset(root, each, keep.id + 1)}`.",
        )
        for each in _stranded_consumers(files, root, keep.id)
    ]
    return refusals


def _stranded_consumers(files: Files, root: Root, keep: int) -> list[str]:
    names = consumers_of(files, root)
    contents = files.read_many(root.consumer(name) for name in names)
    return [
        name
        for name, data in zip(names, contents, strict=True)
        if data is not None and _next_of(data) > keep + 1
    ]


def _reset(root: Root, consumer: str, to: int) -> str:
    table = root.table.full_name
    return shell_line(["paimark", "reset-consumer", table, "--name", consumer, "--snapshot", str(to)])


def _next_of(consumer: bytes) -> float:
    """The next snapshot of a consumer; infinite if its file does not tell."""
    try:
        return Consumer.from_json(consumer, "the consumer").next_snapshot
    except Corrupt:
        return math.inf

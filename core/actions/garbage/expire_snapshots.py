"""`expire-snapshots`: delete the oldest snapshots, with every file that only they keep.

Order: EARLIEST is raised first, so that a reader who asks for the oldest snapshot gets none that is about to
go. Data, manifests and lists follow; the snapshot files are deleted last, oldest first. So an interrupted
expiry finds in them what else must go, and a process that makes a tag meanwhile sees from the next snapshot's
file that an expiry may be running. Claims of savepoints being made count as the tags they will become.

Another engine may roll the root back meanwhile, to a snapshot that was to go. So the expiry looks again and
again whether the snapshots that stay are still there; if not, it finds out anew which ones go.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, Self

import msgspec

from paimark.core.actions.change import fence
from paimark.core.actions.change.change import GONE, Change, Done, Work
from paimark.core.actions.change.journal import COMMITTED, Hold, JournaledChange
from paimark.core.actions.change.operations import written_later
from paimark.core.actions.checks import (
    KEPT,
    changelog_refusals,
    feature_refusals,
    fingerprint,
    require_kept,
    require_unmoved,
    text_argument,
)
from paimark.core.actions.context import Context
from paimark.core.actions.garbage.deletion import counted_before, freed_items, freed_steps, what_goes
from paimark.core.actions.garbage.expiry_rules import (
    consumers_at,
    first_that_stays,
    limits,
    read_rules,
    smallest_consumer,
    why_none,
)
from paimark.core.actions.garbage.references import ToDelete
from paimark.core.actions.garbage.sweep import LISTS_GONE, Removed, remove
from paimark.core.actions.garbage.unreferenced import FileCount
from paimark.core.actions.plan import Item, Plan, Refusal, Step
from paimark.core.actions.plan_wording import final, nothing_lost, otherwise, tags_said
from paimark.core.actions.roots import guard_tags
from paimark.core.errors import Refused
from paimark.core.figures import MOST_NAMES, counted, minute
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.lost_newest import lost_newest
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.read_tags import is_of_read
from paimark.core.table.records import Point, Snapshot, commit_key, point_of
from paimark.core.text import lowered, whole_number

# Seconds between two looks at the snapshots that stay, while the others are deleted.
_LOOK_EVERY = 0.2


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `retain_last`, `older_than` (a length of time, or a local date and time), `branch`.

    Without the first two, the table's own options decide.
    """
    files = context.files
    branch = text_argument(arguments, "branch")
    root = branch_root(files, table, branch)
    rules = read_rules(context, root, arguments)
    lineage = Lineage(files, root)
    ids = lineage.snapshot_ids()
    consumers = consumers_at(files, root)
    end = first_that_stays(lineage, ids, rules, min(consumers.values(), default=None))
    gone = ids[: bisect_left(ids, end)]
    where = f"{root.label} of {table.full_name}"
    resolved: dict[str, Any] = {"branch": root.branch, "first": gone[0] if gone else None, "end": end}
    if not gone:
        held = why_none(lineage, ids, rules, consumers, context.clock()) if ids else []
        return Plan(
            headline=f"No snapshot of {where} is to expire.",
            arguments=resolved,
            items=tuple(Item("keeps", each) for each in held),
            empty=True,
        )
    refusals = [*_end_refusals(files, root), *feature_refusals(files, root), *changelog_refusals(files, root)]
    to_delete, seen = _to_delete(files, root, gone)
    freed, repair = what_goes(context, table, to_delete, refusals)
    lost = _lost(lineage, to_delete, end)
    return Plan(
        headline=f"Expire {_id_range(gone)} of {where}.",
        arguments=resolved,
        fingerprint=seen,
        steps=(
            *repair.steps,
            Step("replace", root.earliest_hint, f"snapshot {end} is the first that readers see"),
            Step("check", "every root", "what else needs their files, read again before any goes"),
            *freed_steps(freed),
            Step("delete", _id_range(gone), "oldest first"),
        ),
        items=(
            *lost,
            final("The newest rows stay as they are"),
            *(Item("keeps", each) for each in _kept(lineage, gone, ids[-1], end)),
            *(Item("keeps", each) for each in limits(lineage, ids, end, rules, consumers, context.clock())),
            *freed_items(table, freed),
        ),
        phrase=root.label if root.branch else "",
        refusals=tuple(refusals),
        freed_files=len(freed.files),
        freed_bytes=freed.size,
        lasting="" if any(each.is_grave for each in lost) else KEPT,
    )


def _end_refusals(files: Files, root: Root) -> list[Refusal]:
    """The newest that are left are not the newest that there were, and a backup may bring those back."""
    lost = lost_newest(files, root)
    return [] if lost is None else [Refusal(lost.reason, lost.hint)]


class ExpireState(msgspec.Struct, frozen=True):
    """The snapshots that expire."""

    branch: str | None  # the root
    end: int  # snapshots below this id go
    count: int  # how many there were
    # the snapshot `end` of a branch: where it is another, so is the branch, and stays as it is
    first_kept: Point | None = None


class _Moved(Exception):
    """A snapshot that stays is gone, or another one: it is found out anew which ones go."""


class ExpireSnapshots(Change[ExpireState]):
    """The journal entry is the point of no return."""

    State = ExpireState

    def __init__(self, work: Work, state: ExpireState) -> None:
        super().__init__(work, state)
        self._removed = Removed()
        self._count: FileCount | None = None
        # Whether the branch is gone, or another one by now.
        self._is_over = False
        # The newest snapshot, if main was rolled back to before the end of the expiry.
        self._rolled_back_to: int | None = None

    @classmethod
    def begin(cls, work: Work) -> Self:
        end = int(work.plan.arguments["end"] or 0)
        root = work.table.root(text_argument(work.plan.arguments, "branch"))
        count = _require_as_planned(work.files, root, end, work.plan)
        first_kept = point_of(Lineage(work.files, root).snapshot(end))
        return cls(work, ExpireState(root.branch, end, count, first_kept))

    @classmethod
    def nothing(cls, plan: Plan) -> dict[str, str | int | bool | None]:
        return _result(plan, 0, Removed())

    @property
    def _root(self) -> Root:
        return self.work.table.root(self.state.branch)

    def _going(self, hold: Hold) -> list[int]:
        """The ids to delete.

        Never the newest, nor one that is younger than the expiry: another engine may have rolled the root
        back beyond `end`.
        """
        files, root = self.work.files, self._root
        going = {each: root.snapshot(each) for each in Lineage(files, root).snapshot_ids()[:-1]}
        going = {each: path for each, path in going.items() if each < self.state.end}
        # If the end is as planned, nobody has rolled the root back so far: a clock was set back.
        if COMMITTED not in hold.steps or self._is_end_as_planned():
            return [*going]
        later = written_later(files, root.table, hold.journaled, going.values())
        return [each for each, path in going.items() if path not in later]

    def check(self, hold: Hold) -> None:
        to_delete, _ = _to_delete(self.work.files, self._root, self._going(hold))
        # Counted first, because it may take minutes: the checks must still hold at the point of no return.
        self._count = counted_before(self.work, to_delete)
        _require_as_planned(self.work.files, self._root, self.state.end, self.work.plan)

    def finish(self, hold: Hold) -> None:
        while not self._is_over:
            try:
                return self._expire(hold)
            except _Moved:
                # The count was of other snapshots.
                self._count = None

    def _expire(self, hold: Hold) -> None:
        """Raises `_Moved`."""
        files, root, progress = self.work.files, self._root, self.work.progress
        if self._is_another():
            self._is_over = True
            return
        ids = self._going(hold)
        there = Lineage(files, root).snapshot_ids()
        staying = sorted({*there}.difference(ids))
        self._rolled_back_to = there[-1] if there and there[-1] < self.state.end else None
        anchors = [root.snapshot(each) for each in (*staying[:1], *staying[-1:])]
        before = list(files.read_many(anchors))

        def require() -> None:
            hold.require()
            if list(files.read_many(anchors)) != before:
                raise _Moved

        if LISTS_GONE not in hold.steps:
            guard_tags.repair_held(files, root.table)
            first = min(staying, default=self.state.end)
            _raise_earliest(files, root, first, max(there, default=first))
            progress(f"readers now begin with snapshot {first}")
            if ids:
                to_delete, _ = _to_delete(files, root, ids)
                self._removed += remove(
                    self.work.context, hold, to_delete, progress, count=self._count, require=require
                )
        looked = None
        for number in ids:
            if looked is None or fence.seconds_since(looked) >= _LOOK_EVERY:
                require()
                looked = fence.clocks()
            # One by one: after a gap, a process that makes a tag would take the snapshot below for the
            # newest.
            files.delete(root.snapshot(number))
        progress(f"deleted {counted(len(ids), 'snapshot')}")

    def _is_another(self) -> bool:
        """Whether another engine has deleted the branch since, and perhaps made another of its name."""
        if self.state.branch is None or self.state.first_kept is None:
            return False
        return not self._is_end_as_planned()

    def _is_end_as_planned(self) -> bool:
        """Whether the snapshot from which all stay is the very one that the plan saw."""
        first_kept, path = self.state.first_kept, self._root.snapshot(self.state.end)
        data = None if first_kept is None else read_if_there(self.work.files, path)
        return (
            first_kept is not None and data is not None and first_kept.is_of(Snapshot.from_json(data, path))
        )

    def no_way_back(self) -> str:
        return GONE

    def done(self) -> Done:
        plan, removed, state = self.work.plan, self._removed, self.state
        message = f"Expired {counted(state.count, 'snapshot')} of {self._root.label} of {plan.table}"
        message += removed.said(plan)
        if self._rolled_back_to is not None:
            message += (
                f". {self._root.label} was rolled back meanwhile, and snapshot {self._rolled_back_to} stays: "
                f"`paimark verify {plan.table}` says whether it is whole"
            )
        if self._is_over:
            message = self._nothing_more()
        return Done(
            message=message,
            result=_result(plan, state.count, removed),
            before=f"snapshots of {self._root.label} from {plan.arguments['first']}",
            after=f"from {state.end}",
            falls_short=self._is_over or self._rolled_back_to is not None,
        )

    def _nothing_more(self) -> str:
        branch = f"branch {self._root.label} of {self.work.plan.table}"
        return f"Nothing more of {branch} expires: it is gone, or another one by now"

    def prospect(self, hold: Hold) -> Item:
        return otherwise(lowered(self._nothing_more())) if self._is_another() else super().prospect(hold)

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        if not interrupted.is_committed:
            return []
        what = f"snapshots before {self.state.end} of {self._root.label}"
        return [Step("delete", what, "with the files that only they kept")]


def _raise_earliest(files: Files, root: Root, first: int, newest: int) -> None:
    hinted = whole_number(read_if_there(files, root.earliest_hint) or b"")
    if hinted is None or not first < hinted <= newest:
        files.replace(root.earliest_hint, str(first).encode())


def _to_delete(files: Files, root: Root, ids: Sequence[int]) -> tuple[ToDelete, str]:
    """The snapshots to delete and their fingerprint. Raises `Corrupt`, and `Refused` if one has just gone."""
    paths = [root.snapshot(each) for each in ids]
    records, parts = [], [root.directory]
    for path, data in zip(paths, files.read_many(paths), strict=True):
        if data is None:
            raise Refused(f"{path} has just gone: another expiry is at work", "Wait for it to end.")
        records.append(Snapshot.from_json(data, path))
        parts.append(fingerprint(data))
    schema_id = records[-1].schema_id if records else 0
    to_delete = ToDelete((root,), schema_id, tuple(records), frozenset(paths), is_expiry=True)
    return to_delete, fingerprint(*parts)


def _require_as_planned(files: Files, root: Root, end: int, plan: Plan) -> int:
    """The number of snapshots to delete. Raises `Refused` when the table differs from the plan."""
    ids = Lineage(files, root).snapshot_ids()
    gone = ids[: bisect_left(ids, end)]
    to_delete, seen = _to_delete(files, root, gone)
    require_unmoved(root.table, plan, seen)
    is_kept = not _kept_by_none(Lineage(files, root), to_delete)
    require_kept(plan, f"{root.label} of {plan.table}", is_kept=is_kept)
    consumer = smallest_consumer(files, root)
    if len(gone) == len(ids) or (consumer is not None and consumer < end):
        raise Refused(
            f"Snapshots of {root.label} of {plan.table} are needed that were not when the plan was made",
            "Nothing was written: make a new plan.",
        )
    return len(gone)


def _lost(lineage: Lineage, to_delete: ToDelete, end: int) -> list[Item]:
    """The versions that no tag of the root keeps."""
    lost = _kept_by_none(lineage, to_delete)
    if not lost:
        return [nothing_lost("tags keep each of these versions")]
    first, last = lost[0].time_millis, lost[-1].time_millis
    begins = lineage.snapshot(end).time_millis
    times = f"of {minute(first)}" if len(lost) == 1 else f"of {minute(first)} to {minute(last)}"
    text = (
        f"{counted(len(lost), 'version')}, {times}: time travel on {lineage.root.label} then begins at "
        f"snapshot {end} ({minute(begins)})"
    )
    return [Item("loses", text, "version-gone", is_grave=True, count=len(lost), unit="versions", newest=last)]


def _kept_by_none(lineage: Lineage, to_delete: ToDelete) -> list[Snapshot]:
    kept = {commit_key(tag) for name, tag in lineage.tags() if not is_of_read(name)}
    return [each for each in to_delete.records if commit_key(each) not in kept]


def _kept(lineage: Lineage, gone: Sequence[int], newest: int, end: int) -> list[str]:
    """The expiring snapshots that tags keep, and those that stay."""
    ids, older = set(gone), []
    by_id: dict[int, list[str]] = {}
    read = False
    for name, tag in lineage.tags():
        if is_of_read(name):
            read = True
        elif tag.id in ids:
            by_id.setdefault(tag.id, []).append(name)
        elif tag.id < end:
            older.append(name)
    tagged = [f"snapshot {number} ({tags_said(names)})" for number, names in sorted(by_id.items())]
    if len(tagged) > MOST_NAMES:
        tagged = [f"{counted(len(tagged), 'tagged snapshot')} of these"]
    stays = f"snapshot {end}" if end == newest else f"snapshots {end} to {newest}"
    reads = ["what statements read now, until they end"] if read else []
    return ["; ".join([*tagged, stays, *([tags_said(older)] if older else []), *reads])]


def _id_range(ids: Sequence[int]) -> str:
    if len(ids) == 1:
        return f"snapshot {ids[0]}"
    return f"snapshots {ids[0]} to {ids[-1]}"


def _result(plan: Plan, count: int, removed: Removed) -> dict[str, str | int | bool | None]:
    return {
        "expired_snapshots": count,
        "earliest_snapshot_id": plan.arguments["end"],
        **removed.facts,
    }

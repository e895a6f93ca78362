"""`expire-snapshots`: delete the oldest snapshots, with every file that only they keep.

Order: EARLIEST is raised first, so that a reader who asks for the oldest snapshot gets none that is about to
go. Data, manifests and lists follow; the snapshot files are deleted last, oldest first. So an interrupted
expiry finds in them what else must go, and a process that makes a tag meanwhile sees from the next snapshot's
file that an expiry may be running. Claims of savepoints being made count as the tags they will become.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

import msgspec

from paimark.core.actions.change.change import GONE, Change, Done, Work
from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.change.operations import written_by_others
from paimark.core.actions.checks import (
    KEPT,
    changelog_refusals,
    feature_refusals,
    fingerprint,
    integer_argument,
    newest_options,
    require_kept,
    require_unmoved,
    text_argument,
)
from paimark.core.actions.context import Context
from paimark.core.actions.garbage.deletion import counted_before, freed_items, freed_steps, what_goes
from paimark.core.actions.garbage.references import ToDelete
from paimark.core.actions.garbage.sweep import LISTS_GONE, Removed, remove
from paimark.core.actions.garbage.unreferenced import FileCount
from paimark.core.actions.plan import Item, Plan, Refusal, Step
from paimark.core.actions.plan_wording import consumers_of, final, nothing_lost, otherwise, tags_said
from paimark.core.actions.roots import guard_tags
from paimark.core.durations import parse_duration
from paimark.core.errors import Corrupt, Refused, UsageError
from paimark.core.figures import MOST_NAMES, counted, minute, moment
from paimark.core.quoting import shell_line
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.lost_newest import lost_newest
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.read_tags import is_of_read
from paimark.core.table.records import Consumer, Point, Snapshot, commit_key, point_of
from paimark.core.text import lowered, whole_number

_FOREVER = 2**31 - 1
# Snapshots read at once to find their times.
_AT_ONCE = 64
# Paimon's own defaults, if the table sets none.
_MIN_RETAINED, _TIME_RETAINED = 10, "1 h"


@dataclass(frozen=True)
class Rules:
    """The snapshots that stay: the newest `at_least` ids, and those of the newest `at_most` that were
    committed at `since` (epoch ms) or later. Unless `asked` for, the rules are the table's own.
    """

    at_least: int
    at_most: int
    since: int
    asked: bool = True


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `retain_last`, `older_than` (a length of time, or a local date and time), `branch`.

    Without the first two, the table's own options decide.
    """
    files = context.files
    branch = text_argument(arguments, "branch")
    root = branch_root(files, table, branch)
    rules = _rules(context, root, arguments)
    lineage = Lineage(files, root)
    ids = lineage.snapshot_ids()
    consumers = _consumers(files, root)
    end = _end(lineage, ids, rules, min(consumers.values(), default=None))
    gone = ids[: bisect_left(ids, end)]
    where = f"{root.label} of {table.full_name}"
    resolved: dict[str, Any] = {"branch": root.branch, "first": gone[0] if gone else None, "end": end}
    if not gone:
        held = _why_none(lineage, ids, rules, consumers, context.clock()) if ids else []
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
            *(Item("keeps", each) for each in _limits(lineage, ids, end, rules, consumers, context.clock())),
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


class ExpireSnapshots(Change[ExpireState]):
    """The journal entry is the point of no return."""

    State = ExpireState

    def __init__(self, work: Work, state: ExpireState) -> None:
        super().__init__(work, state)
        self._removed = Removed()
        self._count: FileCount | None = None
        # Whether the branch is gone, or another one by now.
        self._is_over = False

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
        later = written_by_others(hold, going.values())
        if later and self._is_end_as_planned():
            # Nobody has rolled the root back so far: a clock was set back.
            later = set()
        return [each for each, path in going.items() if path not in later]

    def check(self, hold: Hold) -> None:
        to_delete, _ = _to_delete(self.work.files, self._root, self._going(hold))
        # Counted first, because it may take minutes: the checks must still hold at the point of no return.
        self._count = counted_before(self.work, to_delete)
        _require_as_planned(self.work.files, self._root, self.state.end, self.work.plan)

    def finish(self, hold: Hold) -> None:
        files, root, progress = self.work.files, self._root, self.work.progress
        if self._is_another():
            self._is_over = True
            return
        ids = self._going(hold)
        if LISTS_GONE not in hold.steps:
            guard_tags.repair_held(files, root.table)
            there = Lineage(files, root).snapshot_ids()
            first = min({*there}.difference(ids), default=self.state.end)
            _raise_earliest(files, root, first, max(there, default=first))
            progress(f"readers now begin with snapshot {first}")
            if ids:
                to_delete, _ = _to_delete(files, root, ids)
                self._removed = remove(self.work.context, hold, to_delete, progress, count=self._count)
        for position, number in enumerate(ids):
            if position % 100 == 0:
                hold.require()
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
        if self._is_over:
            message = self._nothing_more()
        return Done(
            message=message,
            result=_result(plan, state.count, removed),
            before=f"snapshots of {self._root.label} from {plan.arguments['first']}",
            after=f"from {state.end}",
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


def smallest_consumer(files: Files, root: Root) -> int | None:
    """The first snapshot that a registered reader of this root still has to read. Raises `Corrupt`."""
    return min(_consumers(files, root).values(), default=None)


def _consumers(files: Files, root: Root) -> dict[str, int]:
    """The next snapshot of each registered reader. Raises `Corrupt`."""
    names = consumers_of(files, root)
    paths = [root.consumer(name) for name in names]
    found = {}
    for name, path, data in zip(names, paths, files.read_many(paths), strict=True):
        if data is None:
            continue
        try:
            found[name] = Consumer.from_json(data, path).next_snapshot
        except Corrupt as error:
            forget = ["paimark", "reset-consumer", root.table.full_name, "--name", name]
            raise Corrupt(
                f"{path} does not say what its consumer reads next",
                f"`{shell_line(forget)}` forgets it, if its job is gone.",
            ) from error
    return found


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


def _rules(context: Context, root: Root, arguments: Mapping[str, object]) -> Rules:
    retain, older = integer_argument(arguments, "retain_last"), text_argument(arguments, "older_than")
    now = context.clock()
    if retain is not None and retain < 1:
        raise UsageError("retain_last is at least 1", "The newest snapshot never expires.")
    if retain is None and older is None:
        options = newest_options(context.files, root)
        at_least = _whole(options, "snapshot.num-retained.min", _MIN_RETAINED)
        at_most = _whole(options, "snapshot.num-retained.max", _FOREVER)
        if at_least > at_most:
            raise Refused(
                f"The table's options keep at least {at_least} snapshots (snapshot.num-retained.min) "
                f"and at most {at_most} (snapshot.num-retained.max)",
                "Give --retain-last, or set one of them anew by ALTER TABLE.",
            )
        kept = parse_duration(options.get("snapshot.time-retained", _TIME_RETAINED))
        return Rules(max(1, at_least), at_most, now - kept, asked=False)
    since = None if older is None else _time(older, now)
    if retain is None:
        return Rules(1, _FOREVER, since or 0)
    return Rules(retain, _FOREVER, since) if since is not None else Rules(retain, retain, now)


def _whole(options: Mapping[str, str], name: str, default: int) -> int:
    text = options.get(name, str(default))
    number = whole_number(text)
    if number is None:
        raise Refused(f"The table's option {name} is {text!r}, not a number", "Give --retain-last.")
    return number


def _time(text: str, now_ms: int) -> int:
    """Epoch milliseconds of a date and time (local without a zone), or of a length of time ago."""
    try:
        return int(datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except (ValueError, OverflowError):
        pass
    try:
        return now_ms - parse_duration(text)
    except UsageError as error:
        raise UsageError(
            f"{text!r} is neither a time nor a length of time", "Write it like 7 d or 2026-05-01 12:00."
        ) from error


def _end(lineage: Lineage, ids: list[int], rules: Rules, consumer: int | None) -> int:
    """The first id that stays. Raises `Corrupt`."""
    if not ids:
        return 0
    latest = ids[-1]
    free = bisect_left(ids, max(ids[0], latest - rules.at_most + 1))
    limit = bisect_left(ids, min(latest - rules.at_least + 1, latest))
    if consumer is not None:
        limit = min(limit, bisect_left(ids, consumer))
    position = min(free, limit)
    while position < limit:
        some = ids[position : min(position + _AT_ONCE, limit)]
        older = _how_many_older(lineage, some, rules.since)
        position += older
        if older < len(some):
            break
    return ids[position]


def _how_many_older(lineage: Lineage, ids: Sequence[int], since: int) -> int:
    """How many of these snapshots, counted from the first, were committed before `since`."""
    paths = [lineage.root.snapshot(each) for each in ids]
    for position, (path, data) in enumerate(zip(paths, lineage.files.read_many(paths), strict=True)):
        if data is not None and Snapshot.from_json(data, path).time_millis >= since:
            return position
    return len(ids)


def _limits(
    lineage: Lineage, ids: list[int], end: int, rules: Rules, consumers: Mapping[str, int], now_ms: int
) -> list[str]:
    """Why the snapshot `end` and later ones stay, if neither their number nor their time is the reason."""
    if end > ids[-1] - rules.at_least:
        return []
    if end == min(consumers.values(), default=None):
        readers = [name for name, first in consumers.items() if first == end]
        consumers_said = "consumer" if len(readers) == 1 else "consumers"
        reads = "reads" if len(readers) == 1 else "read"
        return [f"snapshot {end} and later ones: {consumers_said} {', '.join(readers)} still {reads} from it"]
    committed = lineage.snapshot(end).time_millis
    if committed <= now_ms:
        return []
    return [
        f"snapshot {end} and later ones: it says that it was committed at {moment(committed)}, which is "
        "still to come. Expire them by their number, with --retain-last"
    ]


def _why_none(
    lineage: Lineage, ids: list[int], rules: Rules, consumers: Mapping[str, int], now_ms: int
) -> list[str]:
    if rules.at_least >= _FOREVER:
        return ["every snapshot, by the branch's own options: give --retain-last or --older-than"]
    held = _limits(lineage, ids, ids[0], rules, consumers, now_ms)
    return held or [_kept_by(lineage, ids, rules)]


def _kept_by(lineage: Lineage, ids: Sequence[int], rules: Rules) -> str:
    """Which rule keeps even the oldest snapshot, and how to keep fewer."""
    by, fewer = ("", "") if rules.asked else (" by the table's options", " (--retain-last N keeps fewer)")
    if len(ids) == 1:
        return "the newest snapshot: there is no other"
    if ids[0] > ids[-1] - rules.at_least:
        return f"the newest {counted(rules.at_least, 'snapshot')}{by}: there are {len(ids):,}{fewer}"
    since, oldest = moment(rules.since), moment(lineage.snapshot(ids[0]).time_millis)
    return f"what was committed since {since}{by}: the oldest is of {oldest}{fewer}"


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

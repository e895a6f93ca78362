"""`merge-branch`: main gets the commits of a branch since its fork, or since its last merge.

If main has not moved, it goes on along the branch; else the rows are merged and written as one commit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import msgspec

from paimark.core.actions.change.change import Done, Landed, Work
from paimark.core.actions.change.journal import Hold
from paimark.core.actions.change.landing import hold_expiry
from paimark.core.actions.change.operations import Undoable
from paimark.core.actions.checks import required_text, text_argument
from paimark.core.actions.context import Context
from paimark.core.actions.merge.fast_forward import (
    append_snapshots,
    copy_tags,
    has_appended,
    new_tags,
    newest_id,
    points_of,
    tags_to_copy,
    take_back_pin,
    take_back_tags,
    unmark_tags,
    will_reach,
)
from paimark.core.actions.merge.journal import MergeState, RewriteByBranch, state_of
from paimark.core.actions.merge.record import record_merge
from paimark.core.actions.merge.resolution import Resolution, moved, resolved
from paimark.core.actions.merge.rows import merged_rows, rewriting
from paimark.core.actions.merge.survey import Survey, survey_merge
from paimark.core.actions.plan import Item, Plan, Refusal, Step, raise_first
from paimark.core.actions.rewrite.columns_again import columns_change, columns_lost, lost_columns
from paimark.core.actions.rewrite.rewrite_main import TRY, as_planned_or_gone_on, snapshot_of
from paimark.core.actions.rewrite.spark_rewrite import QueryRows, RewriteBase
from paimark.core.actions.roots import savepoint_claim
from paimark.core.actions.said import may_be_overwritten, nothing_lost, otherwise, streams_skip
from paimark.core.errors import FileMissing, UsageError
from paimark.core.figures import counted
from paimark.core.figures import size as file_size
from paimark.core.once import once
from paimark.core.table.definition.units import unit_of
from paimark.core.table.layout import TablePath, merge_tag
from paimark.core.table.lineage.main_branch import root_exists
from paimark.core.table.manifests.files import size_of
from paimark.core.table.records import Point, Snapshot, is_same_commit, point_of
from paimark.core.text import lowered
from paimark.core.working_directory import absolute

# The arguments with which a merge by choices is redone.
_REQUEST = ("name", "resolve", "resolve_digest")
_DECIDE = 'Choose with `v` in the console, or set "choose" in their lines to "main", "branch" or "base".'


class _Try(msgspec.Struct, frozen=True):
    """`tags` of the branch are copied to main, which lacked them, before its snapshots."""

    tags: tuple[str, ...] = ()


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `name` of the branch; `on_conflict`, `fail` unless `branch` or `main` wins; `resolve`, a
    file of choices, whose digest a redo gives as `resolve_digest`; `drop_columns`, to let main lose columns
    too that the branch dropped, or made narrower.
    """
    name = required_text(arguments, "name")
    choice = text_argument(arguments, "on_conflict") or "fail"
    resolve = text_argument(arguments, "resolve") or None
    if resolve is not None and choice != "fail":
        raise UsageError(f"resolve decides every key in conflict, so on_conflict can't be {choice}")
    survey = survey_merge(context.files, table, name)
    main = survey.start.head.snapshot
    given: dict[str, str | int | bool | None] = {"name": name, "on_conflict": choice, "kind": survey.kind}
    if survey.kind == "nothing":
        return Plan(
            headline=f"main of {table.full_name} has all of branch {name} already.",
            arguments=given,
            fingerprint=survey.fingerprint,
            empty=True,
        )
    resolution = None
    if resolve is not None:
        path, digest = (
            absolute(os.path.expanduser(resolve)),
            text_argument(arguments, "resolve_digest"),
        )
        survey, resolution = resolved(survey, path, digest)
        given |= {"resolve": path, "resolve_digest": resolution.digest, "resolved": _resolved(resolution)}
    safety = savepoint_claim.next_id(context.files, table)
    lost = lost_columns(survey.start.schema, survey.target.schema)
    drops = arguments.get("drop_columns") is True
    if drops and not lost:
        raise UsageError(f"Branch {name} of {table.full_name} dropped no column", "Leave --drop-columns out.")
    steps = [Step("create", table.savepoint(safety), f"keeps snapshot {main.id} of main, as it is now")]
    steps += [
        Step("copy", survey.start.root.schema(number), f"of {name}") for number, _ in survey.new_schemas
    ]
    further, more = (
        _fast_forward(context, survey) if survey.kind == "fast-forward" else rewriting(context, survey)
    )
    return Plan(
        headline=_headline(table, survey),
        arguments=given,
        fingerprint=survey.fingerprint,
        lasting=survey.lasting,
        main_at=point_of(main),
        steps=(*steps, *further, *([] if resolution is None else [_resolving(resolution)])),
        items=(
            *_lost(survey, choice, resolution),
            *columns_lost(survey.start, survey.target.schema),
            *_unknown(survey, choice),
            *may_be_overwritten(context.files, survey.start.root, context.clock()),
            *_affected(context, survey),
            Item("keeps", f"main of now as savepoint {safety}; branch {name}"),
        ),
        phrase=name,
        cost=_cost(context, survey),
        refusals=(
            *survey.schema_refusals,
            *([] if drops else _would_lose(survey, lost)),
            *more,
            *_not_chosen(context, survey, resolution),
        ),
        undo=table.undo,
        until="main has a new commit",
        request=_request(given, drops=drops) if resolution else {},
    )


class MergeBranch(RewriteByBranch):
    """Main gets the rows of a branch as one commit; or the branch's own snapshots are appended to main.

    In the second case the first of these is the commit.
    """

    fails_when_nothing_written = False

    def __init__(self, work: Work, state: MergeState) -> None:
        super().__init__(work, state)
        self._rows: tuple[tuple[Point, str], QueryRows] | None = None

    @classmethod
    def begin(cls, work: Work) -> Self:
        return cls(work, state_of(work.files, _as_planned(work)))

    @property
    def _is_append(self) -> bool:
        return self.state.kind == "fast-forward"

    @property
    def _base(self) -> Snapshot:
        return snapshot_of(self.state.base)

    @once
    def _points(self) -> Sequence[Point]:
        """The branch's snapshots for main. A journal of an earlier version does not have them."""
        branch, head = self.work.table.root(self.state.branch), snapshot_of(self.state.head)
        return self.state.appended or points_of(self.work.files, branch, self._base.id, head.id)

    def check(self, hold: Hold) -> None:
        survey = _as_planned(self.work)
        if self._is_append:
            raise_first(_fast_forward(self.work.context, survey)[1])
        else:
            # Check first whether it can be merged: a refused merge leaves no savepoint.
            self.rows(survey.start)

    def rows(self, start: RewriteBase) -> QueryRows | None:
        # Columns may be added without a commit.
        now = point_of(start.head.snapshot), start.schema_text
        if self._rows is None or self._rows[0] != now:
            work, survey = self.work, self.survey_on(start)
            choice, path = str(work.plan.arguments["on_conflict"]), work.plan.arguments.get("resolve")
            chosen = None if path is None else _as_chosen(work, survey)[1]
            self._rows = now, merged_rows(work.context, survey, choice, work.progress, chosen)
        return self._rows[1]

    def safety_comment(self) -> str:
        return f"before merge of {self.state.branch}"

    def follow(self, start: RewriteBase) -> None:
        state, survey = self.state, survey_merge(self.work.files, self.work.table, self.state.branch)
        is_same_branch = is_same_commit(survey.branch.snapshot, snapshot_of(state.head))
        is_same_base = is_same_commit(survey.base, snapshot_of(state.base))
        # With other rows of main there may be other conflicts than the person has seen.
        is_chosen = "resolve" in self.work.plan.arguments
        is_same = is_same_branch and is_same_base and start.schema_text in state.schema_texts
        if is_chosen or not is_same:
            super().follow(start)

    def commit(self, hold: Hold) -> Mapping[str, Any]:
        if not self._is_append:
            return super().commit(hold)
        work, main = self.work, self.first_head
        survey = self.survey(main)
        hold_expiry(work.files, self.root, work.token, main.id + 1)
        tags = tags_to_copy(work.files, survey, self._points)
        hold.note(TRY, {"head": main.as_written(), "tags": tags})
        hold.require()
        copy_tags(work.files, survey, tags, work.progress)
        self.made = append_snapshots(work.context, survey, self._points, work.progress)
        return {"made": self.made.as_written()}

    def landed(self, hold: Hold) -> Landed:
        if not self._is_append:
            return super().landed(hold)
        landed = has_appended(self.work.files, self.root, self._base.id, self._points)
        # Before the first try, a missing snapshot is not this merge's.
        return Landed.NO if landed is Landed.UNKNOWN and TRY not in hold.steps else landed

    def is_void(self, hold: Hold) -> bool:
        if not self._is_append:
            return super().is_void(hold)
        files, first = self.work.files, self._base.id + 1
        # An expiry keeps the newest snapshot: if that is an earlier one, main was rolled back past the first.
        is_back = 0 < newest_id(files, self.root) < first
        # If main has any of the snapshots, it goes on from there.
        return (
            bool(self._points)
            and (is_back or files.exists(self.root.snapshot(first)))
            and self.landed(hold) is Landed.NO
        )

    def record(self, hold: Hold) -> None:
        survey = self.survey(self.head(hold))
        if self._is_append:
            if self.made is None and self.landed(hold) is Landed.YES:
                # A recovery goes on if the first of them landed.
                self.made = append_snapshots(self.work.context, survey, self._points, self.work.progress)
            if self.made is None and survey.branch.snapshot.id == survey.base.id + 1:
                # A person says that it was committed, and there was only one snapshot to commit.
                self.made = survey.branch.snapshot
            if self.made is not None:
                self._settle_tags(hold, survey, self.made.id)
        record_merge(self.work.context, survey, self.made or self.moved[1])

    def take_back(self, hold: Hold) -> None:
        super().take_back(hold)
        if self._is_append:
            # Only a person's word says that main does not have the snapshots: the pin stays then.
            head = snapshot_of(self.state.head)
            take_back_pin(self.work.files, self.root, self.state.branch, head, stays=self.is_assumed)
            self._take_back_tags(hold, self._points)

    def _settle_tags(self, hold: Hold, survey: Survey, reached: int) -> None:
        """Let main have the branch's tags up to the snapshot that it reached, and no others."""
        files, there = self.work.files, [each for each in self._points if each.id <= reached]
        self._take_back_tags(hold, [each for each in self._points if each.id > reached])
        if root_exists(files, survey.branch.root):
            # Others may have been made since.
            copy_tags(files, survey, tags_to_copy(files, survey, there), self.work.progress)
        unmark_tags(files, self.root, there)

    def _take_back_tags(self, hold: Hold, points: Sequence[Point]) -> None:
        tried = hold.journaled.noted(TRY, _Try)
        if tried is None or not tried.tags:
            return
        # They may be the last tags of what another engine deleted with the branch.
        is_gone = not root_exists(self.work.files, self.work.table.root(self.state.branch))
        take_back_tags(self.work.files, self.root, tried.tags, points, stay=self.is_assumed or is_gone)

    def _why_it_ends(self) -> str:
        branch, head = self.work.table.root(self.state.branch), self._points[-1]
        if points_of(self.work.files, branch, head.id - 1, head.id) != [head]:
            return "another engine deleted the branch, and its later snapshots with it"
        return "then somebody committed to main, so merge again"

    def prospect(self, hold: Hold) -> Item:
        if not self._is_append or not self._points:
            return super().prospect(hold)
        name, last = self.state.branch, self._points[-1].id
        reached = will_reach(self.work.files, self.work.table.root(name), self.root, self._points)
        if reached == last:
            return nothing_lost(f"main goes on along branch {name} to snapshot {last}")
        return otherwise(f"main has branch {name} up to snapshot {reached} only: {self._why_it_ends()}")

    def _changed(self) -> bool:
        before, made = self.moved
        return before != made

    def way_back(self) -> Undoable | None:
        return self.moved_back(branch=self.state.branch) if self._changed() else None

    def done(self) -> Done:
        name, plan, (before, made) = self.state.branch, self.work.plan, self.moved
        message = f"Merged branch {name} into main of {plan.table}"
        if self._is_append and made.id < snapshot_of(self.state.head).id:
            message += f" up to snapshot {made.id}: {self._why_it_ends()}"
        elif not self._changed():
            message += ": main had every row of it, or keeps its own"
        if resolved := plan.arguments.get("resolved"):
            message += f". {resolved}"
        return Done(
            message=message,
            result={
                "branch_name": name,
                "kind": self.state.kind,
                "snapshot_id": made.id if self._changed() else None,
                "savepoint_id": self.safety,
            },
            before=f"snapshot {before.id}",
            after=f"snapshot {made.id}",
            items=(Item("keeps", f"main until now, as savepoint {self.safety}"),) if self._changed() else (),
        )


def _request(given: Mapping[str, str | int | bool | None], *, drops: bool) -> dict[str, Any]:
    """The arguments with which a merge by choices is redone."""
    return {name: each for name, each in given.items() if name in _REQUEST} | (
        {"drop_columns": True} if drops else {}
    )


def _would_lose(survey: Survey, lost: Sequence[str]) -> list[Refusal]:
    if not lost:
        return []
    name, table = survey.branch.root.label, survey.start.root.table.full_name
    return [
        Refusal(
            f"main of {table} would lose {' and '.join(lost)}, as branch {name} did",
            "With --drop-columns main loses that too, and undo brings it back.",
            "columns-would-go",
        )
    ]


def _as_planned(work: Work) -> Survey:
    """Survey again. Raises `Refused` if the branch or the choices changed, or main did not merely go on."""
    arguments = work.plan.arguments
    is_chosen = "resolve" in arguments

    def find() -> Survey:
        survey = survey_merge(work.files, work.table, str(arguments["name"]))
        return _as_chosen(work, survey)[0] if is_chosen and survey.kind == arguments["kind"] else survey

    def may_go_on(survey: Survey) -> bool:
        return not is_chosen and survey.kind != "fast-forward" and survey.kind == arguments["kind"]

    return as_planned_or_gone_on(work, find, may_go_on)


def _as_chosen(work: Work, survey: Survey) -> tuple[Survey, Resolution]:
    """Add the choices of the plan to the survey. Raises `Refused` when the file changed since."""
    arguments = work.plan.arguments
    path, digest = str(arguments["resolve"]), str(arguments["resolve_digest"])
    chosen = resolved(survey, path, digest)
    raise_first(moved(work.files, survey, path, chosen[1].header))
    return chosen


def _resolving(resolution: Resolution) -> Step:
    return Step(
        "check", resolution.path, f"what was chosen for {counted(resolution.keys, 'key')} in conflict"
    )


def _not_chosen(context: Context, survey: Survey, resolution: Resolution | None) -> list[Refusal]:
    """Why the choices can't be used: they are for an earlier state, or keys are undecided."""
    if resolution is None:
        return []
    refusals = moved(context.files, survey, resolution.path, resolution.header)
    if resolution.undecided:
        keys = f"{resolution.undecided:,} of {counted(resolution.keys, 'key')}"
        reason = f"{keys} in conflict are undecided: first {resolution.first_undecided}, in {resolution.path}"
        refusals.append(Refusal(reason, _DECIDE))
    return refusals


def _fast_forward(context: Context, survey: Survey) -> tuple[list[Step], list[Refusal]]:
    main, name = survey.start.root, survey.branch.root.label
    head = survey.branch.snapshot
    tags, clashes = new_tags(context.files, survey)
    steps = [
        Step("create", main.tag(merge_tag(name, head.id)), "pins what main and branch share"),
        *(
            Step("copy", main.snapshot(number), f"of {name}")
            for number in range(survey.base.id + 1, head.id + 1)
        ),
        *(Step("copy", main.tag(tag), f"of {name}") for tag in tags),
    ]
    refusals = []
    if clashes:
        named = ", ".join(clashes)
        reason = f"main and branch {name} have tags of one name at different snapshots: {named}"
        refusals.append(Refusal(reason, "Delete them on one side first."))
    return steps, refusals


def _headline(table: TablePath, survey: Survey) -> str:
    name = survey.branch.root.label
    count = counted(survey.branch.snapshot.id - survey.base.id, "commit")
    if survey.kind == "fast-forward":
        return f"Move main of {table.full_name} on along branch {name}, by {count}."
    return f"Merge {count} of branch {name} into main of {table.full_name}."


def _resolved(resolution: Resolution) -> str:
    return f"Keys in conflict: {resolution.description}"


def _lost(survey: Survey, choice: str, resolution: Resolution | None) -> list[Item]:
    """Whose rows give way where both sides changed one key."""
    name = survey.branch.root.label
    if survey.kind == "append" and choice == "branch":
        text = f"main's rows that {name} removed, by an overwrite of the whole table (--on-conflict)"
        return [Item("loses", text, "rows-replaced", is_grave=True)]
    if survey.kind != "keyed":
        return []
    if resolution is not None:
        text = f"where both changed one key, what was chosen decides: {resolution.description}"
        return [Item("loses", text, "rows-replaced", is_grave=True, count=resolution.keys, unit="keys")]
    if choice == "fail":
        return []
    winner, loser = (name, "main") if choice == "branch" else ("main", name)
    text = (
        f"{loser}'s rows where both changed one key: {winner} wins (--on-conflict). How many: not counted "
        "yet, `--conflicts` lists them"
    )
    return [Item("loses", text, "rows-replaced", is_grave=True)]


def _unknown(survey: Survey, choice: str) -> Iterator[Item]:
    for each in survey.warnings:
        yield Item("unknown", lowered(each), "history-unclear")
    if survey.choices is not None or choice != "fail":
        return
    if survey.kind == "keyed":
        text = (
            "whether both changed one key. If so, nothing is written: choose with --on-conflict branch or "
            "main, or one by one with --resolve"
        )
        yield Item("unknown", text, "conflicts-unknown")
    elif survey.kind == "append":
        text = "whether the branch removed rows. If so, nothing is written, but with --on-conflict branch"
        yield Item("unknown", text, "conflicts-unknown")


def _affected(context: Context, survey: Survey) -> Iterator[Item]:
    name, between = survey.branch.root.label, range(survey.base.id + 1, survey.branch.snapshot.id)
    if survey.kind == "keyed":
        yield streams_skip(context.files, survey.start.root)
    if survey.kind == "fast-forward" and between:
        first, last = between[0], between[-1]
        need = f"snapshot {last} of the other needs"
        if first < last:
            need = f"snapshots {first} to {last} of the other need"
        text = (
            f"an expiry on main or {name}: both share these commits, and it takes files that {need}. "
            f"Tag on {name} what is to stay"
        )
        yield Item("affects", text, "shared-commits")
    if survey.new_schemas:
        changes = columns_change(survey.start, survey.target.schema)
        definition = Item("affects", f"main's definition: it follows that of {name}", "columns")
        yield from changes or [definition]


def _cost(context: Context, survey: Survey) -> str:
    if survey.kind == "fast-forward":
        return "no data file"
    head, unit = survey.branch.snapshot, unit_of(survey.start.schema)
    try:
        records, size = size_of(context.files, survey.start.root.table, head)
    except FileMissing:
        return "Spark compares both sides, one commit"
    return f"Spark compares {counted(records, unit)} ({file_size(size)}), one commit"

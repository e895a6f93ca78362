"""The two changes of a merge: the target goes on along the branch, or gets merged rows as one commit."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import msgspec

from paimark.core.actions.change.change import Done, Landed, Work
from paimark.core.actions.change.journal import Hold
from paimark.core.actions.change.landing import hold_expiry
from paimark.core.actions.checks import integer_argument, text_argument
from paimark.core.actions.merge.base import place_of
from paimark.core.actions.merge.conflicts import chosen
from paimark.core.actions.merge.divergence import Divergence, find_divergence
from paimark.core.actions.merge.fast_forward import (
    append_snapshots,
    copy_tags,
    has_appended,
    is_pinned,
    newest_id,
    points_of,
    tags_to_copy,
    take_back_pin,
    take_back_tags,
    unmark_tags,
    will_reach,
)
from paimark.core.actions.merge.journal import MergeState, RewriteByBranch, record_merge, state_of
from paimark.core.actions.merge.merge_branch import forward, merged_state
from paimark.core.actions.merge.resolution import Resolution
from paimark.core.actions.merge.rows import merged_rows
from paimark.core.actions.plan import Item, raise_first
from paimark.core.actions.plan_wording import nothing_lost, otherwise
from paimark.core.actions.rewrite.rewrite_main import TRY, as_planned_or_gone_on, snapshot_of
from paimark.core.actions.rewrite.spark_rewrite import QueryRows, RewriteBase
from paimark.core.actions.row_checks.checking import checked_again, is_checked
from paimark.core.table.lineage.main_branch import root_exists
from paimark.core.table.operations import CheckResult
from paimark.core.table.records import Point, Snapshot, is_same_commit, point_of


class _Merge(RewriteByBranch):
    """What both have in common: the plan that they begin with, and what is said of the end."""

    fails_when_nothing_written = False

    @classmethod
    def begin(cls, work: Work) -> Self:
        return cls(work, state_of(work.files, _as_planned(work)))

    def safety_comment(self) -> str | None:
        """None for another branch than main: nothing expires its snapshots but a person."""
        return f"before merge of {self.state.branch}" if self.is_main else None

    @abstractmethod
    def how_it_ended(self, made: Point) -> str:
        """What a person would not expect; empty, or with the punctuation before it."""

    def is_cut_short(self, made: Point) -> bool:
        """Whether the target has only a part of the branch's commits."""
        return False

    def done(self) -> Done:
        name, plan, (before, made) = self.state.branch, self.work.plan, self.moved
        what = place_of(self.work.files, self.source)
        message = f"Merged {what} into {self.place} of {plan.table}{self.how_it_ended(made)}"
        if resolved := plan.arguments.get("resolved"):
            message += f". {resolved}"
        return Done(
            message=message,
            result={
                "branch_name": name,
                "kind": self.state.kind,
                "snapshot_id": made.id if self.has_moved else None,
                "savepoint_id": self.safety,
            },
            before=f"snapshot {before.id}",
            after=f"snapshot {made.id}",
            items=(Item("keeps", f"main until now, as savepoint {self.safety}"),) if self.safety else (),
            falls_short=self.is_cut_short(made),
        )


class MergeRows(_Merge):
    """The target gets the rows of a branch as one commit."""

    def __init__(self, work: Work, state: MergeState) -> None:
        super().__init__(work, state)
        self._rows: tuple[tuple[Point, str], QueryRows] | None = None
        self._checks = work.plan.checks

    def checks(self) -> tuple[CheckResult, ...]:
        return self._checks

    def check(self, hold: Hold) -> None:
        # Check first whether it can be merged: a refused merge leaves no savepoint.
        self.rows(_as_planned(self.work).start)

    def rows(self, start: RewriteBase) -> QueryRows:
        # Columns may be added without a commit.
        now = point_of(start.head.snapshot), start.schema_text
        if self._rows is None or self._rows[0] != now:
            work, divergence = self.work, self.divergence_on(start)
            choice, path = str(work.plan.arguments["on_conflict"]), work.plan.arguments.get("resolve")
            chosen = None if path is None else _as_chosen(work, divergence)[1]
            rows = merged_rows(work.context, divergence, choice, work.progress, chosen)
            if is_checked(work.plan):
                # Upserts are checked on main as it is: rows of other keys that come meanwhile are later ones.
                # Beside other rows nobody may commit.
                rows = replace(rows, is_checked=not rows.are_upserts)
                if now != (work.plan.main_at, self.state.schema):
                    under = merged_state(work.context, divergence, choice, chosen, rows)
                    self._checks = checked_again(work.context, work.plan, under, work.progress)
            self._rows = now, rows
        return self._rows[1]

    def may_follow(self, start: RewriteBase) -> bool:
        state, divergence = self.state, _divergence(self.work)
        is_same_branch = is_same_commit(divergence.branch.snapshot, snapshot_of(state.branch_head))
        is_same_base = is_same_commit(divergence.base, snapshot_of(state.base))
        # With other rows of main there may be other conflicts than the person has seen.
        is_chosen = "resolve" in self.work.plan.arguments
        return is_same_branch and is_same_base and not is_chosen

    def how_it_ended(self, made: Point) -> str:
        return "" if self.has_moved else f": {self.place} had every row of it, or keeps its own"


class _Try(msgspec.Struct, frozen=True):
    """`tags` of the branch are copied to the target, which lacked them, before its snapshots.

    `pinned`: the pin of the branch's head was there before. It keeps a tag on the branch that somebody made.
    """

    tags: tuple[str, ...] = ()
    pinned: bool = False


class FastForward(_Merge):
    """The branch's own snapshots are appended to the target's. The first of them is the commit."""

    @property
    def _points(self) -> Sequence[Point]:
        """The branch's snapshots for the target."""
        return self.state.appended

    @property
    def _base(self) -> Snapshot:
        return snapshot_of(self.state.base)

    def check(self, hold: Hold) -> None:
        raise_first(forward(self.work.context, _as_planned(self.work))[1])

    def commit(self, hold: Hold) -> Mapping[str, Any]:
        work, main = self.work, self.first_head
        divergence = self.divergence(main)
        hold_expiry(work.files, self.root, work.token, main.id + 1)
        tags = tags_to_copy(work.files, divergence, self._points)
        pinned = is_pinned(work.files, self.root, self.state.branch, snapshot_of(self.state.branch_head))
        hold.note(TRY, {"head": main.as_written(), "tags": tags, "pinned": pinned})
        hold.require()
        copy_tags(work.files, divergence, tags, work.progress)
        self.made = append_snapshots(work.context, divergence, self._points, work.progress)
        return {"made": self.made.as_written()}

    def landed(self, hold: Hold) -> Landed:
        landed = has_appended(self.work.files, self.root, self._base.id, self._points)
        # Before the first try, a missing snapshot is not this merge's.
        return Landed.NO if landed is Landed.UNKNOWN and TRY not in hold.steps else landed

    def is_void(self, hold: Hold) -> bool:
        files, first = self.work.files, self._base.id + 1
        # An expiry keeps the newest snapshot: if that is an earlier one, the target was rolled back past it.
        is_back = 0 < newest_id(files, self.root) < first
        # If the target has any of the snapshots, it goes on from there.
        return (is_back or files.exists(self.root.snapshot(first))) and self.landed(hold) is Landed.NO

    def record(self, hold: Hold) -> None:
        divergence = self.divergence(self.head(hold))
        if self.made is None and self.landed(hold) is Landed.YES:
            # A recovery goes on if the first of them landed.
            self.made = append_snapshots(self.work.context, divergence, self._points, self.work.progress)
        if self.made is None and divergence.branch.snapshot.id == divergence.base.id + 1:
            # A person says that it was committed, and there was only one snapshot to commit.
            self.made = divergence.branch.snapshot
        if self.made is not None:
            self._settle_tags(hold, divergence, self.made.id)
        record_merge(self.work.context, divergence, self.made or self.moved[1])

    def take_back(self, hold: Hold) -> None:
        super().take_back(hold)
        tried = hold.journaled.noted(TRY, _Try)
        if tried is None or not tried.pinned:
            # Only a person's word says that the target lacks the snapshots: the pin stays then.
            head = snapshot_of(self.state.branch_head)
            take_back_pin(self.work.files, self.root, self.state.branch, head, stays=self.is_assumed)
        self._take_back_tags(hold, self._points)

    def _settle_tags(self, hold: Hold, divergence: Divergence, reached: int) -> None:
        """Let the target have the branch's tags up to the snapshot that it reached, and no others."""
        files, there = self.work.files, [each for each in self._points if each.id <= reached]
        self._take_back_tags(hold, [each for each in self._points if each.id > reached])
        if root_exists(files, divergence.branch.root):
            # Others may have been made since.
            copy_tags(files, divergence, tags_to_copy(files, divergence, there), self.work.progress)
        unmark_tags(files, self.root, there)

    def _take_back_tags(self, hold: Hold, points: Sequence[Point]) -> None:
        tried = hold.journaled.noted(TRY, _Try)
        if tried is None or not tried.tags:
            return
        # They may be the last tags of what another engine deleted with the branch.
        is_gone = not root_exists(self.work.files, self.source)
        take_back_tags(self.work.files, self.root, tried.tags, points, stay=self.is_assumed or is_gone)

    def _why_it_ends(self) -> str:
        branch, head = self.source, self._points[-1]
        if points_of(self.work.files, branch, head.id - 1, head.id) != [head]:
            return "another engine deleted the branch, and its later snapshots with it"
        return f"then somebody committed to {self.place}, so merge again"

    def prospect(self, hold: Hold) -> Item:
        name, last = self.state.branch, self._points[-1].id
        reached = will_reach(self.work.files, self.source, self.root, self._points)
        if reached == last:
            return nothing_lost(f"{self.place} goes on along branch {name} to snapshot {last}")
        return otherwise(
            f"{self.place} has branch {name} up to snapshot {reached} only: {self._why_it_ends()}"
        )

    def how_it_ended(self, made: Point) -> str:
        return f" up to snapshot {made.id}: {self._why_it_ends()}" if self.is_cut_short(made) else ""

    def is_cut_short(self, made: Point) -> bool:
        return made.id < snapshot_of(self.state.branch_head).id


def _as_planned(work: Work) -> Divergence:
    """Compare again. Raises `Refused` if more changed than commits that came to the target."""
    arguments = work.plan.arguments
    is_chosen = "resolve" in arguments

    def find() -> Divergence:
        divergence = _divergence(work)
        return (
            _as_chosen(work, divergence)[0]
            if is_chosen and divergence.kind == arguments["kind"]
            else divergence
        )

    def may_go_on(divergence: Divergence) -> bool:
        return not is_chosen and divergence.kind != "fast-forward" and divergence.kind == arguments["kind"]

    return as_planned_or_gone_on(work, find, may_go_on)


def _divergence(work: Work) -> Divergence:
    arguments = work.plan.arguments
    up_to, into = integer_argument(arguments, "up_to"), text_argument(arguments, "into")
    return find_divergence(work.files, work.table, str(arguments["name"]), into, up_to=up_to)


def _as_chosen(work: Work, divergence: Divergence) -> tuple[Divergence, Resolution]:
    """Add the choices of the plan to the divergence. Raises `Refused` when the file changed since."""
    arguments = work.plan.arguments
    path, digest = str(arguments["resolve"]), str(arguments["resolve_digest"])
    divergence, resolution, refusals = chosen(work.context, divergence, path, digest)
    raise_first(refusals)
    return divergence, resolution

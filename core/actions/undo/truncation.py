"""Undo a truncation of main: the snapshots that went to a branch are appended to main again.

The first of them is the point of no return. It is written only if main has no snapshot of that id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import msgspec

from paimark.core.actions.change.change import Change, Done, Landed, Work
from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.change.landing import hold_expiry, release_expiry
from paimark.core.actions.change.operations import Operation
from paimark.core.actions.checks import fingerprint
from paimark.core.actions.context import Context, Remark
from paimark.core.actions.merge.fast_forward import append_between, has_appended, will_reach
from paimark.core.actions.plan import NO_DATA_FILE, Item, Plan, Refusal, Step, Taken, raise_first
from paimark.core.actions.plan_wording import nothing_lost, otherwise
from paimark.core.actions.protection_guard import OF_MAIN
from paimark.core.actions.replace.point_main import part
from paimark.core.actions.rollback import truncation
from paimark.core.actions.rollback.truncation import Cut, cut_of
from paimark.core.actions.roots.root_files import has_more
from paimark.core.actions.roots.root_state import RootState, moving_refusals, state
from paimark.core.actions.undo.common import as_planned, edit_of, moved_since, undone, undone_by
from paimark.core.errors import NotFound, Refused
from paimark.core.figures import counted
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.edits import Edits, HistoryEdit, RowsEdit
from paimark.core.table.lineage.forks import Side
from paimark.core.table.lineage.main_branch import main_root, root_exists
from paimark.core.table.records import Point
from paimark.core.text import lowered

_TRY, _PUT_BACK = "puts the first snapshot back", "main has its later snapshots again"


@dataclass(frozen=True)
class Restoring:
    """`main` ends where it was cut; `archive` has the rest."""

    operation: Operation
    cut: Cut
    main: RootState
    archive: RootState

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.operation.token, self.main.newest, self.archive.fingerprint)

    @property
    def description(self) -> str:
        return f"{self.main.description} and {self.archive.description}"


def plan(context: Context, table: TablePath, operation: Operation) -> Plan:
    """Raises `Refused` when main or the branch has moved since, and `Corrupt`."""
    restoring = _find(context.files, table, operation)
    cut = restoring.cut
    tags = truncation.later_tags(context.files, cut.archive, cut.keep)
    of_tags = f" and {counted(len(tags), 'tag')}" if tags else ""
    goes_on = f"main of {table.full_name} go on from snapshot {cut.keep} to {cut.head} again"
    return Plan(
        change="undo-truncation",
        headline=f"Let {goes_on}.",
        arguments={"seen": restoring.description},
        fingerprint=restoring.fingerprint,
        steps=(
            Step(
                "move",
                f"snapshots {cut.keep + 1} to {cut.head}{of_tags}",
                f"back to main from branch {cut.archive.label}, which ends with that: {NO_DATA_FILE}",
            ),
        ),
        items=(nothing_lost("main has no commit since"), Item("keeps", lowered(_kept(cut)))),
        cost="no data file",
        takes=(OF_MAIN, Taken("root", cut.archive.label)),
        refusals=tuple(_refusals(context, restoring)),
    )


class _Try(msgspec.Struct, frozen=True):
    """`later` are the snapshots that main gets back."""

    later: tuple[Point, ...] = ()


class UndoTruncation(Change[Operation]):
    """The commit is the first of the later snapshots in main; it fails if main has a snapshot of that id."""

    State = Operation

    def __init__(self, work: Work, state: Operation) -> None:
        super().__init__(work, state)
        self._last = self._cut.head
        self._later_ones: Sequence[Point] = ()

    @classmethod
    def begin(cls, work: Work) -> Self:
        change = cls(work, undone_by(work))
        raise_first(_refusals(work.context, change._as_planned()))
        return change

    @property
    def _cut(self) -> Cut:
        return cut_of(self.work.table, edit_of(HistoryEdit, self.state))

    def _as_planned(self) -> Restoring:
        return as_planned(self.work, _find(self.work.files, self.work.table, self.state))

    def prepare(self, hold: Hold) -> None:
        cut = self._cut
        hold_expiry(self.work.files, cut.main, self.work.token, cut.keep + 1)
        truncation.put_back_tags(self.work.files, cut)

    def commit(self, hold: Hold) -> None:
        now = self._as_planned()
        files, cut = self.work.files, self._cut
        later = truncation.later_points(files, cut)
        hold.note(_TRY, {"later": [each.as_written() for each in later]})
        if append_between(files, cut.archive, cut.main, later[:1]) is None:
            raise moved_since(self.work, now.description)

    def landed(self, hold: Hold) -> Landed:
        cut = self._cut
        landed = has_appended(self.work.files, cut.main, cut.keep, self._later(hold))
        # Before the first try, a missing snapshot is not this change's.
        return Landed.NO if landed is Landed.UNKNOWN and _TRY not in hold.steps else landed

    def finish(self, hold: Hold) -> None:
        files, cut, progress = self.work.files, self._cut, self.work.progress
        if _PUT_BACK not in hold.steps:
            last = truncation.put_back(files, cut, self._later(hold))
            progress(f"main goes on to snapshot {last}")
            hold.note(_PUT_BACK, {"last": last})
        self._later_ones = self._later(hold)
        self._last = int((hold.journaled.data_of(_PUT_BACK) or {}).get("last", cut.keep))
        if self._last == cut.head:
            if has_more(files, cut.archive, cut.head, cut.main):
                progress(Remark(f"branch {cut.archive.label} stays, for somebody wrote to it just then"))
            else:
                truncation.forget_archive(files, cut, self.work.progress)
        part(files, cut.main, cut.archive, progress)
        release_expiry(files, cut.main, self.work.token)

    def _later(self, hold: Hold) -> Sequence[Point]:
        """The later snapshots: from the journal, because another engine may have deleted the branch."""
        tried = hold.journaled.noted(_TRY, _Try)
        return (tried and tried.later) or truncation.later_points(self.work.files, self._cut)

    def take_back(self, hold: Hold) -> None:
        files, cut, progress = self.work.files, self._cut, self.work.progress
        truncation.take_tags_back(files, cut)
        part(files, cut.main, cut.archive, progress)
        release_expiry(files, cut.main, self.work.token)
        progress(Remark(f"main stays as it is, and branch {cut.archive.label} too"))

    def edits(self) -> Edits | None:
        edit = edit_of(HistoryEdit, self.state)
        reached = next((each for each in self._later_ones if each.id == self._last), None)
        if reached is None:
            return None
        return Edits(rows=RowsEdit(root=edit.root, before=edit.after, after=reached))

    def done(self) -> Done:
        cut, done = self._cut, undone(self.work, self.state, _kept(self._cut))
        if self._last == cut.head:
            return done
        why = f"only in part: {self._in_part(self._last)}"
        stays = (Item("keeps", f"the rest, as branch {cut.archive.label}"),)
        has_rest = root_exists(self.work.files, cut.archive)
        return done._replace(
            message=f"{done.message} {why}", items=stays if has_rest else (), falls_short=True
        )

    def _in_part(self, last: int) -> str:
        if last == self._cut.keep:
            return "main has gone on since, and what came back has expired there"
        why = "and then somebody's own commit"
        if not root_exists(self.work.files, self._cut.archive):
            why = f"for another engine deleted branch {self._cut.archive.label}"
        return f"main has its later snapshots up to {last}, {why}"

    def prospect(self, hold: Hold) -> Item:
        files, cut = self.work.files, self._cut
        last = will_reach(files, cut.archive, cut.main, self._later(hold))
        if last == cut.head:
            return nothing_lost(f"main goes on to snapshot {last} again")
        return otherwise(self._in_part(last or cut.keep))

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        return [Step("replace", self.state.description, "taken back, or not, but not half")]


def _find(files: Files, table: TablePath, operation: Operation) -> Restoring:
    edit = edit_of(HistoryEdit, operation)
    cut = cut_of(table, edit)
    if main_root(files, table) != cut.main:
        raise Refused(
            f"Main of {table.full_name} is another than at {operation.description}",
            "Take that back first: `paimark undo --replacement`.",
        )
    try:
        main, archive = state(files, cut.main), state(files, cut.archive)
    except NotFound as error:
        raise Refused(f"Branch {cut.archive.label}, which has what came later, is gone", "") from error
    hint = f"Merge branch {cut.archive.label} instead, or make it main."
    if main.head is None or not edit.after.is_of(main.head.snapshot):
        was, now = f"snapshot {edit.after.id}", main.description
        reason = f"main of {table.full_name} moved since {operation.description}: then at {was}, now {now}"
        raise Refused(reason, hint)
    if archive.head is None or not edit.before.is_of(archive.head.snapshot):
        raise Refused(
            f"Branch {cut.archive.label} of {table.full_name} has gone on since {operation.description}", hint
        )
    return Restoring(operation, cut, main, archive)


def _kept(cut: Cut) -> str:
    return f"Every snapshot, tag and savepoint of branch {cut.archive.label}, in main"


def _refusals(context: Context, restoring: Restoring) -> list[Refusal]:
    files, cut = context.files, restoring.cut
    main, tags = Side(files, cut.main), Side(files, cut.archive).tags
    refusals = moving_refusals(context, cut.archive)
    clashes = [name for name, tag in tags.items() if tag.id > cut.keep and name in main.tags]
    lost = [name for name, tag in tags.items() if tag.id <= cut.keep and name not in main.tags]
    if lost:
        reason = f"Branch {cut.archive.label} would go with its tag {', '.join(lost)}, which main lacks"
        refusals.append(Refusal(reason, "Make it on main, then delete it there, first."))
    if clashes:
        reason = f"Main has other tags of these names by now: {', '.join(clashes)}"
        refusals.append(Refusal(reason, "Delete them first."))
    return refusals

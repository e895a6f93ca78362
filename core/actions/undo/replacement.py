"""Undo a replacement of main: the archived main moves back into the table directory.

The branch that was main keeps every commit. So does the archive, if a job committed to it before it was
closed: then it stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import msgspec

from paimark.core.actions.branches.removal import (
    RESTORED,
    Agreed,
    Stays,
    agreed_on,
    earliest_before,
    keep_if_late,
    remove,
    why_it_stays,
)
from paimark.core.actions.change.change import Done, Work
from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.change.operations import Operation
from paimark.core.actions.checks import fingerprint
from paimark.core.actions.context import Context, Remark
from paimark.core.actions.follow_ups import ids_given_again
from paimark.core.actions.merge import history as merge_history
from paimark.core.actions.plan import NO_DATA_FILE, Item, Plan, Refusal, Step, Taken, raise_first
from paimark.core.actions.plan_wording import nothing_lost, otherwise
from paimark.core.actions.protection_guard import leaving
from paimark.core.actions.replace.point_main import PointMain
from paimark.core.actions.replace.pointer import drop_copies
from paimark.core.actions.replace.table_directory import (
    clean_table_directory,
    clear_table_directory,
    drop_guards,
    restore,
)
from paimark.core.actions.roots.barrier import stray_commits
from paimark.core.actions.roots.root_files import root_files, snapshot_ids
from paimark.core.actions.roots.root_state import RootState, moving_refusals, state, unreadable_refusals
from paimark.core.actions.undo.common import as_planned, edit_of, moved_since, undone, undone_by
from paimark.core.errors import NotFound, Refused
from paimark.core.figures import age, counted
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.edits import Edits, MainEdit
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_branch_name, root_exists
from paimark.core.table.read_tags import is_of_read

_DROPPED = "took main's past out of the branch"


@dataclass(frozen=True)
class Reversal:
    """A replacement to take back: `main` is the branch that is main, `previous` becomes main again.

    `archive` is the branch that moves into the table directory, None when the previous main is a branch.
    """

    operation: Operation
    main: RootState
    previous: RootState
    archive: Root | None

    @property
    def fingerprint(self) -> str:
        """What jobs commit to the branch that is main stays there, so it does not count."""
        return fingerprint(self.operation.token, self.main.root.directory, self.previous.fingerprint)

    @property
    def description(self) -> str:
        return f"{self.main.description} and {self.previous.description}"


def plan(context: Context, table: TablePath, operation: Operation) -> Plan:
    """Raises `Refused` when the undo is no longer possible, and `Corrupt`."""
    reversal = _find(context.files, table, operation)
    main, archive = reversal.main, reversal.archive
    staying = Lineage(context.files, reversal.previous.root).tag_names()
    gone = () if archive is None else (Taken("root", archive.label),)
    return Plan(
        change="undo-replacement",
        headline=f"Make main of {table.full_name} what it was before.",
        arguments={"seen": reversal.description},
        fingerprint=reversal.fingerprint,
        steps=tuple(_steps(context.files, reversal)),
        items=tuple(_items(context, reversal)),
        phrase=main.root.label,
        cost="no data file",
        takes=(*leaving(context.files, main.root, staying), *gone),
        refusals=tuple(_refusals(context, reversal)),
    )


class UndoState(msgspec.Struct, frozen=True):
    """The operation to undo, and what its archive had."""

    operation: Operation  # the [operation](#operation-log) of the replacement
    # what main has again: `head`, the archive's newest snapshot as a point, and `tags`, their names
    agreed: Agreed


class UndoReplacement(PointMain[UndoState]):
    """The archived main is copied into the table directory, which becomes main again."""

    State = UndoState

    def __init__(self, work: Work, state: UndoState) -> None:
        super().__init__(work, state)
        # Why the archive stays.
        self._stays: Stays | None = None

    @classmethod
    def begin(cls, work: Work) -> Self:
        operation = undone_by(work)
        reversal = as_planned(work, _find(work.files, work.table, operation))
        raise_first(_refusals(work.context, reversal))
        # The fingerprint is compared at the commit: then this is what main gets.
        agreed = agreed_on(work.files, reversal.archive) if reversal.archive else Agreed()
        return cls(work, UndoState(operation, agreed))

    @property
    def _edit(self) -> MainEdit:
        return edit_of(MainEdit, self.state.operation)

    @property
    def _archive(self) -> Root | None:
        return _archive(self.work.table, self.state.operation)

    @property
    def new_main(self) -> Root:
        return self.work.table.root(self._edit.before)

    def prepare(self, hold: Hold) -> None:
        moved, archive = self.state.operation.turned.moved, self._archive
        if archive is not None and moved is not None:
            schema = (moved.schema or "").encode()
            restore(self.work.files, self.work.table, archive, moved.schema_id or 0, schema)
            self.work.progress(f"copied branch {archive.label} into the table directory")
        self._require_still()

    def _require_still(self) -> None:
        now = as_planned(self.work, _find(self.work.files, self.work.table, self.state.operation))
        if not self._is_whole():
            raise moved_since(self.work, now.description)
        raise_first(_refusals(self.work.context, now))

    def finish(self, hold: Hold) -> None:
        files, table, archive = self.work.files, self.work.table, self._archive
        self.point(hold)
        self.work.progress(f"{self._edit.before or 'the table directory'} is main again")
        if _DROPPED not in hold.steps:
            self._drop_copies()
            # Once the barrier is gone, another engine can make another branch of this name.
            hold.note(_DROPPED)
        if archive is None:
            clear_table_directory(files, table, self.new_main, None)
            return
        merge_history.hand_on(files, archive, table.root())
        agreed = self.state.agreed
        self._stays = keep_if_late(hold, archive, agreed, self.work.progress)
        if RESTORED not in hold.steps:
            drop_guards(files, table, archive, agreed.tags, earliest_before(hold, archive))
            hold.note(RESTORED)
            self.work.progress(RESTORED)
            self._stays = self._stays or keep_if_late(hold, archive, agreed, self.work.progress)
        if self._stays is not None:
            self.work.progress(Remark(self._stays.said(archive)))
        else:
            remove(hold, archive, self.work.progress)

    def _drop_copies(self) -> None:
        """Take main's past out of the branch again."""
        edit, branch = self._edit, self.work.table.root(self._edit.after)
        copied = range(edit.first_copied, edit.last_copied + 1)
        drop_copies(self.work.files, self.new_main, branch, copied, edit.copied_tags)

    def take_back(self, hold: Hold) -> None:
        if self._archive is not None:
            main = self.work.table.root(self._edit.after)
            clear_table_directory(self.work.files, self.work.table, main, self._archive)
            clean_table_directory(self.work.files, self.work.table, main, self._archive)

    def clean(self) -> None:
        if self.is_pointed:
            clean_table_directory(self.work.files, self.work.table, self.new_main, self._archive)

    def edits(self) -> Edits:
        return Edits(main=MainEdit(before=self._edit.after, after=self._edit.before))

    def done(self) -> Done:
        branch = self.work.table.root(self._edit.after)
        kept = f"Nothing of branch {branch.label}, which another engine has deleted since"
        if root_exists(self.work.files, branch):
            kept = _kept(self._edit, state(self.work.files, branch))
        done, archive = undone(self.work, self.state.operation, kept), self._archive
        if self._stays is None or archive is None:
            return done
        item = self._stays.item(archive)
        result = done.result | {"archive": archive.label, "stays": item.text}
        result["late_commits"] = self._stays.commits
        return done._replace(result=result, items=(item, *done.items))

    def prospect(self, hold: Hold) -> Item:
        archive = self._archive
        if archive is None:
            return super().prospect(hold)
        stays = why_it_stays(hold, archive, self.state.agreed)
        return super().prospect(hold) if stays is None else otherwise(stays.said(archive))

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        return [Step("replace", self.state.operation.description, "taken back, or not, but not half")]

    def _is_whole(self) -> bool:
        """Whether the table directory has exactly the archive's snapshots."""
        archive = self._archive
        return archive is None or snapshot_ids(self.work.files, self.work.table.root()) == snapshot_ids(
            self.work.files, archive
        )


def _archive(table: TablePath, operation: Operation) -> Root | None:
    """The branch that moves into the table directory."""
    moved = operation.turned.moved
    return None if moved is None else table.root(moved.after)


def _find(files: Files, table: TablePath, operation: Operation) -> Reversal:
    edit, archive = edit_of(MainEdit, operation), _archive(table, operation)
    if main_branch_name(files, table) != edit.after:
        raise Refused(
            f"Main of {table.full_name} is not branch {edit.after}, which the last replacement made it",
            "Replace main with the branch that is to be main.",
        )
    if edit.was_dropped:
        raise Refused(
            f"The main that branch {edit.after} replaced was dropped", "Replace main with another branch."
        )
    back = archive or table.root(edit.before)
    try:
        previous = state(files, back)
    except NotFound as error:
        raise Refused(
            f"Branch {back.label}, which was main before, is gone", "Replace main with another branch."
        ) from error
    return Reversal(operation, state(files, table.root(edit.after)), previous, archive)


def _refusals(context: Context, reversal: Reversal) -> list[Refusal]:
    """Why the undo can't be done."""
    table = reversal.main.root.table
    previous = reversal.previous
    reasons = unreadable_refusals(context, previous) if previous.head else []
    known = (each for each in Lineage(context.files, previous.root).tags() if not is_of_read(each[0]))
    tags = sorted(known, key=lambda each: each[1].id)
    if previous.head is None and tags:
        # Another engine expired them before the barrier was there: main would read as an empty table.
        reason = (
            f"{previous.root.label} has no snapshot any more, only tags: {table.full_name} would be empty"
        )
        sql = f"SELECT * FROM {table.name}$branch_{previous.root.label} VERSION AS OF '{tags[-1][0]}'"
        reasons.append(Refusal(reason, f"Read its newest tag, and write that where it is needed: {sql}"))
    if reversal.archive is None:
        return reasons
    reasons += moving_refusals(context, reversal.archive)
    ended = previous.head.snapshot.id if previous.head else 0
    reasons += ids_given_again(context.files, table, ended)
    if strays := stray_commits(context.files, table):
        reason = f"A stale writer left {counted(len(strays), 'commit')} in the directory of {table.full_name}"
        hint = f"Run `paimark rescue-commits {table.word} --name BRANCH` first."
        reasons.append(Refusal(reason, hint))
    return reasons


def _steps(files: Files, reversal: Reversal) -> list[Step]:
    table, name, archive = reversal.main.root.table, reversal.main.root.label, reversal.archive
    edit = edit_of(MainEdit, reversal.operation)
    pointer = Step("replace", table.main_branch_file, f"{name} -> {edit.before or 'blank'}")
    copies = []
    if edit.copied_tags or edit.first_copied <= edit.last_copied:
        copies.append(Step("delete", f"copies in branch {name}", "of main's past, which main has"))
    if archive is None:
        detail = f"guards and notice of {reversal.previous.root.label} instead of those of {name}"
        return [pointer, Step("replace", table.directory, detail), *copies]
    sizes = root_files(files, archive)
    whole = f"back from branch {archive.label}: {counted(len(sizes), 'file')}; {NO_DATA_FILE}"
    return [
        Step("move", "the previous main", whole, sum(sizes.values())),
        pointer,
        Step("delete", f"guards of {name}", "copies of its tags from after the fork"),
        *copies,
    ]


def _kept(edit: MainEdit, main: RootState) -> str:
    """The branch, with its later commits."""
    name, head, since = main.root.label, main.head, edit.head or 0
    if head is None or head.snapshot.id <= since:
        return f"Branch {name} as it is: nothing was committed to it since"
    first, last = since + 1, head.snapshot.id
    which = f"snapshot {last}" if first == last else f"snapshots {first} to {last}"
    count = counted(last - since, "commit")
    return f"Branch {name}, with the {count} made since it became main: {which}"


def _items(context: Context, reversal: Reversal) -> Iterator[Item]:
    edit, main = edit_of(MainEdit, reversal.operation), reversal.main
    name, table, head = main.root.label, main.root.table.full_name, main.head
    count = 0 if head is None else head.snapshot.id - (edit.head or 0)
    if head is None or count <= 0:
        yield nothing_lost(f"{name} got no commit since")
    else:
        when = age(head.snapshot.time_millis, context.clock())
        text = (
            f"main's {counted(count, 'commit')} since {name} became main (newest {when}): they stay on {name}"
        )
        newest = head.snapshot.time_millis
        yield Item(
            "loses", text, "commits-leave-main", is_grave=True, count=count, unit="commits", newest=newest
        )
    if reversal.archive is None:
        yield Item("affects", f"main is {reversal.previous.root.label} again")
    else:
        yield Item("affects", f"stock engines read and write {table} again", "stock-again")
    yield Item("keeps", f"branch {name}, with all of its commits; jobs on it go on")

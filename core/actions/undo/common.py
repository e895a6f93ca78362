"""What all undos share: find the operation, check it against the plan, report; what a person can do."""

from __future__ import annotations

from typing import Protocol, TypeVar

from paimark.core.actions.change import journal, operations
from paimark.core.actions.change.change import Done, Work
from paimark.core.actions.change.operations import Operation, Stacks
from paimark.core.actions.checks import moved
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Instead, Item, Plan, Refusal
from paimark.core.actions.rewrite.spark_rewrite import saved
from paimark.core.errors import Refused
from paimark.core.quoting import quoted_if_needed, shell_line
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.edits import HistoryEdit, MainEdit, MovedRoot, RowsEdit
from paimark.core.table.lineage.forks import Side
from paimark.core.text import lowered


class UndoStart(Protocol):
    """The state that an undo starts from: its fingerprint, and a description."""

    @property
    def fingerprint(self) -> str: ...
    @property
    def description(self) -> str: ...


F = TypeVar("F", bound=UndoStart)
E = TypeVar("E", MainEdit, MovedRoot, RowsEdit, HistoryEdit)


def unless_locked(context: Context, table: TablePath, *own: Refusal) -> list[Refusal]:
    """`own` refusals; of a locked table the lock's alone, because what can be undone may still change."""
    return journal.refusals(context, table) or list(own)


def edit_of(kind: type[E], operation: Operation) -> E:
    """The edit of this kind, which the operation has."""
    edits = operation.turned
    every = (edits.main, edits.moved, edits.rows, edits.history)
    return next(each for each in every if isinstance(each, kind))


def undone_by(work: Work) -> Operation:
    """The change that the plan undoes. Raises `Refused` when it can't be undone any more."""
    for entry in operations.undoable(work.context, work.table):
        if entry.token == work.plan.undoes:
            return entry
    raise Refused(
        f"What this plan undoes has been undone, or {work.table.full_name} moved on since",
        "Make a new plan.",
    )


def redone_by(stacks: Stacks, table: TablePath, plan: Plan) -> Operation:
    """The change that the plan does again. Raises `Refused` when it can't be done again any more."""
    for operation in stacks.redo:
        if operation.token == plan.redoes:
            return operation
    raise Refused(
        f"What this plan does again was done again, or {table.full_name} was changed since",
        "Make a new plan.",
    )


def as_planned(work: Work, state: F) -> F:
    """The state, if it is as the plan saw it. Raises `Refused`."""
    if state.fingerprint != work.plan.fingerprint:
        raise moved_since(work, state.description)
    return state


def moved_since(work: Work, now: str = "") -> Refused:
    """The error of an undo whose starting state changed since the plan."""
    return moved(work.table, str(work.plan.arguments.get("seen", "")), now)


def undone(work: Work, entry: Operation, kept: str) -> Done:
    """The result of a finished undo; `kept` says what stays."""
    return Done(
        message=f"Took back {entry.description} of {work.plan.table}",
        result={
            "undone": entry.action,
            "branch_name": entry.branch,
            "previous_main": None if entry.turned.main is None else entry.turned.main.before,
        },
        before=entry.description,
        after=f"{entry.description} taken back",
        items=(Item("keeps", lowered(kept)),),
    )


class Followed(Refused):
    """Others committed since a change of rows. `instead` takes back its commit alone, if anything does."""

    def __init__(self, reason: str, files: Files, table: TablePath, edit: RowsEdit, *, is_main: bool) -> None:
        self.instead = _revert(files, table, edit, is_main=is_main)
        super().__init__(reason, _told(table, self.instead, _all_since(files, table, edit, is_main=is_main)))


def by_hand(files: Files, table: TablePath, edit: RowsEdit, *, is_main: bool) -> str:
    """The commands, in a sentence, that take back the change: its commit alone, or all since as well."""
    revert = _revert(files, table, edit, is_main=is_main)
    return _told(table, revert, _all_since(files, table, edit, is_main=is_main))


def _told(table: TablePath, revert: Instead | None, rest: str) -> str:
    if revert is None:
        return rest
    options = [word for name, value in revert.arguments.items() for word in (f"--{name}", str(value))]
    command = shell_line(["paimark", revert.action, table.full_name, *options])
    return f"`{command}` takes back that commit alone; {rest}"


def _all_since(files: Files, table: TablePath, edit: RowsEdit, *, is_main: bool) -> str:
    root, before = table.root(edit.root), edit.before
    name = table.name if is_main else f"{table.name}$branch_{root.label}"
    name = f"{quoted_if_needed(table.database)}.{quoted_if_needed(name)}"
    if before is None:
        command = _sql(f"INSERT OVERWRITE {name} SELECT * FROM {name} WHERE false")
        return f"{command} takes all rows out, also what came since."
    kept = saved(files, root, before.id)
    if kept is None and Side(files, root).record(before.id) is None:
        return f"Snapshot {before.id}, from before it, has expired: roll back to another version."
    version = f"snapshot.{before.id}" if kept is None else f"savepoint.{kept}"
    if is_main:
        command = f"`paimark rollback {table.word} --to {version}`"
    else:
        command = _sql(f"INSERT OVERWRITE {name} SELECT * FROM {name} VERSION AS OF '{version}'")
    return f"{command} gives it the rows from before, without what came since."


def _revert(files: Files, table: TablePath, edit: RowsEdit, *, is_main: bool) -> Instead | None:
    """None if it is more than one commit, or what it and the one before left can't be read any more."""
    side, first = Side(files, table.root(edit.root)), 0 if edit.before is None else edit.before.id
    made = side.record(edit.after.id)
    if first + 1 != edit.after.id or made is None or not edit.after.is_of(made):
        return None
    if edit.before is not None and side.record(edit.before.id) is None:
        return None
    branch = {} if is_main else {"branch": side.root.label}
    return Instead("revert", {**branch, "snapshot": edit.after.id})


def _sql(statement: str) -> str:
    return f"`{shell_line(['paimark', 'sql', statement])}`"

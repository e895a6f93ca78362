"""`branch/operations/`: the log of what was done to a table, and what of it can be undone or redone.

Each operation is a file of its own, `operation-<number>-<token>`, written once and never changed: the log
only grows. What can be undone is what is left when every operation is played: an undo takes the operation
that it undid from the top, a redo puts it back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from core.actions.context import Context
from core.errors import FileMissing
from core.table.layout import OPERATION_PREFIX, Root, TablePath
from core.table.records import Point, Record, Snapshot, point_of

if TYPE_CHECKING:
    from core.actions.change.change import Work

REPLACEMENT = "replace-main-branch"
_NAME = re.compile(rf"{re.escape(OPERATION_PREFIX)}(?P<number>\d+)-(?P<token>[0-9a-z]+)")


class Undoable(Record, frozen=True, kw_only=True):
    """What it takes to undo a change. `time` is epoch milliseconds.

    Of a replacement, `branch` is the branch that became main, `previous` the one that was main before (None:
    the table directory), `kept_as` the branch that the table directory's main is kept as (None: nothing was
    moved, or it was dropped). Of a retired branch, `branch` is its name and `kept_as` what it is kept as.
    `schema` is the newest schema of what was moved, as it was before stock retention was switched off in it,
    `head` the newest snapshot of the branch then.

    Of a merge, a replacement by overwrite or a rollback, `root` is main's (None: the table directory), which
    it took from `before` to `after`. `branch` is the one whose rows came, `to` the version that a rollback
    went to. One that truncated left what came later in the branch `kept_as`.

    Of anything else, `inverse` is the action that undoes it with its arguments, and `holds` what must still
    be as the change left it.
    """

    version: int = 1
    token: str
    action: str
    user: str
    time: int
    branch: str = ""
    previous: str | None = None
    kept_as: str | None = None
    schema_id: int | None = None
    schema: str | None = None
    head: int | None = None
    was_dropped: bool = False
    root: str | None = None
    before: Point | None = None
    after: Point | None = None
    to: str | None = None
    inverse: str | None = None
    arguments: dict[str, Any] | None = None
    holds: str | None = None

    @property
    def description(self) -> str:
        """`merge-branch of fix`, `rollback to v2`."""
        if self.to:
            return f"{self.action} to {self.to}"
        return f"{self.action} of {self.branch}" if self.branch else self.action

    @property
    def moved_main(self) -> bool:
        """Whether main stayed what it is, and got rows of another state."""
        return self.after is not None

    @property
    def is_replacement(self) -> bool:
        """Whether another root became main."""
        return self.action == REPLACEMENT and not self.moved_main

    def leads_to(self, point: Point | None, root: str | None) -> bool:
        """Whether it left main's root at this commit."""
        return self.moved_main and (self.root, self.after) == (root, point)


def move_of(
    work: Work, root: Root, before: Snapshot, after: Snapshot, *, branch: str = "", to: str | None = None
) -> Undoable:
    """What undoes a change that took main from one snapshot to another."""
    return Undoable(
        token=work.token,
        action=work.plan.action,
        user=work.user,
        time=work.since,
        branch=branch,
        root=root.branch,
        before=point_of(before),
        after=point_of(after),
        to=to,
    )


class Operation(Record, frozen=True, kw_only=True):
    """One finished change. `time` is epoch milliseconds; `request` is what the action was asked for.

    `before` and `after` name the references that it moved. `undoes` and `redoes` are tokens of operations;
    `now` is where an undo by a commit left main.
    """

    version: int = 1
    number: int
    token: str
    action: str
    request: dict[str, Any]
    user: str
    host: str
    time: int
    summary: str
    before: str
    after: str
    way_back: Undoable | None = None
    undoes: str | None = None
    redoes: str | None = None
    now: Point | None = None


class Stacks(msgspec.Struct, frozen=True):
    """What can be undone and what can be redone, each with the newest last."""

    undo: tuple[Undoable, ...]
    redo: tuple[Operation, ...]


def operations(context: Context, table: TablePath) -> list[Operation]:
    """All of them, oldest first. Raises `Corrupt`."""
    names = _names(context, table)
    paths = [f"{table.operations}/{name}" for _, _, name in names]
    found = zip(paths, context.files.read_many(paths), strict=True)
    return [Operation.from_json(data, path) for path, data in found if data is not None]


def append(context: Context, table: TablePath, operation: Operation) -> None:
    """Add an operation with the next number. Idempotent."""
    names = _names(context, table)
    if any(token == operation.token for _, token, _ in names):
        return
    number = max((number for number, _, _ in names), default=0) + 1
    numbered = msgspec.structs.replace(operation, number=number)
    context.files.create(f"{table.operation(number)}-{operation.token}", numbered.to_json())


def undoable(context: Context, table: TablePath) -> list[Undoable]:
    """What can be undone, the newest last. Raises `Corrupt`."""
    return list(stacks(context, table).undo)


def stacks(context: Context, table: TablePath) -> Stacks:
    """Play the log. Raises `Corrupt`."""
    undo = _before_the_log(context, table)
    redo: list[Operation] = []
    by_token: dict[str, Operation] = {}
    for operation in operations(context, table):
        by_token[operation.token] = operation
        if operation.undoes is not None:
            undo = _without(undo, operation.undoes, operation.now)
            if (undone := by_token.get(operation.undoes)) is not None:
                redo.append(msgspec.structs.replace(undone, now=operation.now))
            continue
        if operation.redoes is not None:
            redo = [each for each in redo if each.token != operation.redoes]
        elif operation.way_back is not None:
            redo = []
        if operation.way_back is not None:
            undo = [*_still_open(undo, operation.way_back), operation.way_back]
    return Stacks(tuple(undo), tuple(redo))


def _names(context: Context, table: TablePath) -> list[tuple[int, str, str]]:
    found = [_NAME.fullmatch(name) for name in context.files.names(table.operations)]
    return sorted((int(each["number"]), each["token"], each[0]) for each in found if each)


def _without(known: Sequence[Undoable], token: str, now: Point | None) -> list[Undoable]:
    """Without the change of this token, and what moved main after it.

    When main went back by a commit, `now` is that one: the change before it can be undone from there.
    """
    place = next((number for number, each in enumerate(known) if each.token == token), None)
    if place is None:
        return list(known)
    gone, left = known[place], list(known[:place])
    if now is not None:
        left = [
            msgspec.structs.replace(each, after=now)
            # A cut is undone by ids, and those are given again.
            if each.leads_to(gone.before, gone.root) and each.kept_as is None
            else each
            for each in left
        ]
    return [*left, *(each for each in known[place + 1 :] if not each.moved_main)]


def _still_open(known: Sequence[Undoable], entry: Undoable) -> list[Undoable]:
    """Without those whose state main has left: it never comes back to that very commit."""
    left = list(known)
    if not entry.moved_main:
        return left
    for each in reversed(known):
        if each.is_replacement or each.leads_to(entry.before, entry.root):
            break
        if each.moved_main:
            left.remove(each)
    return left


def _before_the_log(context: Context, table: TablePath) -> list[Undoable]:
    """What an earlier version of Paimark kept for its undo."""
    try:
        data = context.files.read(table.undo_log)
    except FileMissing:
        return []
    return [Undoable.from_json(line, table.undo_log) for line in data.splitlines() if line.strip()]

"""The log of operations: append to it, and find the operations that can be undone or redone.

The log only grows. Replaying it yields the operations that can be undone: an undo removes the operation that
it undid from the top, a redo adds it again.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from paimark.core.actions.context import Context
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.operations import (
    REPLACEMENT,
    Group,
    Operation,
    Undoable,
    operation_names,
    read_operations,
    undoable_before_the_log,
)
from paimark.core.table.records import Point

__all__ = [
    "REPLACEMENT",
    "Group",
    "Operation",
    "Stacks",
    "Undoable",
    "append",
    "stacks",
    "stacks_of",
    "undoable",
]


class Stacks(msgspec.Struct, frozen=True):
    """Operations that can be undone, and that can be redone, each with the newest last.

    `groups` maps the tokens of parts to the ids of their changes of many. `in_effect` are the operations of
    the log that no undo has taken back.
    """

    undo: tuple[Undoable, ...]
    redo: tuple[Operation, ...]
    groups: dict[str, str]
    in_effect: tuple[Operation, ...] = ()

    def together(self, token: str) -> set[str]:
        """The tokens of all parts of the change of many with this part; else this token alone."""
        group = self.groups.get(token)
        return {token} if group is None else {each for each, of in self.groups.items() if of == group}


def append(context: Context, table: TablePath, operation: Operation) -> None:
    """Add an operation with the next number. Idempotent."""
    names = operation_names(context.files, table)
    if any(token == operation.token for _, token, _ in names):
        return
    number = max((number for number, _, _ in names), default=0) + 1
    numbered = msgspec.structs.replace(operation, number=number)
    context.files.create(f"{table.operation(number)}-{operation.token}", numbered.to_json())


def undoable(context: Context, table: TablePath) -> list[Undoable]:
    """Operations that can be undone, the newest last. Raises `Corrupt`."""
    return list(stacks(context, table).undo)


def stacks(context: Context, table: TablePath) -> Stacks:
    """Replay the log. Raises `Corrupt`."""
    return stacks_of(context.files, table)


def stacks_of(files: Files, table: TablePath) -> Stacks:
    """As `stacks`, for who only reads."""
    undo = undoable_before_the_log(files, table)
    redo: list[Operation] = []
    by_token: dict[str, Operation] = {}
    gone: set[str] = set()
    for operation in read_operations(files, table):
        by_token[operation.token] = operation
        if operation.undoes is not None:
            before, undo = undo, _without(undo, operation.undoes, operation.now)
            gone |= {each.token for each in before} - {each.token for each in undo}
            if (undone := by_token.get(operation.undoes)) is not None:
                redo.append(msgspec.structs.replace(undone, now=operation.now))
            continue
        if operation.redoes is not None:
            redo = [each for each in redo if each.token != operation.redoes]
        elif operation.way_back is not None:
            redo = []
        if operation.way_back is not None:
            undo = [*_still_open(undo, operation.way_back), operation.way_back]
    groups = {each.token: each.group.id for each in by_token.values() if each.group is not None}
    return Stacks(tuple(undo), tuple(redo), groups, _in_effect(by_token, gone))


def _in_effect(by_token: dict[str, Operation], gone: set[str]) -> tuple[Operation, ...]:
    return tuple(each for token, each in by_token.items() if token not in gone and each.undoes is None)


def _without(known: Sequence[Undoable], token: str, now: Point | None) -> list[Undoable]:
    """The list without the change of this token, and without the later ones that moved main.

    If main went back by a commit, `now` is that commit: the change before can then be undone from there.
    """
    index = next((number for number, each in enumerate(known) if each.token == token), None)
    if index is None:
        return list(known)
    gone, left = known[index], list(known[:index])
    if now is not None:
        left = [
            msgspec.structs.replace(each, after=now)
            # A truncation is undone by snapshot ids, and ids are given again.
            if each.leads_to(gone.before, gone.root) and each.kept_as is None
            else each
            for each in left
        ]
    return [*left, *(each for each in known[index + 1 :] if not each.moved_main)]


def _still_open(known: Sequence[Undoable], entry: Undoable) -> list[Undoable]:
    """The list without the changes whose state main has left: main never returns to that very commit."""
    left = list(known)
    if not entry.moved_main:
        return left
    for each in reversed(known):
        if each.is_replacement or each.leads_to(entry.before, entry.root):
            break
        if each.moved_main:
            left.remove(each)
    return left

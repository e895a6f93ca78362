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
    append,
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
    the log that no undo has taken back, `undos` those that took back another.
    """

    undo: tuple[Undoable, ...]
    redo: tuple[Operation, ...]
    groups: dict[str, str]
    in_effect: tuple[Operation, ...] = ()
    undos: tuple[Operation, ...] = ()

    def together(self, token: str) -> set[str]:
        """The tokens of all parts of the change of many with this part; else this token alone."""
        group = self.groups.get(token)
        return {token} if group is None else {each for each, of in self.groups.items() if of == group}


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
    known = _as_committed(read_operations(files, table))
    for operation in _without_compactions(known):
        by_token[operation.token] = operation
        if operation.undoes is not None:
            before, undo = undo, _without(undo, operation.undoes, operation.now)
            gone |= {each.token for each in before} - {each.token for each in undo}
            if (undone := by_token.get(operation.undoes)) is not None:
                entry = next((each for each in before if each.token == operation.undoes), undone.way_back)
                redo.append(msgspec.structs.replace(undone, now=operation.now, way_back=entry))
            continue
        if operation.redoes is not None:
            redo = _without_redone(redo, operation)
        elif operation.way_back is not None:
            redo = []
        if operation.way_back is not None:
            undo = [*_still_open(undo, operation.way_back), operation.way_back]
    for operation in known:
        by_token.setdefault(operation.token, operation)
    groups = {each.token: each.group.id for each in by_token.values() if each.group is not None}
    undos = tuple(each for each in by_token.values() if each.undoes is not None)
    gone -= {each.undoes for each in undos if each.undoes and _went_on(by_token.get(each.undoes), each)}
    return Stacks(tuple(undo), tuple(redo), groups, _in_effect(by_token, gone), undos)


def _without_compactions(known: Sequence[Operation]) -> list[Operation]:
    """The operations but compactions, which change no rows: what led to the state before one led past it.

    A truncation is undone by snapshot ids, so main has moved on for it.
    """
    moved = {
        key: entry.after
        for each in known
        if (entry := each.way_back) is not None
        and entry.is_compaction
        and (key := _place(entry.root, entry.before)) is not None
    }
    if not moved:
        return list(known)

    def last(root: str | None, point: Point | None) -> Point | None:
        while (key := _place(root, point)) in moved:
            point = moved[key]
        return point

    roots = {each.token: each.way_back.root for each in known if each.way_back is not None}
    passed = []
    for each in known:
        entry, now = each.way_back, each.now
        if entry is not None and entry.is_compaction:
            continue
        if entry is not None and entry.moved_rows and not entry.is_truncation:
            entry = msgspec.structs.replace(entry, after=last(entry.root, entry.after))
        if now is not None and each.undoes in roots:
            now = last(roots[each.undoes], now)
        passed.append(msgspec.structs.replace(each, way_back=entry, now=now))
    return passed


def _place(root: str | None, point: Point | None) -> tuple[str | None, int, str] | None:
    return None if point is None else (root, point.id, point.delta_manifest_list)


def _went_on(undone: Operation | None, undo: Operation) -> bool:
    """Whether a stream committed on after its batches were taken back: its later ones stay."""
    if undone is None or undone.stream is None or undone.way_back is None or undo.now is None:
        return False
    return _head(undone.way_back) > undo.now.id


def _in_effect(by_token: dict[str, Operation], gone: set[str]) -> tuple[Operation, ...]:
    return tuple(each for token, each in by_token.items() if token not in gone and each.undoes is None)


def _as_committed(known: Sequence[Operation]) -> list[Operation]:
    """The operations, with writes to one root in the order of their commits.

    Writers that ran at once may have logged them in another order.
    """
    placed: list[Operation] = []
    for operation in known:
        entry, place = operation.way_back, len(placed)
        if entry is not None and entry.is_write:
            for index in reversed(range(len(placed))):
                other = placed[index].way_back
                if other is None or not other.moved_rows or other.root != entry.root:
                    continue
                if not other.is_write or _head(other) < _head(entry):
                    break
                place = index
        placed.insert(place, operation)
    return placed


def _head(entry: Undoable) -> int:
    return 0 if entry.after is None else entry.after.id


def _without(known: Sequence[Undoable], token: str, now: Point | None) -> list[Undoable]:
    """The list without the change of this token, and without the later ones that moved the rows of its root.

    If they went back by a commit, `now` is that commit: the change before can then be undone from there.
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
    return [*left, *(each for each in known[index + 1 :] if not _goes_with(each, gone))]


def _without_redone(known: Sequence[Operation], redone: Operation) -> list[Operation]:
    """The undone operations without the one that was done again.

    The one that was undone before it can then be done again from where that left its root.
    """
    again = next((each for each in known if each.token == redone.redoes), None)
    left = [each for each in known if each is not again]
    there = None if again is None or again.way_back is None else again.way_back.after
    if there is None or redone.way_back is None:
        return left
    now = redone.way_back.after
    return [msgspec.structs.replace(each, now=now) if each.now == there else each for each in left]


def _goes_with(later: Undoable, gone: Undoable) -> bool:
    """Whether the undo of one change leaves a later one's state of its root for good."""
    if not later.moved_rows:
        return False
    if gone.moved_rows:
        return later.root == gone.root
    # After a replacement was undone, the root that was main is a branch: only writes to it can be undone.
    return gone.is_replacement and not later.is_write


def _still_open(known: Sequence[Undoable], entry: Undoable) -> list[Undoable]:
    """The list without the changes whose state the root has left: it never returns to that very commit."""
    left = list(known)
    if not entry.moved_rows:
        return left
    for each in reversed(known):
        if each.is_replacement or each.leads_to(entry.before, entry.root):
            break
        is_of_main = not (each.is_write or entry.is_write)
        if each.moved_rows and (is_of_main or each.root == entry.root):
            left.remove(each)
    return left

"""The log of operations: append to it, and find the operations that can be undone or redone.

The log only grows. Replaying it yields the operations that can be undone: an undo removes the operation that
it undid from the top, a redo adds it again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from paimark.core.actions.change.journal import COMMITTED, Hold, JournaledChange
from paimark.core.actions.context import Context
from paimark.core.storage.files import Files, written_at
from paimark.core.table.layout import TablePath
from paimark.core.table.operations import Operation, append, read_operations
from paimark.core.table.records import Point

__all__ = ["Operation", "Stacks", "append", "stacks", "stacks_of", "undoable"]
# The action of a redo that brings rows again, and does not repeat the action.
_REDO = "redo"
# A commit of a root; id 0 for no rows.
_Rows = tuple[str | None, int, str]


class Stacks(msgspec.Struct, frozen=True):
    """Operations that can be undone, and that can be redone, each with the newest last.

    An undo by a commit leaves a root at a new one, with the rows of an earlier one: `now` of each edit of
    rows is the newest commit from which it can be undone, or redone.

    `groups` maps the tokens of parts to the ids of their changes of many. `in_effect` are the operations of
    the log that no undo has taken back, `undos` those that took back another.
    """

    undo: tuple[Operation, ...]
    redo: tuple[Operation, ...]
    groups: dict[str, str]
    in_effect: tuple[Operation, ...] = ()
    undos: tuple[Operation, ...] = ()

    def together(self, token: str) -> set[str]:
        """The tokens of all parts of the change of many with this part; else this token alone."""
        group = self.groups.get(token)
        return {token} if group is None else {each for each, of in self.groups.items() if of == group}


def undoable(context: Context, table: TablePath) -> list[Operation]:
    """Operations that can be undone, the newest last. Raises `Corrupt`."""
    return list(stacks(context, table).undo)


def stacks(context: Context, table: TablePath) -> Stacks:
    """Replay the log. Raises `Corrupt`."""
    return stacks_of(context.files, table)


def stacks_of(files: Files, table: TablePath) -> Stacks:
    """As `stacks`, for a reader, who changes nothing."""
    return replayed(read_operations(files, table))


def replayed(log: Sequence[Operation]) -> Stacks:
    """Replay the operations of a log, or its newest: with each undo also what it took back."""
    known = _as_committed(_as_asked(log))
    by_token = {each.token: each for each in known}
    undo: list[Operation] = []
    redo: list[Operation] = []
    gone: set[str] = set()
    for operation in known:
        if operation.undoes is not None:
            before, undo = undo, _without(undo, operation.undoes)
            gone |= {each.token for each in before} - {each.token for each in undo}
            if (undone := by_token.get(operation.undoes)) is not None:
                redo.append(undone)
            continue
        if operation.redoes is not None:
            redo = [each for each in redo if each.token != operation.redoes]
        elif operation.is_undoable:
            redo = []
        if operation.is_undoable:
            undo.append(operation)
    history = _History(known)
    groups = {each.token: each.group.id for each in known if each.group is not None}
    undos = tuple(each for each in known if each.undoes is not None)
    gone -= {each.undoes for each in undos if each.undoes and _went_on(by_token.get(each.undoes), each)}
    return Stacks(
        tuple(history.open(undo)),
        tuple(map(history.to_be_redone, redo)),
        groups,
        tuple(each for each in known if each.token not in gone and each.undoes is None),
        undos,
    )


class _History:
    """Where the log leaves main and each root, and which commits have the same rows."""

    def __init__(self, known: Sequence[Operation]) -> None:
        self._main: str | None = None
        self._heads: dict[str | None, Point | None] = {}
        self._same: dict[_Rows, _Rows] = {}
        self._newest: dict[_Rows, Point] = {}
        by_token = {each.token: each for each in known}
        for operation in known:
            edits, head = operation.turned, operation.turned.head
            if edits.main is not None:
                self._main = edits.main.after
            if head is None:
                continue
            if _moves_main(operation):
                self._main = head.root
            same_as = None if edits.rows is None else edits.rows.same_as
            redone = by_token.get(operation.redoes or "")
            if same_as is None and redone is not None and redone.turned.rows is not None:
                # What was undone before it is done again on top of it.
                same_as = redone.turned.rows.after
            if same_as is not None:
                self._same[head.root, head.after.id, head.after.delta_manifest_list] = self._rows(
                    head.root, same_as
                )
            self._heads[head.root] = head.after
            self._newest[self._rows(head.root, head.after)] = head.after

    def open(self, undo: Sequence[Operation]) -> list[Operation]:
        """Those whose state main or their root has, or will have once the later ones are taken back.

        A root never returns to a state that others have left.
        """
        found, main, heads = [], self._main, dict(self._heads)
        for operation in reversed(undo):
            edits, head = operation.turned, operation.turned.head
            if edits.main is not None:
                main = edits.main.before
            if head is not None:
                if _moves_main(operation) and head.root != main:
                    continue
                if self._rows(head.root, head.after) != self._rows(head.root, heads[head.root]):
                    continue
                heads[head.root] = head.before
            found.append(self._with_now(operation, None if edits.rows is None else edits.rows.after))
        return found[::-1]

    def to_be_redone(self, operation: Operation) -> Operation:
        rows = operation.turned.rows
        return self._with_now(operation, None if rows is None else rows.before)

    def _with_now(self, operation: Operation, point: Point | None) -> Operation:
        """The operation with the newest commit that has the rows of this one."""
        if (rows := operation.turned.rows) is None:
            return operation
        now = self._newest.get(self._rows(rows.root, point), point)
        edits = msgspec.structs.replace(operation.turned, rows=msgspec.structs.replace(rows, now=now))
        return msgspec.structs.replace(operation, edits=edits)

    def _rows(self, root: str | None, point: Point | None) -> _Rows:
        """The first commit of the root with these rows."""
        key = (root, 0, "") if point is None else (root, point.id, point.delta_manifest_list)
        return self._same.get(key, key)


def _moves_main(operation: Operation) -> bool:
    """Whether it gave main other rows; a write may be to any branch."""
    edits = operation.turned
    return edits.history is not None or (edits.rows is not None and not edits.rows.is_write)


def _as_asked(known: Sequence[Operation]) -> list[Operation]:
    """The operations; one whose rows were brought again has the name of the first one."""
    actions: dict[str, str] = {}
    for each in known:
        is_rows = each.action == _REDO and each.redoes in actions
        actions[each.token] = actions[each.redoes or ""] if is_rows else each.action
    return [msgspec.structs.replace(each, action=actions[each.token]) for each in known]


def _went_on(undone: Operation | None, undo: Operation) -> bool:
    """Whether a stream committed on after its batches were taken back: its later ones stay."""
    if undone is None or undone.stream is None or undo.turned.rows is None:
        return False
    return _head(undone) > _head(undo)


def _as_committed(known: Sequence[Operation]) -> list[Operation]:
    """The operations, with writes to one root in the order of their commits.

    Writers that ran at once may have logged them in another order.
    """
    placed: list[Operation] = []
    for operation in known:
        rows, place = operation.turned.rows, len(placed)
        if rows is not None and rows.is_write and operation.undoes is None:
            for index in reversed(range(len(placed))):
                other = placed[index].turned
                if other.head is None or other.head.root != rows.root or placed[index].undoes is not None:
                    continue
                if other.rows is None or not other.rows.is_write or _head(placed[index]) < rows.after.id:
                    break
                place = index
        placed.insert(place, operation)
    return placed


def _head(operation: Operation) -> int:
    head = operation.turned.head
    return 0 if head is None else head.after.id


def _without(known: Sequence[Operation], token: str) -> list[Operation]:
    """The list without the change of this token, and without later ones that its undo leaves for good."""
    index = next((number for number, each in enumerate(known) if each.token == token), None)
    if index is None:
        return list(known)
    gone, left = known[index], list(known[:index])
    return [*left, *(each for each in known[index + 1 :] if not _goes_with(each, gone))]


def _goes_with(later: Operation, gone: Operation) -> bool:
    """Whether the undo of one change leaves a later one's state of its root for good."""
    head, left = later.turned.head, gone.turned.head
    if head is None:
        return False
    if left is not None:
        return head.root == left.root
    # After a replacement was undone, the root that was main is a branch: only writes to it can be undone.
    return gone.turned.main is not None and _moves_main(later)


def written_later(
    files: Files, table: TablePath, journaled: JournaledChange, paths: Collection[str]
) -> set[str]:
    """Those of the files that were written after the point of no return, by the store's clock."""
    number = 1 + [each.step for each in journaled.entries].index(COMMITTED)
    committed = table.journal_step(journaled.journal.token, number)
    written = written_at(files, [committed, *paths])
    since = written.pop(committed, 0)
    return {path for path, at in written.items() if at > since}


def written_by_others(hold: Hold, paths: Collection[str]) -> set[str]:
    """`written_later` in a recovery. Empty for the process that began the change, and has just looked."""
    if not hold.is_recovery:
        return set()
    return written_later(hold.context.files, hold.table, hold.journaled, paths)

"""`branch/operations/`: the operation log of a table, as files.

Each operation is a file of its own, `operation-<number>-<token>`, written once and never changed.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec

from paimark.core.errors import Corrupt
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import OPERATION_PREFIX, TablePath
from paimark.core.table.records import Point, Record

REPLACEMENT = "replace-main-branch"
RETIREMENT = "delete-branch"
# The arguments that an inverse action requires.
_NEEDED_BY = {
    "delete-branch": ("name",),
    "delete-tag": ("name",),
    "delete-savepoint": ("id",),
    "rename-tag": ("name", "to"),
}
_NAME = re.compile(rf"{re.escape(OPERATION_PREFIX)}(?P<number>[0-9]{{1,18}})-(?P<token>[0-9a-z]+)")


class Undoable(Record, frozen=True, kw_only=True):
    """An entry of the undo log. `time` is epoch milliseconds.

    A replacement made `branch` main; `previous` was main before (None: the table directory), and `kept_as`
    is the branch that keeps the table directory's main (None: nothing was moved, or it was dropped). A
    deletion with `--keep` has the name of the branch in `branch` and that of the retired branch in `kept_as`.
    `schema` is the newest schema of the moved root, before stock retention was switched off in it; `head` was
    the branch's newest snapshot then. The branch got copies of main's snapshots `first_copied` to
    `last_copied` and of its tags `copied_tags`.

    A merge, a replacement by overwrite or a rollback moved main's root `root` (None: the table directory)
    from `before` to `after`. `branch` is the source of the rows, `to` the version that a rollback restored.
    A rollback that truncated keeps the later commits in the branch `kept_as`.

    For any other action, `inverse` is the action that undoes it, with its arguments. `holds` is the state
    that the change left; the undo is refused if it differs now.
    """

    newest: ClassVar[int | None] = 1

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
    first_copied: int = 0
    last_copied: int = -1
    copied_tags: tuple[str, ...] = ()
    root: str | None = None
    before: Point | None = None
    after: Point | None = None
    to: str | None = None
    inverse: str | None = None
    arguments: dict[str, Any] | None = None
    holds: str | None = None

    def __post_init__(self) -> None:
        if self.after is not None and self.before is None:
            raise ValueError("it does not say where main was before")
        if self.is_replacement and not (self.was_dropped or self.kept_as or self.previous):
            raise ValueError("it does not say what was main before")
        if self.action == RETIREMENT and self.inverse is None and not self.kept_as:
            raise ValueError("it does not say what the branch is kept as")
        for needed in _NEEDED_BY.get(self.inverse or "", ()):
            if (self.arguments or {}).get(needed) is None:
                raise ValueError(f"it does not say the {needed} that {self.inverse} takes")

    @property
    def description(self) -> str:
        """`merge-branch of fix`, `rollback to v2`."""
        if self.to:
            return f"{self.action} to {self.to}"
        return f"{self.action} of {self.branch}" if self.branch else self.action

    @property
    def moved_main(self) -> bool:
        """Whether main stayed the same root, and got the rows of another state."""
        return self.after is not None

    @property
    def is_replacement(self) -> bool:
        """Whether another root became main."""
        return self.action == REPLACEMENT and not self.moved_main

    def leads_to(self, point: Point | None, root: str | None) -> bool:
        """Whether it moved main, in this root, to this commit."""
        return self.moved_main and (self.root, self.after) == (root, point)


class Group(msgspec.Struct, frozen=True):
    """The part that an operation has in a change of many: `number` from 1; `names` are those of all parts."""

    id: str
    number: int
    names: tuple[str, ...]


class Operation(Record, frozen=True, kw_only=True):
    """One finished change. `time` is epoch milliseconds; `request` holds the arguments of the action.

    `before` and `after` name the references that it moved. `undoes` and `redoes` are tokens of operations;
    `now` is the commit at which an undo left main. `group` is set for a part of a change of many.
    """

    newest: ClassVar[int | None] = 1

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
    group: Group | None = None


def operation_names(files: Files, table: TablePath) -> list[tuple[int, str, str]]:
    """Number, token and file name of each operation, oldest first."""
    matches = [_NAME.fullmatch(name) for name in files.names(table.operations)]
    return sorted((int(each["number"]), each["token"], each[0]) for each in matches if each)


def read_operations(files: Files, table: TablePath) -> list[Operation]:
    """All operations, oldest first. Raises `Corrupt`."""
    names = operation_names(files, table)
    paths = [f"{table.operations}/{name}" for _, _, name in names]
    contents = zip(names, paths, files.read_many(paths), strict=True)
    return [
        _operation(data, path, number, token)
        for (number, token, _), path, data in contents
        if data is not None
    ]


def _operation(data: bytes, path: str, number: int, token: str) -> Operation:
    operation = Operation.from_json(data, path)
    if (operation.number, operation.token) != (number, token):
        raise Corrupt(
            f"{path} holds the record of another: operation {operation.number} of {operation.token}"
        )
    return operation


def undoable_before_the_log(files: Files, table: TablePath) -> list[Undoable]:
    """Entries of the undo log of earlier versions of Paimark."""
    lines = (read_if_there(files, table.undo_log) or b"").splitlines()
    return [Undoable.from_json(line, table.undo_log) for line in lines if line.strip()]

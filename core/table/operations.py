"""`branch/operations/`: the log of what was done to a table, as it lies on disk.

Each operation is a file of its own, `operation-<number>-<token>`, written once and never changed.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec

from core.errors import Corrupt
from core.storage.files import Files, read_if_there
from core.table.layout import OPERATION_PREFIX, TablePath
from core.table.records import Point, Record

REPLACEMENT = "replace-main-branch"
RETIREMENT = "delete-branch"
# The arguments that an inverse action can't do without.
_NEEDED_BY = {
    "delete-branch": ("name",),
    "delete-tag": ("name",),
    "delete-savepoint": ("id",),
    "rename-tag": ("name", "to"),
}
_NAME = re.compile(rf"{re.escape(OPERATION_PREFIX)}(?P<number>[0-9]{{1,18}})-(?P<token>[0-9a-z]+)")


class Undoable(Record, frozen=True, kw_only=True):
    """An entry of the undo log. `time` is epoch milliseconds.

    Of a replacement, `branch` is the branch that became main, `previous` the one that was main before (None:
    the table directory), `kept_as` the branch that the table directory's main is kept as (None: nothing was
    moved, or it was dropped). Of a retired branch, `branch` is its name and `kept_as` what it is kept as.
    `schema` is the newest schema of what was moved, as it was before stock retention was switched off in it,
    `head` the newest snapshot of the branch then. Snapshots `first_copied` to `last_copied` and `copied_tags`
    are of main's past, and the branch got copies of them.

    Of a merge, a replacement by overwrite or a rollback, `root` is main's (None: the table directory), which
    it took from `before` to `after`. `branch` is the one whose rows came, `to` the version that a rollback
    went to. One that truncated left what came later in the branch `kept_as`.

    Of anything else, `inverse` is the action that undoes it with its arguments, and `holds` what must still
    be as the change left it.
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
        """Whether it left main's root at this commit."""
        return self.moved_main and (self.root, self.after) == (root, point)


class Group(msgspec.Struct, frozen=True):
    """Which part of a change of many it is: `number` from 1, of all parts by `names`."""

    id: str
    number: int
    names: tuple[str, ...]


class Operation(Record, frozen=True, kw_only=True):
    """One finished change. `time` is epoch milliseconds; `request` is what the action was asked for.

    `before` and `after` name the references that it moved. `undoes` and `redoes` are tokens of operations;
    `now` is where an undo by a commit left main. `group` is that of a change of many.
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
    """All of them, oldest first. Raises `Corrupt`."""
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

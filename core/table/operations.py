"""`branch/operations/`: the operation log of a table, as files.

Each operation is a file of its own, `operation-<number>-<token>`, written once and never changed. That of a
writer's commit is `write-<number>-<token>`. Right before the commit it is written as
`begun-<number>-<token>`, which goes when the commit has landed. If the writer dies in between, the snapshots
tell whether it landed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

import msgspec

from paimark.core.errors import Corrupt, PaimarkError
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import BEGUN_PREFIX, OPERATION_PREFIX, WRITE_PREFIX, TablePath
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
_PREFIXES = "|".join(map(re.escape, (OPERATION_PREFIX, WRITE_PREFIX, BEGUN_PREFIX)))
_NAME = re.compile(rf"(?:{_PREFIXES})(?P<number>[0-9]{{1,18}})-(?P<token>[0-9a-z]+)")
# How many writes that others left unsettled a writer looks at.
_MOST_SETTLED = 2
# A writer that has not committed for so long after it said that it would has died (milliseconds).
_GIVEN_UP_AFTER = 3600 * 1000


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

    With `is_write` a writer committed to `root`, which may be any branch; `before` is None if that had no
    snapshot.

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
    is_write: bool = False

    def __post_init__(self) -> None:
        if self.after is not None and self.before is None and not self.is_write:
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
        """`merge-branch of fix`, `rollback to v2`, `insert-into (snapshot 6)`."""
        if self.to:
            return f"{self.action} to {self.to}"
        if self.is_write and self.after is not None:
            return f"{self.action} (snapshot {self.after.id})"
        return f"{self.action} of {self.branch}" if self.branch else self.action

    @property
    def moved_rows(self) -> bool:
        """Whether a root, for all but writes that of main, stayed the same and got other rows."""
        return self.after is not None

    @property
    def is_replacement(self) -> bool:
        """Whether another root became main."""
        return self.action == REPLACEMENT and not self.moved_rows

    def leads_to(self, point: Point | None, root: str | None) -> bool:
        """Whether it moved this root to this commit."""
        return self.moved_rows and (self.root, self.after) == (root, point)


class Group(msgspec.Struct, frozen=True):
    """The part that an operation has in a change of many: `number` from 1; `names` are those of all parts."""

    id: str
    number: int
    names: tuple[str, ...]


class Operation(Record, frozen=True, kw_only=True):
    """One finished change. `time` is epoch milliseconds; `request` holds the arguments of the action.

    `before` and `after` name the references that it moved. `no_way_back` says why an undo does not take it
    back, or what does instead. `undoes` and `redoes` are tokens of operations;
    `now` is the commit at which an undo left main. `group` is set for a part of a change of many.

    A writer's commit has counts of records, and `landed`: False from before the commit until it is known that
    it landed. None for every other change, which is logged when it is done.
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
    no_way_back: str | None = None
    undoes: str | None = None
    redoes: str | None = None
    now: Point | None = None
    group: Group | None = None
    landed: bool | None = None
    records_added: int | None = None
    records_removed: int | None = None


def operation_names(files: Files, table: TablePath) -> list[tuple[int, str, str]]:
    """Number, token and file name of each operation, oldest first."""
    matches = [_NAME.fullmatch(name) for name in files.names(table.operations)]
    names = sorted((int(each["number"]), each["token"], each[0]) for each in matches if each)
    landed = {token for _, token, name in names if not name.startswith(BEGUN_PREFIX)}
    return [each for each in names if each[1] not in landed or not each[2].startswith(BEGUN_PREFIX)]


def read_operations(files: Files, table: TablePath) -> list[Operation]:
    """All operations, oldest first, without writes that did not land. Raises `Corrupt`."""
    return operations_named(files, table, operation_names(files, table))


def operations_named(
    files: Files, table: TablePath, names: Sequence[tuple[int, str, str]]
) -> list[Operation]:
    """As `read_operations`, of these files."""
    paths = [f"{table.operations}/{name}" for _, _, name in names]
    contents = zip(names, paths, files.read_many(paths), strict=True)
    read = [
        _operation(data, path, number, token)
        for (number, token, _), path, data in contents
        if data is not None
    ]
    settled = (_settled(files, table, each) for each in read)
    return [each for each in settled if each is not None]


def append(files: Files, table: TablePath, operation: Operation) -> None:
    """Add an operation with the next number. Idempotent."""
    names = operation_names(files, table)
    if any(token == operation.token for _, token, _ in names):
        return
    number = next_number(names)
    numbered = msgspec.structs.replace(operation, number=number)
    files.create(table.operation(number, operation.token), numbered.to_json())
    settle(files, table, names, operation.time)


def confirm(files: Files, table: TablePath, operation: Operation) -> None:
    """Record that a write has landed. Idempotent."""
    landed = msgspec.structs.replace(operation, landed=True)
    files.create(table.write_operation(operation.number, operation.token), landed.to_json())
    files.delete(table.begun_write(operation.number, operation.token))


def settle(files: Files, table: TablePath, names: Sequence[tuple[int, str, str]], now: int) -> None:
    """Record the fate of writes whose writers died, while the snapshots tell it. `now` is epoch ms.

    A living one may be among them: its entry stays for an hour. What fails stays as it is.
    """
    begun = [name for _, _, name in names if name.startswith(BEGUN_PREFIX)][:_MOST_SETTLED]
    for path in (f"{table.operations}/{name}" for name in begun):
        with suppress(PaimarkError):
            data = read_if_there(files, path)
            operation = None if data is None else Operation.from_json(data, path)
            settled = None if operation is None else _settled(files, table, operation)
            if operation is not None and settled is None and now - operation.time > _GIVEN_UP_AFTER:
                files.delete(path)
            elif settled is not None and settled.landed:
                confirm(files, table, settled)


def next_number(names: Sequence[tuple[int, str, str]]) -> int:
    return max((number for number, _, _ in names), default=0) + 1


def _settled(files: Files, table: TablePath, operation: Operation) -> Operation | None:
    """The operation; None for a write that did not land. `landed` stays False if nothing tells any more."""
    entry = operation.way_back
    if operation.landed is not False or entry is None or entry.after is None:
        return operation
    # Only here, because it is heavy and rarely needed.
    from paimark.core.table.landed import Landed, fate_of

    fate = fate_of(files, table.root(entry.root), entry.after)
    if fate is Landed.NO:
        return None
    return msgspec.structs.replace(operation, landed=True) if fate is Landed.YES else operation


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

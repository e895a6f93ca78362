"""`branch/UNDO`: the changes of a table that can be taken back, a JSON line each, the newest last."""

from __future__ import annotations

import msgspec

from core.actions.context import Context
from core.actions.temporaries import delete_temporaries
from core.errors import FileMissing
from core.table.layout import TablePath
from core.table.records import Record


class Undoable(Record, frozen=True, kw_only=True):
    """A change, and what it takes to take it back. `time` is epoch milliseconds.

    Of a replacement, `branch` is the branch that became main, `previous` the one that was main before (None:
    the table directory), `kept_as` the branch that the table directory's main is kept as (None: nothing was
    moved, or it was dropped). Of a retired branch, `branch` is its name and `kept_as` what it is kept as.
    `schema` is the newest schema of what was moved, as it was before stock retention was switched off in it,
    `head` the newest snapshot of the branch then.
    """

    version: int = 1
    token: str
    action: str
    user: str
    time: int
    branch: str
    previous: str | None = None
    kept_as: str | None = None
    schema_id: int | None = None
    schema: str | None = None
    head: int | None = None
    was_dropped: bool = False


def entries(context: Context, table: TablePath) -> list[Undoable]:
    """What can be taken back, the newest last. Raises `Corrupt`."""
    try:
        data = context.files.read(table.undo_log)
    except FileMissing:
        return []
    return [Undoable.from_json(line, table.undo_log) for line in data.splitlines() if line.strip()]


def append(context: Context, table: TablePath, entry: Undoable) -> None:
    """Add a change, once."""
    known = entries(context, table)
    if all(each.token != entry.token for each in known):
        _write(context, table, [*known, entry])


def remove(context: Context, table: TablePath, token: str) -> None:
    """Take out the change with this token, if it is there."""
    known = entries(context, table)
    left = [each for each in known if each.token != token]
    if len(left) < len(known):
        _write(context, table, left)


def clean(context: Context, table: TablePath) -> None:
    """Remove what a killed writer left half-written of the log and of the main-branch file."""
    names = {path.rpartition("/")[2] for path in (table.undo_log, table.main_branch_file)}
    delete_temporaries(context.files, table.branches, names)


def _write(context: Context, table: TablePath, found: list[Undoable]) -> None:
    if found:
        lines = (msgspec.json.encode(each.as_written()) + b"\n" for each in found)
        context.files.replace(table.undo_log, b"".join(lines))
    else:
        context.files.delete(table.undo_log)

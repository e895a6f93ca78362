"""`branch/UNDO`: the changes of a table that can be taken back, a JSON line each, the newest last."""

from __future__ import annotations

import msgspec

from core.actions.context import Context
from core.actions.journal import Hold
from core.actions.merge_base import Point, point_of
from core.actions.temporaries import delete_temporaries
from core.errors import FileMissing
from core.table.layout import Root, TablePath
from core.table.records import Record, Snapshot

REPLACEMENT = "replace-main-branch"


class Undoable(Record, frozen=True, kw_only=True):
    """A change, and what it takes to take it back. `time` is epoch milliseconds.

    Of a replacement, `branch` is the branch that became main, `previous` the one that was main before (None:
    the table directory), `kept_as` the branch that the table directory's main is kept as (None: nothing was
    moved, or it was dropped). Of a retired branch, `branch` is its name and `kept_as` what it is kept as.
    `schema` is the newest schema of what was moved, as it was before stock retention was switched off in it,
    `head` the newest snapshot of the branch then.

    Of a merge, a replacement by overwrite or a rollback, `root` is main's (None: the table directory), which
    it took from `before` to `after`. `branch` is the one whose rows came, `to` the version that a rollback
    went to. One that truncated left what came later in the branch `kept_as`.
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

    @property
    def said(self) -> str:
        """`merge-branch of fix`, `rollback to v2`."""
        return f"{self.action} to {self.to}" if self.to else f"{self.action} of {self.branch}"

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
    hold: Hold, root: Root, before: Snapshot, after: Snapshot, *, branch: str = "", to: str | None = None
) -> Undoable:
    """What a change that took main from one snapshot to another leaves in the log."""
    begun = hold.journal
    return Undoable(
        token=begun.token,
        action=begun.action,
        user=begun.owner.user,
        time=begun.owner.since,
        branch=branch,
        root=root.branch,
        before=point_of(before),
        after=point_of(after),
        to=to,
    )


def entries(context: Context, table: TablePath) -> list[Undoable]:
    """What can be taken back, the newest last. Raises `Corrupt`."""
    try:
        data = context.files.read(table.undo_log)
    except FileMissing:
        return []
    return [Undoable.from_json(line, table.undo_log) for line in data.splitlines() if line.strip()]


def append(context: Context, table: TablePath, entry: Undoable) -> None:
    """Add a change, once. What main has moved on from since it was done can't be taken back, and leaves."""
    known = entries(context, table)
    if all(each.token != entry.token for each in known):
        _write(context, table, [*_still_open(known, entry), entry])


def remove(context: Context, table: TablePath, token: str, now: Point | None = None) -> None:
    """Take out the change with this token, if it is there, and what moved main after it.

    When main went back by a commit, `now` is that one: the change before it can be taken back from there.
    """
    known = entries(context, table)
    place = next((number for number, each in enumerate(known) if each.token == token), None)
    if place is None:
        return
    gone, left = known[place], known[:place]
    if now is not None:
        left = [
            msgspec.structs.replace(each, after=now)
            # A cut is taken back by ids, and those are given again.
            if each.leads_to(gone.before, gone.root) and each.kept_as is None
            else each
            for each in left
        ]
    _write(context, table, [*left, *(each for each in known[place + 1 :] if not each.moved_main)])


def _still_open(known: list[Undoable], entry: Undoable) -> list[Undoable]:
    """Without those whose state main has left: it never comes back to that very commit."""
    if not entry.moved_main:
        return known
    left = list(known)
    for each in reversed(known):
        if each.is_replacement or each.leads_to(entry.before, entry.root):
            break
        if each.moved_main:
            left.remove(each)
    return left


def clean(context: Context, table: TablePath) -> None:
    """Remove what a killed writer left half-written of the files that tell the table's changes."""
    paths = (table.undo_log, table.main_branch_file, table.merges)
    names = {path.rpartition("/")[2] for path in paths}
    delete_temporaries(context.files, table.branches, names)


def _write(context: Context, table: TablePath, found: list[Undoable]) -> None:
    if found:
        lines = (msgspec.json.encode(each.as_written()) + b"\n" for each in found)
        context.files.replace(table.undo_log, b"".join(lines))
    else:
        context.files.delete(table.undo_log)

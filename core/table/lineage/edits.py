"""The edits of an operation: what it changed, before and after. An undo turns them round.

Nothing here grows with the number of snapshots or branches. What follows from an edit is none: guards, hints,
pins, marks, the savepoint that keeps main as it was.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from paimark.core.table.records import Point, Record

# In place of a commit that gave a root no rows.
NO_ROWS = Point(id=0, delta_manifest_list="")


class MainEdit(Record, frozen=True, kw_only=True):
    """Another root became main: the branch `after` instead of `before` (None: the table directory).

    `head` was the newest snapshot of the new main then. It got copies of the snapshots `first_copied` to
    `last_copied` of the one before, and of its tags `copied_tags`. With `was_dropped` that one is gone.
    """

    before: str | None = None
    after: str | None = None
    head: int | None = None
    was_dropped: bool = False
    first_copied: int = 0
    last_copied: int = -1
    copied_tags: tuple[str, ...] = ()


class MovedRoot(Record, frozen=True, kw_only=True):
    """The root `before` (None: the table directory) is the branch `after` now.

    `schema` is its newest schema, before stock retention was switched off in it.
    """

    before: str | None = None
    after: str
    schema_id: int | None = None
    schema: str | None = None


class RowsEdit(Record, frozen=True, kw_only=True):
    """The root `root` got other rows by the commit `after`; `before` is None if it had no snapshot.

    `same_as` is the commit whose rows `after` has: of an undo, of a write that was redone, of a compaction.
    It is `NO_ROWS`, with id 0, if there are none. `branch` is the source of rows that were merged,
    `to` the version that a rollback restored. `schema_id` is the newest definition from before, if it may
    have lost columns. With `is_write` a writer committed, to any branch, or a branch was merged into another
    than main; all others move main. A run of a stream made several `commits`; it `is_mixed` if others
    committed between them.

    `now` is not in the log: for an undo, the newest commit with the rows of `after`; for a redo, of `before`.
    """

    root: str | None = None
    before: Point | None = None
    after: Point
    same_as: Point | None = msgspec.field(default=None, name="as")
    branch: str = ""
    to: str | None = None
    schema_id: int | None = None
    is_write: bool = False
    commits: int = 1
    is_mixed: bool = False
    now: Point | None = None

    def __post_init__(self) -> None:
        if self.before is None and not self.is_write:
            raise ValueError("it does not say where main was before")

    @property
    def is_plain_write(self) -> bool:
        """Whether a writer's own rows came, and no merge."""
        return self.is_write and not self.branch

    @property
    def snapshots(self) -> str:
        """Those of a write: `snapshot 6`, `snapshots 6 to 9`."""
        first = 1 if self.before is None else self.before.id + 1
        last = self.after.id if self.is_mixed else first + self.commits - 1
        return f"snapshot {last}" if first == last else f"snapshots {first} to {last}"


class HistoryEdit(Record, frozen=True, kw_only=True):
    """The root `root` ends at `after` instead of `before`: the branch `kept_as` has what came later.

    A person called the snapshot `to`.
    """

    root: str | None = None
    before: Point
    after: Point
    to: str
    kept_as: str


class MadeEdit(Record, frozen=True, kw_only=True):
    """A tag (of `branch` as a person gave it, None: main), a savepoint or a branch was made.

    A tag that was renamed `was` called otherwise. `state` is the fingerprint of the thing: an undo deletes
    nothing that was changed since.
    """

    what: Literal["tag", "savepoint", "branch"]
    name: str
    branch: str | None = None
    was: str | None = None
    state: str


class SchemaEdit(Record, frozen=True, kw_only=True):
    """The definition of `branch` (None: main) was altered. `back` are the changes that take it back.

    `state` is the fingerprint of the definition.
    """

    branch: str | None = None
    back: dict[str, Any]
    state: str


class Edits(Record, frozen=True, kw_only=True):
    """What an operation changed, by kind: an undo turns it round."""

    main: MainEdit | None = None
    moved: MovedRoot | None = None
    rows: RowsEdit | None = None
    history: HistoryEdit | None = None
    made: MadeEdit | None = None
    schema: SchemaEdit | None = None

    def __post_init__(self) -> None:
        if self.main and not (self.main.was_dropped or self.main.before or self.moved):
            raise ValueError("it does not say what was main before")

    @property
    def head(self) -> RowsEdit | HistoryEdit | None:
        """The edit by which a root, for all but writes that of main, stayed the same and got other rows."""
        return self.rows or self.history

    @property
    def needs(self) -> set[str]:
        """The branches without which it can't be turned round."""
        kept = (self.moved and self.moved.after, self.history and self.history.kept_as)
        return {each for each in (self.main and self.main.before, *kept) if each}

    @property
    def is_lasting(self) -> bool:
        """Whether only this entry knows what its undo needs: what was moved, and how it was."""
        return bool(self.main or self.moved or self.history)

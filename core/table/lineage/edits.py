"""The edits of an operation: what it changed, before and after. An undo turns them round.

Nothing here grows with the number of snapshots or branches. What follows from an edit is not one itself:
guards, hints, pins, marks, the savepoint that keeps main as it was.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from paimark.core.table.records import Point, Record

# In place of a commit that gave a root no rows.
NO_ROWS = Point(id=0, delta_manifest_list="")


class MainEdit(Record, frozen=True, kw_only=True):
    """Another root became main."""

    before: str | None = None  # the branch that was main; null: the table directory
    after: str | None = None  # the branch that became main
    head: int | None = None  # its newest snapshot then
    was_dropped: bool = False  # the main before was dropped
    first_copied: int = 0  # it has copies of the snapshots of the main before, from here
    last_copied: int = -1  # to here
    copied_tags: tuple[str, ...] = ()  # and of these tags


class MovedRoot(Record, frozen=True, kw_only=True):
    """A root has another name now."""

    before: str | None = None  # the old name of the branch; null: the table directory
    after: str  # the new name
    schema_id: int | None = None  # its newest schema
    schema: str | None = None  # the text of that, before retention was switched off


class RowsEdit(Record, frozen=True, kw_only=True):
    """A root got other rows by a commit.

    `now` is not in the log: for an undo, the newest commit with the rows of `after`; for a redo, of `before`.
    """

    root: str | None = None  # the root; null: the table directory
    before: Point | None = None  # its newest snapshot before. Null, which only a write may have: it had none
    after: Point  # the commit
    # the commit whose rows that has: of an undo, of a write that was done again, of a compaction. With
    # the id 0: no rows
    same_as: Point | None = msgspec.field(default=None, name="as")
    branch: str = ""  # the branch that was merged
    to: str | None = None  # the version that a rollback went to
    schema_id: int | None = None  # of a merge or an overwrite: the newest definition before
    # a writer committed to `root`, which need not be main; or `branch` was merged into `root`, which was not
    # main
    is_write: bool = False
    commits: int = 1  # how many commits a run of a stream made there
    is_mixed: bool = False  # others committed between them
    # only in the `state` of a change: the newest commit from which this can be undone, or redone
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
    """A root ends earlier than before: a branch has what came later."""

    root: str | None = None  # the root; null: the table directory
    before: Point  # its newest snapshot before
    after: Point  # the one with which it ends
    to: str  # what a person called that
    kept_as: str  # the branch that has what came later


class MadeEdit(Record, frozen=True, kw_only=True):
    """A tag, a savepoint or a branch was made. An undo deletes nothing that was changed since."""

    what: Literal["tag", "savepoint", "branch"]  # `tag`, `savepoint` or `branch`
    name: str  # its name; of a savepoint its id
    branch: str | None = None  # where a tag is; null: main
    was: str | None = None  # the name of a tag before it was renamed
    state: str  # fingerprint of what was made


class SchemaEdit(Record, frozen=True, kw_only=True):
    """The definition of a branch was altered."""

    branch: str | None = None  # whose definition; null: main
    back: dict[str, Any]  # the changes that take it back, by their kind
    state: str  # fingerprint of the definition


class Edits(Record, frozen=True, kw_only=True):
    """What an operation changed, by kind: an undo turns it round."""

    main: MainEdit | None = None  # another root became main
    moved: MovedRoot | None = None  # a root got another name
    rows: RowsEdit | None = None  # a root got other rows by a commit
    history: HistoryEdit | None = None  # a root ends at an earlier snapshot
    made: MadeEdit | None = None  # a tag, a savepoint or a branch was made, or a tag renamed
    schema: SchemaEdit | None = None  # a definition was altered

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

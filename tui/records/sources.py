"""The data of a grid: columns, and rows of values that become text only when they are painted.

A key identifies the record of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar

import msgspec

from paimark.core.table.layout import Root
from paimark.core.table.records import Snapshot
from paimark.core.table.rows import SnapshotRow
from paimark.core.text import Fitted
from paimark.tui.formats import CellKind, short_user

T = TypeVar("T")


class GridColumn(msgspec.Struct, frozen=True):
    """A column of a grid. `style` is a component style of the grid; `most` is its greatest width in cells;
    `nothing` is the text of a missing value; with `middle` long values are cut in the middle, like names.
    `of` makes the column's value from a record: see `values_by`."""

    title: str
    kind: CellKind = "text"
    style: str = ""
    most: int = 40
    nothing: str = ""
    middle: bool = False
    of: Callable[[Any], object] | None = None

    @property
    def right(self) -> bool:
        return self.kind in ("number", "id", "bytes")


def values_by(columns: Sequence[GridColumn]) -> Callable[[Any], Sequence[object]]:
    """What makes the row of a record from the columns, each of which has its `of`."""
    makers = [each.of for each in columns if each.of is not None]
    return lambda record: [make(record) for make in makers]


class ShortText(msgspec.Struct, frozen=True):
    """A text of a cell, and the names behind it: a filter searches both."""

    text: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


def user_cell(commit_user: str) -> str | ShortText:
    """The cell of a commit user: without the end of its UUID, which a filter finds all the same."""
    short = short_user(commit_user)
    return commit_user if short == commit_user else ShortText(short, (commit_user,))


class InkText(Fitted):
    """The text of a cell in an ink of its own."""

    ink: str

    def __new__(cls, text: str, ink: str) -> InkText:
        made = super().__new__(cls, text)
        made.ink = ink
        return made


class RowSource(Protocol):
    """Rows of raw values, in the order of the columns. `row` and `key` must be cheap."""

    def __len__(self) -> int: ...

    def row(self, index: int) -> Sequence[object]: ...

    def key(self, index: int) -> Hashable:
        """The identity of the row's record; a later source with that record has the same key."""

    def find(self, key: Hashable) -> int | None:
        """The index of the record with this key; None if there is none."""


class Records(Generic[T]):
    """Rows made from records on demand. Without `key`, the first value identifies a record."""

    def __init__(
        self,
        records: Sequence[T],
        values: Callable[[T], Sequence[object]],
        key: Callable[[T], Hashable] | None = None,
    ) -> None:
        self.records = records
        self._values = values
        self._key = key or (lambda record: str(values(record)[0]))

    def __len__(self) -> int:
        return len(self.records)

    def row(self, index: int) -> Sequence[object]:
        return self._values(self.records[index])

    def key(self, index: int) -> Hashable:
        return self._key(self.records[index])

    def find(self, key: Hashable) -> int | None:
        here = next((index for index in range(len(self)) if self.key(index) == key), None)
        if here is not None:
            return here
        return next((index for index in range(len(self)) if has_moved(key, self.key(index))), None)


def tuples(rows: Sequence[Sequence[object]]) -> Records[tuple[int, Sequence[object]]]:
    """Rows of given values; the index of a row is its key."""
    return Records(list(enumerate(rows)), lambda numbered: numbered[1], lambda numbered: numbered[0])


RecordKind = Literal[
    "snapshot", "savepoint", "branch", "tag", "column", "option", "run", "space", "operation"
]


class RecordKey(msgspec.Struct, frozen=True):
    """The identity of a record of a root (a table and a branch).

    Ids and names are used again after a truncation or a deletion: then `made` differs.
    """

    root: Root
    kind: RecordKind
    name: str
    made: Hashable = None


def has_moved(key: Hashable, to: Hashable) -> bool:
    """Whether two keys are of one record, which is of another root since main was replaced."""
    if not isinstance(key, RecordKey) or not isinstance(to, RecordKey) or key.root.table != to.root.table:
        return False
    # Options are known by their names alone; of other records another may have the same name.
    is_known = key.made is not None or key.kind == "option"
    return is_known and (key.kind, key.name, key.made) == (to.kind, to.name, to.made)


class CommitKey(msgspec.Struct, frozen=True):
    """Distinguishes two commits with the same id. `time_ms` is epoch milliseconds."""

    id: int
    time_ms: int
    user: str
    identifier: int


def commit_of(snapshot: Snapshot) -> CommitKey:
    return CommitKey(snapshot.id, snapshot.time_millis, snapshot.commit_user, snapshot.commit_identifier)


def commit_of_row(row: SnapshotRow) -> CommitKey:
    return CommitKey(row.snapshot_id, row.commit_time, row.commit_user, row.commit_identifier)


def snapshot_key(root: Root, commit: CommitKey) -> RecordKey:
    return RecordKey(root, "snapshot", f"snapshot.{commit.id}", commit)

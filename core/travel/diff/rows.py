"""Parse the results of a difference's statements: totals, and rows with their keys and changed columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from paimark.core.arrow_values import cell_value
from paimark.core.travel.diff.columns import Sides

Change = Literal["added", "removed", "changed"]
CHANGES: tuple[Change, ...] = ("added", "removed", "changed")
# The columns of totals and of pages: kind of change, number of rows, number of different rows.
CHANGE, TIMES, LINES = "change", "times", "lines"


@dataclass(frozen=True, slots=True)
class Page:
    """`only` is a kind of change, or the index of a column: only rows in which that column changed.

    Rows are in the order of the keys; with `by_most` those that changed most come first. `limit` None: all.
    """

    only: Change | int | None = None
    by_most: bool = False
    offset: int = 0
    limit: int | None = None

    @property
    def end(self) -> str:
        """The clauses after ORDER BY."""
        limit = f"\nLIMIT {self.limit}" if self.limit is not None else ""
        return limit + (f"\nOFFSET {self.offset}" if self.offset else "")


Values = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Totals:
    """`changes` counts rows by kind of change; `columns` counts, by column index, the rows that changed it.

    `lines` counts the rows of the pages: without keys, equal rows are one line.
    """

    changes: Mapping[Change, int] = field(default_factory=dict)
    lines: Mapping[Change, int] = field(default_factory=dict)
    columns: Mapping[int, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(self.changes.values())


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A row that differs. `old` and `new` are its columns without the key; None if a version lacks the row.

    `changed` names the columns that differ, if both versions have the row. Without keys, `key` is empty and
    `times` is how many more or fewer of the row the new version has.
    """

    change: Change
    key: Values
    old: Values | None
    new: Values | None
    changed: Sequence[str] = ()
    times: int = 1


def read_totals(sides: Sides, rows: Iterable[Sequence[Any]]) -> Totals:
    """Parse the rows of `totals_sql`."""
    changes: dict[Change, int] = {}
    lines: dict[Change, int] = {}
    columns: dict[int, int] = {}
    for change, times, count, *counts in rows:
        changes[change], lines[change] = int(times), int(count)
        for place, changed in zip(sides.compared if sides.keys else (), counts, strict=True):
            if changed:
                columns[place] = columns.get(place, 0) + int(changed)
    return Totals(changes, lines, columns)


def page_rows(sides: Sides, batch: Any) -> Iterator[DiffRow]:
    """Yield the rows of a batch (a pyarrow RecordBatch) of `page_sql`."""
    for index in range(batch.num_rows):
        values = [cell_value(column[index]) for column in batch.columns]
        yield _keyed(sides, values) if sides.keys else _counted(sides, values)


def _keyed(sides: Sides, values: list[Any]) -> DiffRow:
    change, *rest = values
    count = len(sides.keys)
    key = dict(zip((pair.name for pair in sides.keys), rest[:count], strict=True))
    which, cells = rest[count], iter(rest[count + 1 :])
    old: dict[str, object] = {}
    new: dict[str, object] = {}
    for place in sides.others:
        pair = sides.pairs[place]
        if pair.old is not None:
            old[pair.name] = next(cells)
        if pair.new is not None:
            new[pair.name] = next(cells)
    changed = tuple(sides.pairs[place].name for place in which or ())
    return DiffRow(
        change, key, None if change == "added" else old, None if change == "removed" else new, changed
    )


def _counted(sides: Sides, values: list[Any]) -> DiffRow:
    change, times, *cells = values
    row = dict(zip((sides.pairs[place].name for place in sides.compared), cells, strict=True))
    is_added = change == "added"
    return DiffRow(change, {}, None if is_added else row, row if is_added else None, (), int(times))

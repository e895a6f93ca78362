"""The rows of a grid, filtered and sorted; of many rows without state, so that it can run in a thread."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from paimark.core.figures import counted
from paimark.tui.records.sources import GridColumn, RowSource

if TYPE_CHECKING:
    from paimark.tui.widgets.grid.filters import RowFilter

IsWanted = Callable[[], bool]
# The number of rows between two checks whether the result is still wanted.
_BREATH = 4096


class View(msgspec.Struct, frozen=True):
    """`chosen` are indexes into the source; None for all rows in its order. A place counts the shown rows."""

    source: RowSource
    chosen: array[int] | None = None

    def __len__(self) -> int:
        return len(self.source) if self.chosen is None else len(self.chosen)

    def index(self, place: int) -> int:
        """The source's index of the row at a place."""
        return place if self.chosen is None else self.chosen[place]

    def row(self, place: int) -> Sequence[object]:
        return self.source.row(self.index(place))

    def key(self, place: int) -> Hashable:
        return self.source.key(self.index(place))

    def position(self, place: int | None, order: SortOrder, *, is_cut: bool = False) -> str:
        """`3 of 13` for a place, with the filter and the total number of rows; `–` for no record.

        `is_cut` says that there are more rows than were read.
        """
        total, count = len(self.source), len(self)
        number = "–" if place is None and count else f"{0 if place is None else place + 1:,}"
        among = f"of the first {total:,}" if is_cut else f"{total:,} in all"
        if order.filters:
            return f"/{order.text}  {number} of {count:,} ({among})"
        if is_cut and order.column is not None:
            return f"{number} of {total:,} (only these are sorted: there are more)"
        return f"{number} of {total:,}" if total else ""

    def why_none(self, order: SortOrder, *, is_cut: bool) -> str:
        """The reason why no row is shown though the source has some; else empty."""
        if len(self) or not len(self.source):
            return ""
        if is_cut:
            read = counted(len(self.source), "row")
            return f"None of the first {read} matches /{order.text}: there are more"
        return f"No row matches /{order.text}"

    def place(self, key: Hashable) -> int | None:
        """The place of the record with this key; None if it is not shown."""
        index = self.source.find(key)
        if index is None or self.chosen is None:
            return index
        try:
            return self.chosen.index(index)
        except ValueError:
            return None


class SortOrder(msgspec.Struct, frozen=True):
    """The text of a filter, and a column to sort by."""

    text: str = ""
    column: int | None = None
    descending: bool = False

    @property
    def filters(self) -> bool:
        return bool(self.text.removeprefix("!").strip())

    @property
    def done(self) -> str:
        """In words, what it does to rows: filtered, sorted, or both; empty for neither."""
        done = ("filtered" * self.filters, "sorted" * (self.column is not None))
        return " and ".join(filter(None, done))

    @property
    def natural(self) -> bool:
        """Whether it neither filters nor sorts: every row in the source's order."""
        return not self.filters and self.column is None


def arrange(
    source: RowSource,
    columns: Sequence[GridColumn],
    rows: RowFilter,
    order: SortOrder,
    now_ms: int,
    wanted: IsWanted = lambda: True,
) -> array[int] | None:
    """The source's indexes of the rows that match, sorted; None for every row in the source's order.

    Missing values sort last. Returns early, unsorted or with an empty array, if `wanted` returns false.
    """
    if rows.lets_all_through and order.column is None:
        return None
    chosen = _matching(source, columns, rows, now_ms, wanted)
    if order.column is None or not wanted():
        return chosen
    return _sorted(source, chosen, order.column, order.descending)


def _matching(
    source: RowSource, columns: Sequence[GridColumn], rows: RowFilter, now_ms: int, wanted: IsWanted
) -> array[int]:
    if rows.lets_all_through:
        return array("l", range(len(source)))
    chosen = array("l")
    for index in range(len(source)):
        if index % _BREATH == 0 and not wanted():
            return array("l")
        if rows.matches(source.row(index), columns, now_ms):
            chosen.append(index)
    return chosen


def _sorted(source: RowSource, chosen: array[int], column: int, descending: bool) -> array[int]:
    keys: list[Any] = [source.row(index)[column] for index in chosen]
    # NaN sorts as the greatest value, as in Spark. `sort` could not order it: all its comparisons are false.
    odd = [place for place, key in enumerate(keys) if key != key]
    present = [place for place, key in enumerate(keys) if key is not None and key == key]
    try:
        present.sort(key=keys.__getitem__, reverse=descending)
    except TypeError:
        # Values that can't be compared with each other (maps, or mixed types) are sorted by their text.
        present.sort(key=lambda place: str(keys[place]), reverse=descending)
    present = [*odd, *present] if descending else [*present, *odd]
    missing = (place for place, key in enumerate(keys) if key is None)
    return array("l", [chosen[place] for place in (*present, *missing)])

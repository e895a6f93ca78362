"""Filter and sort the rows of a grid. Without state, so that it can run in a thread for many rows."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from paimark.tui.records.sources import GridColumn, RowSource

if TYPE_CHECKING:
    from paimark.tui.widgets.grid.filters import RowFilter

IsWanted = Callable[[], bool]
# The number of rows between two checks whether the result is still wanted.
_BREATH = 4096


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

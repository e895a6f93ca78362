"""Which rows a grid shows, and in what order. Pure, so that it can run in a thread for many rows."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from tui.records.sources import GridColumn, RowSource

if TYPE_CHECKING:
    from tui.widgets.grid.filters import RowFilter

IsWanted = Callable[[], bool]
# How many rows are looked at between two questions whether anybody still wants the answer.
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
        """What it does to rows, in words: filtered, sorted, both; empty for nothing."""
        done = ("filtered" * self.filters, "sorted" * (self.column is not None))
        return " and ".join(filter(None, done))

    @property
    def natural(self) -> bool:
        """Every row, as the source has them."""
        return not self.filters and self.column is None


def arrange(
    source: RowSource,
    columns: Sequence[GridColumn],
    rows: RowFilter,
    order: SortOrder,
    now_ms: int,
    wanted: IsWanted = lambda: True,
) -> array[int] | None:
    """Indexes into the source of the rows that match, in the order asked; None for every row as it comes.

    A missing value sorts last. Returns an empty array early when `wanted` says that nobody waits any more.
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
    # NaN is the greatest, as in Spark: it compares with nothing, and would leave all others in disorder.
    odd = [place for place, key in enumerate(keys) if key != key]
    present = [place for place, key in enumerate(keys) if key is not None and key == key]
    try:
        present.sort(key=keys.__getitem__, reverse=descending)
    except TypeError:
        # Values that have no order among themselves (maps, or a mixture) are sorted as they read.
        present.sort(key=lambda place: str(keys[place]), reverse=descending)
    present = [*odd, *present] if descending else [*present, *odd]
    missing = (place for place, key in enumerate(keys) if key is None)
    return array("l", [chosen[place] for place in (*present, *missing)])

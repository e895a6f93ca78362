"""The rows of a grid, with the result of filter and sorting. The two only change together."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence

import msgspec

from paimark.core.figures import counted
from paimark.tui.records.sources import RowSource
from paimark.tui.widgets.grid.row_order import SortOrder


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

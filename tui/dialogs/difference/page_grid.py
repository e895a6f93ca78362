"""The grid of a page of a difference. Spark sorts the rows, because there may be several pages."""

from __future__ import annotations

from collections.abc import Callable

from paimark.tui.widgets.grid.record_grid import Edge, RecordGrid


class PageGrid(RecordGrid):
    """`o` reads all rows in another order; sorting only the page would mislead."""

    def __init__(self, reorder: Callable[[], None], at_edge: Callable[[Edge], None]) -> None:
        super().__init__(frozen=1, only_words=True, at_edge=at_edge)
        self._reorder = reorder

    def action_sort(self) -> None:
        self._reorder()

    def action_reverse(self) -> None:
        """Do nothing: no column is sorted."""

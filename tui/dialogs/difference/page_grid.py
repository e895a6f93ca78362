"""The rows of a difference that are here: of many, and so put in order by Spark."""

from __future__ import annotations

from collections.abc import Callable

from tui.widgets.grid.record_grid import Edge, RecordGrid


class PageGrid(RecordGrid):
    """`o` asks for another order of all rows; an order of those that are here would mislead."""

    def __init__(self, reorder: Callable[[], None], at_edge: Callable[[Edge], None]) -> None:
        super().__init__(frozen=1, only_words=True, at_edge=at_edge)
        self._reorder = reorder

    def action_sort(self) -> None:
        self._reorder()

    def action_reverse(self) -> None:
        """Nothing is sorted by a column."""

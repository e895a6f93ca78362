"""A grid's columns: their order, their widths, and which of them are visible."""

from __future__ import annotations

from collections.abc import Sequence

from paimark.core.figures import counted
from paimark.core.text import distinct, width_of
from paimark.tui.memory import ColumnLayout
from paimark.tui.named_keys import columns_key, key
from paimark.tui.records.sources import GridColumn, RowSource, tuples
from paimark.tui.widgets.grid.paint import GUTTER, cell_text, measure, visible_columns

# In cells: the least width that a person can set, and the change by one key press.
NARROWEST, STEP = 3, 4
# In cells. A wider column is of no use in a grid: the record shows a long text whole.
WIDEST = 400


class Columns:
    """The first `pinned` columns stay visible while the others scroll.

    With `cells` the cursor is on one column, and a step moves it; without, a step scrolls.
    """

    def __init__(self, columns: Sequence[GridColumn], pinned: int, *, cells: bool = False) -> None:
        self.pinned = pinned
        self.cells = cells
        self.layout = ColumnLayout()
        # The visible columns for one grid width, cached because each row needs them.
        self._visible: tuple[int, list[tuple[int, int]]] = (-1, [])
        self.replace(columns)

    def replace(self, columns: Sequence[GridColumn]) -> None:
        """Replace the columns, and scroll to the first. The layout stays, for the columns that it names."""
        self.all = columns
        self.names = distinct([column.title for column in columns])
        self.reset()

    def retitle(self, columns: Sequence[GridColumn]) -> None:
        """Give as many columns other titles. Widths stay until the next measuring."""
        self.all = columns
        self.names = distinct([column.title for column in columns])
        self._arrange()

    def reset(self) -> None:
        """Scroll to the first column, and forget the measured widths: columns are as wide as their titles."""
        self._measured = measure(self.all, tuples(()), 0)
        self._first = self.pinned
        self._at = 0
        self._arrange()

    def set_layout(self, layout: ColumnLayout) -> None:
        self.layout = layout
        under = self.under_cursor
        self._arrange()
        if under in self.shown:
            self._at = self.shown.index(under)

    def _arrange(self) -> None:
        self._visible = (-1, [])
        order = self.layout.in_order(self.names)
        # At least one column: a grid without columns would look like one without rows.
        self.shown = [i for i in order if self.names[i] not in self.layout.hidden] or order[:1]
        self._first = max(self.pinned, min(self._first, len(self.shown) - 1))
        self._at = max(0, min(self._at, len(self.shown) - 1))

    @property
    def hidden_words(self) -> str:
        """The number of hidden columns, and the key that lists them; empty if none is hidden."""
        hidden = len(self.all) - len(self.shown)
        return f"{counted(hidden, 'column')} hidden ({columns_key()})" if hidden else ""

    @property
    def under_cursor(self) -> int | None:
        """The index of the column under the cursor; None if the grid has no cursor on columns."""
        return self.shown[self._at] if self.cells and self.shown else None

    def measure(self, source: RowSource, now_ms: int) -> None:
        """Measure the widths again. They only grow while the columns stay: a refresh never moves one."""
        widths = measure(self.all, source, now_ms)
        self._measured = [max(pair) for pair in zip(widths, self._measured, strict=True)]
        self._visible = (-1, [])

    def width(self, index: int) -> int:
        return self.layout.widths.get(self.names[index], self._measured[index])

    def in_sight(self, width: int) -> list[tuple[int, int]]:
        """(index, width in cells) of the columns that a grid of this width shows, from left to right."""
        if self._visible[0] != width:
            widths = [self.width(index) for index in self.shown]
            visible = visible_columns(widths, self.pinned, self._first, width - GUTTER)
            self._visible = width, [(self.shown[place], cells) for place, cells in visible]
        return self._visible[1]

    def more(self, width: int) -> tuple[bool, bool]:
        """Whether columns are scrolled out of view at the left, and at the right."""
        visible = self.in_sight(width)
        return self._first > self.pinned, bool(visible) and visible[-1][0] != self.shown[-1]

    def toggle_whole(self, index: int, values: Sequence[object], now_ms: int) -> str:
        """Make a column as wide as these values, or undo its set width. Returns a sentence for the status."""
        name, column = self.names[index], self.all[index]
        texts = (column.title, *(cell_text(column, value, now_ms) for value in values))
        width = None if name in self.layout.widths else min(WIDEST, max(map(width_of, texts)))
        self.set_layout(self.layout.with_width(name, width))
        # The last visible column already has all the remaining width, so the sentence gives its set width.
        change = key("grid.whole_column")
        return f"{column.title} is {self.width(index)} wide: {change} changes it"

    def after(self, index: int | None) -> int | None:
        """The column to sort by after `index`: the next one with a title; None after the last: no sorting.

        With a cursor on columns: the column under it, or None if the rows are already sorted by it."""
        if (chosen := self.under_cursor) is not None:
            return None if chosen == index else chosen
        titled = [each for each in self.shown if self.all[each].title]
        place = titled.index(index) + 1 if index in titled else 0
        return titled[place] if place < len(titled) else None

    # Moving

    def step(self, by: int, width: int) -> bool:
        """Move the cursor by a column, or scroll if the cursor is on whole rows; whether it was possible."""
        if not self.cells:
            return self._scroll(by, width)
        at = self._at + by
        if not 0 <= at < len(self.shown):
            return False
        self._at = at
        self._bring_into_sight(at, width)
        return True

    def _scroll(self, by: int, width: int) -> bool:
        if by > 0 and self._is_whole(len(self.shown) - 1, width):
            return False
        first = self._first + by
        if not self.pinned <= first < len(self.shown):
            return False
        self._scroll_to(first)
        return True

    def go_to(self, index: int, width: int) -> None:
        """Scroll to a column, and put the cursor on it; a hidden column is shown again."""
        if index not in self.shown:
            self.set_layout(self.layout.toggled(self.names[index]))
        at = self.shown.index(index)
        if self.cells:
            self._at = at
        self._bring_into_sight(at, width)

    def _bring_into_sight(self, at: int, width: int) -> None:
        if at < self.pinned:
            return
        if at < self._first:
            self._scroll_to(at)
            return
        before = self._first
        if self._is_whole(at, width):
            return
        # Make it the last whole column: start with it as the first, then scroll back while it is whole.
        self._scroll_to(at)
        while self._first > before:
            self._scroll_to(self._first - 1)
            if not self._is_whole(at, width):
                self._scroll_to(self._first + 1)
                return

    def _scroll_to(self, first: int) -> None:
        self._first = first
        self._visible = (-1, [])

    def _is_whole(self, at: int, width: int) -> bool:
        """Whether the column at a position is visible in its full width."""
        visible = dict(self.in_sight(width))
        index = self.shown[at] if self.shown else None
        return index is None or visible.get(index, -1) >= self.width(index)

    def show_sorted(self, index: int | None, width: int) -> None:
        """Scroll to the column that the rows are sorted by; if there is none, to the first column."""
        if index is None:
            self._scroll_to(self.pinned)
        elif index not in dict(self.in_sight(width)):
            self.go_to(index, width)

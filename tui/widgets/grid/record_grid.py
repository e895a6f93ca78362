"""Any number of rows, painted a screenful at a time.

Textual's DataTable measures every cell of every row on the event loop; this grid asks its source only for the
visible rows. It has no scrollbars. `paimark.tui.mouse` handles clicks.

The cursor is on a record, not on a line: it follows its record when rows come, go or are sorted. If the
record disappears, no key acts on a neighbour. In a grid with `cells` the cursor is also on a column.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar, Literal

from msgspec.structs import replace
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from paimark.tui.keymap import GRID
from paimark.tui.memory import ColumnLayout
from paimark.tui.messages import StatusShown
from paimark.tui.named_keys import unfilter_hint
from paimark.tui.records.sources import GridColumn, RowSource, tuples
from paimark.tui.widgets.grid.arranging import Arranging, Cursor, Painter
from paimark.tui.widgets.grid.columns import Columns
from paimark.tui.widgets.grid.view import SortOrder, View
from paimark.tui.widgets.lines import Painted

# The edge at which the cursor would leave the grid: the owner of the grid decides what happens then.
Edge = Literal["left", "right", "top"]

_MINUTE_MS = 60_000


class RecordGrid(Painted, can_focus=True):
    """Rows under a line of titles, with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = GRID

    class Moved(Message):
        """The cursor moved to another row, or the row under it has changed."""

    def __init__(
        self,
        columns: Sequence[GridColumn] = (),
        *,
        head: bool = True,
        frozen: int = 0,
        cells: bool = False,
        only_words: bool = False,
        sorts: bool = True,
        at_edge: Callable[[Edge], None] = lambda edge: None,
        sign: Callable[[int], str] = lambda index: " ",
    ) -> None:
        """The first `frozen` columns do not scroll. `sign` returns one character to show before a row, given
        its index in the source. With `only_words` a filter has no conditions on columns."""
        super().__init__()
        self.order = SortOrder()
        self.shown_columns = Columns(columns, frozen, cells=cells)
        self._only_words = only_words or not head
        self._sorts = sorts
        self._at_edge = at_edge
        self._sign = sign
        self._head = 1 if head else 0
        self._top = 0
        self.view = View(tuples(()))
        # The newest rows; the view still has older ones while these are filtered and sorted.
        self._given: RowSource = self.view.source
        self._total: int | None = None
        self._is_cut = False
        self._cursor = Cursor()
        # About the running arrangement: a person changed the filter; the cursor goes to the first row.
        self._reordered = self._to_top = False
        self._note: tuple[str, str] = ("", "")
        self._painter = Painter()
        self._now_ms = 0
        self._arranging = Arranging(self._arranged, self.say)

    # Rows shown

    def show(
        self,
        source: RowSource,
        columns: Sequence[GridColumn] | None = None,
        *,
        note: str = "",
        total: int | None = None,
        is_cut: bool = False,
    ) -> None:
        """Show other rows. `note` is shown if there are none; `total` is their number while more are read.
        `is_cut` says that there are more rows that were not read: filter and sort do not cover them."""
        if columns is not None and list(columns) != list(self.columns):
            self.shown_columns.replace(columns)
            self._start_over()
        self._measure(source)
        self._note = (note, "")
        self._given, self._total, self._is_cut = source, total, is_cut
        self._arrange()

    def retitle(self, columns: Sequence[GridColumn]) -> None:
        """Give the columns other titles: filter, sorting and cursor stay."""
        if list(columns) != list(self.columns):
            self.shown_columns.retitle(columns)
            self.repaint_rows()

    def _measure(self, source: RowSource) -> None:
        self._now_ms = int(time.time() * 1000)
        self.shown_columns.measure(source, self._now_ms)

    def keep_time(self) -> bool:
        """Update the displayed ages if a minute has passed; whether it did."""
        if time.time() * 1000 < self._now_ms + _MINUTE_MS:
            return False
        self._measure(self._given)
        self.repaint_rows()
        return True

    def say(self, message: str, hint: str = "") -> None:
        """Show a message instead of rows. If its record comes back, the cursor is on it again."""
        self._note = (message, hint)
        self._given, self._total, self._is_cut = tuples(()), None, False
        self._arranging.drop()
        self._set_view(View(self._given), Cursor(0, self._cursor.key))

    def clear(self, message: str) -> None:
        """Prepare for other records: reset filter, sorting and cursor, and show a message."""
        self._start_over()
        self.say(message)

    def _start_over(self) -> None:
        self.shown_columns.reset()
        self.order, self._cursor = SortOrder(), Cursor()

    @property
    def columns(self) -> Sequence[GridColumn]:
        """All columns in the order of the source, the hidden ones, too."""
        return self.shown_columns.all

    @property
    def source(self) -> RowSource:
        """All rows: those that are shown, and those that the filter hides."""
        return self.view.source

    @property
    def count(self) -> int:
        """The number of shown rows: those that match the filter."""
        return len(self.view)

    @property
    def cursor(self) -> int:
        """The cursor's position among the shown rows, also while it is on no record."""
        return self._cursor.place

    @property
    def is_filtering(self) -> bool:
        """Whether the rows for a new filter are still being searched; the old rows are shown meanwhile."""
        return self._reordered and self._arranging.busy

    @property
    def index(self) -> int | None:
        """The source's index of the row under the cursor; None if it is on no record."""
        on_record = self.cursor < self.count and self._cursor.on_record
        return self.view.index(self.cursor) if on_record else None

    @property
    def cursor_key(self) -> Hashable:
        """The key of the record under the cursor, also after the record disappeared."""
        return self._cursor.key

    @property
    def lost(self) -> Hashable | None:
        """The key of the record that disappeared under the cursor; None after the cursor is moved."""
        return self._cursor.key if self._cursor.lost else None

    @property
    def going_to_end(self) -> bool:
        """Whether the cursor will go to the last row, which is not read yet."""
        return self._cursor.to_end

    @property
    def position(self) -> str:
        """The row number and the number of rows, the filter, and the number of hidden columns."""
        place = None if self.index is None else self.cursor
        position = self.view.position(place, self.order, is_cut=self._is_cut)
        hidden = self.shown_columns.hidden_words
        return f"{position}, {hidden}" if hidden and position else position

    @property
    def why_none(self) -> str:
        """The reason why no row matches the filter; empty if some row does, or if there are no rows."""
        if self._arranging.refusal and len(self.source):
            return self._arranging.refusal[0]
        return self.view.why_none(self.order, is_cut=self._is_cut)

    # Moving

    def place_at(self, y: int) -> int | None:
        """The position of the row on line `y` of the grid; None if no row is there."""
        place = self._top + y - self._head
        return place if y >= self._head and place < self.count else None

    def move_to(self, place: int) -> None:
        """Put the cursor on a row (clamped), and scroll to it."""
        self._move(self._cursor.moved(self.view, place))

    def action_move(self, rows: int) -> None:
        if rows < 0 and self.cursor == 0:
            self._at_edge("top")
        self._move(self._cursor.stepped(self.view, rows))

    def _move(self, cursor: Cursor) -> None:
        old, self._cursor = self._cursor, cursor
        if cursor == old:
            return
        if not self._scroll_into_sight():
            self._refresh_rows(old.place, cursor.place)
        self.post_message(self.Moved())

    def action_page(self, pages: int) -> None:
        step = max(1, self._rows_in_sight)
        self._top = max(0, min(self._top + pages * step, self.count - step))
        self.refresh()
        self.move_to(self.cursor + pages * step)

    def action_half_page(self, halves: int) -> None:
        self.move_to(self.cursor + halves * max(1, self._rows_in_sight // 2))

    def action_first(self) -> None:
        self.move_to(0)

    def action_last(self) -> None:
        """Go to the last row; while more rows are being read, follow the end until the last has arrived."""
        self.move_to(self.count - 1)
        if self._total is not None and self._total > len(self._given):
            self._move(replace(self._cursor, to_end=True))

    # Columns

    @property
    def column(self) -> int | None:
        """The index of the column under the cursor; None in a grid whose cursor selects whole rows."""
        return self.shown_columns.under_cursor

    def lay_out(self, layout: ColumnLayout) -> None:
        """Apply a person's layout of the columns; `shown_columns.layout` is the present one."""
        self.shown_columns.set_layout(layout)
        self._columns_changed()

    def go_to_column(self, index: int) -> None:
        """Scroll to a column, and put the cursor on it if the grid has a cursor on cells."""
        self.shown_columns.go_to(index, self.size.width)
        self._columns_changed()

    def action_columns(self, columns: int) -> None:
        if self.shown_columns.step(columns, self.size.width):
            self._columns_changed()
        else:
            self._at_edge("right" if columns > 0 else "left")

    def action_whole_column(self) -> None:
        """Make the column under the cursor as wide as its visible values; the second time undo that."""
        index = self.column
        if index is not None:
            places = range(self._top, min(self.count, self._top + self._rows_in_sight))
            values = [self.view.row(place)[index] for place in places]
            self.post_message(StatusShown(self.shown_columns.toggle_whole(index, values, self._now_ms)))
            self.go_to_column(index)

    def _columns_changed(self) -> None:
        self.repaint_rows()
        self.post_message(self.Moved())

    async def action_choose_columns(self) -> None:
        # Widgets may not import dialogs.
        await self.run_action("app.choose_columns")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "whole_column":
            return self.shown_columns.cells
        if action in ("sort", "reverse"):
            return self._sorts
        return action != "choose_columns" or (self._head > 0 and len(self.columns) > 1)

    # Order

    async def action_filter(self) -> None:
        from paimark.tui.widgets.clean_input import FilterLine, filter_example

        await FilterLine(self, self.order.text, self.filter, filter_example(self._only_words)).open()

    def filter(self, text: str, *, to_top: bool = False) -> None:
        """Show the rows that contain these words, with `!` those that do not. The cursor goes to the first
        row if its record is not among them, or if `to_top` is set."""
        self.order = SortOrder(text, self.order.column, self.order.descending)
        self._reordered, self._to_top = True, to_top
        self._arrange()

    def action_sort(self) -> None:
        """Sort by the next column; after the last, restore the source's order."""
        self.sort_by(self.shown_columns.after(self.order.column))

    def sort_by(self, column: int | None, *, descending: bool | None = None) -> None:
        """Sort by a column (None: the source's order), by default text ascending, and all else descending."""
        if descending is None:
            descending = column is not None and self.columns[column].kind not in ("text",)
        self.order = SortOrder(self.order.text, column, descending)
        self.shown_columns.show_sorted(column, self.size.width)
        self._arrange()

    def action_reverse(self) -> None:
        if self.order.column is not None:
            self.order = SortOrder(self.order.text, self.order.column, not self.order.descending)
            self._arrange()

    def _arrange(self) -> None:
        self._arranging.ask(
            lambda: self.app, self._given, self.columns, self.order, self._now_ms, only_words=self._only_words
        )

    def _arranged(self, view: View) -> None:
        cursor = Cursor() if self._to_top else self._cursor
        complete = self._total is None or len(view.source) >= self._total
        cursor = cursor.followed(view, complete=complete, reordered=self._reordered)
        self._reordered = self._to_top = False
        self._set_view(view, cursor)

    def _set_view(self, view: View, cursor: Cursor) -> None:
        shift = cursor.place - self._cursor.place
        self.view, self._cursor = view, cursor
        if self._top:
            self._top = max(0, min(self._top + shift, self.count - self._rows_in_sight))
        self._scroll_into_sight()
        self.repaint_rows()
        self.post_message(self.Moved())

    # Painting

    def paint(self, lines: range, width: int) -> Sequence[Strip]:
        if not self._painter.has_styles:
            self._painter.read_styles(self.rich_style, self.app.theme)
        return [self._painted(y, width) for y in lines]

    def _painted(self, y: int, width: int) -> Strip:
        if y < self._head:
            return self._painter.head(self.shown_columns, self.order, width)
        place = self.place_at(y)
        if place is None:
            return self._note_line(y - self._head, width)
        bar, columns = self._cursor.bar(place, has_focus=self.has_focus), self.shown_columns
        return self._painter.row(place, bar, self.view, self._sign, columns, width, self._now_ms)

    def _note_line(self, y: int, width: int) -> Strip:
        """A line below the last row: blank; or if there are no rows, the reason for that."""
        message, hint = ("", "") if self.count else self._note
        if self.why_none:
            # Without focus the keys go to a line above the grid, which itself holds the filter.
            hint = unfilter_hint(in_dialog=self.screen.is_modal) if self.can_focus else ""
            message, hint = self._arranging.refusal or (self.why_none, hint)
        return self._painter.note(y, message, hint, width, self._rows_in_sight)

    @property
    def _rows_in_sight(self) -> int:
        return max(0, self.size.height - self._head)

    def _scroll_into_sight(self) -> bool:
        """Scroll until the cursor is visible; whether that moved the rows."""
        height = self._rows_in_sight
        if not height:
            return False
        cursor = min(self.cursor, max(0, self.count - 1))
        top = min(self._top, cursor, max(0, self.count - height))
        top = max(top, cursor - height + 1)
        if top == self._top:
            return False
        self._top = top
        self.refresh()
        return True

    def _refresh_rows(self, *places: int) -> None:
        for place in places:
            y = place - self._top + self._head
            if self._head <= y < self.size.height:
                self.refresh(Region(0, y, self.size.width, 1))

    def repaint_rows(self) -> None:
        """Repaint all rows, for example because signs before them changed."""
        self._painter.forget()
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._painter.forget_styles()

    def on_resize(self, event: events.Resize) -> None:
        self._scroll_into_sight()

    def on_focus(self) -> None:
        self._refresh_rows(self.cursor)

    on_blur = on_focus

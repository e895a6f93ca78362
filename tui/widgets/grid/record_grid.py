"""Any number of rows, painted a screenful at a time.

Textual's DataTable measures every cell of every row on the event loop; this one asks its source for the rows
in sight and nothing else. Keyboard only: no scrollbars, no mouse.

The cursor is on a record, not on a line: it goes where its record goes when rows come, go or are put in
another order. When the record goes away the cursor is on none until it is moved, so that no key acts on a
neighbour.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui.keymap import GRID
from tui.records.sources import GridColumn, RowSource, tuples
from tui.widgets.grid.cursor import Cursor
from tui.widgets.grid.paint import GUTTER, measure, visible_columns
from tui.widgets.grid.painter import Painter
from tui.widgets.grid.row_order import SortOrder, arrange
from tui.widgets.grid.view import View
from tui.work.background import Slot, ThreadReport

# Which way the cursor would go on, had the grid not ended: what lies there is its owner's to say.
Edge = Literal["left", "right", "top"]

# Fewer rows than this are put in order at once; more, in a thread.
AT_ONCE = 2000
_MINUTE_MS = 60_000


class RecordGrid(Widget, can_focus=True):
    """Rows under a line of titles, with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = GRID

    class Moved(Message):
        """The cursor is on another row, or the row under it has changed."""

    def __init__(
        self,
        columns: Sequence[GridColumn] = (),
        *,
        head: bool = True,
        frozen: int = 0,
        at_edge: Callable[[Edge], None] = lambda edge: None,
        sign: Callable[[int], str] = lambda index: " ",
    ) -> None:
        """`sign` is one cell before a row, of the row at an index of the source."""
        super().__init__()
        self.columns: Sequence[GridColumn] = columns
        self.order = SortOrder()
        self.first_column = frozen
        self._frozen = frozen
        self._at_edge = at_edge
        self._sign = sign
        self._head = 1 if head else 0
        self._top = 0
        self._view = View(tuples(()))
        # Newer than the view's while it is put in order.
        self._given: RowSource = self._view.source
        self._total: int | None = None
        self._cursor = Cursor()
        # What a person asked of the rows that are put in order now: other ones, from the first one on.
        self._asked = self._to_top = False
        self._widths: list[int] = measure(columns, self.source, 0)
        self._note: tuple[str, str] = ("", "")
        self._painter = Painter()
        self._now_ms = 0
        self._ordering: Slot[View] | None = None

    # Rows shown

    def show(
        self,
        source: RowSource,
        columns: Sequence[GridColumn] | None = None,
        *,
        note: str = "",
        total: int | None = None,
    ) -> None:
        """Other rows. `note` is for no rows; `total` is how many there will be when these are not all yet."""
        if columns is not None and list(columns) != list(self.columns):
            self.columns = columns
            self._start_over()
        self._measure(source)
        self._note = (note, "")
        self._given, self._total = source, total
        self._arrange()

    def _measure(self, source: RowSource) -> None:
        self._now_ms = int(time.time() * 1000)
        widths = measure(self.columns, source, self._now_ms)
        # Widths only grow while the columns stay, so that a refresh never makes the picture jump.
        self._widths = [max(pair) for pair in zip(widths, self._widths, strict=True)]

    def keep_time(self) -> bool:
        """Tell how old everything is as of now, once a minute has passed; whether it was time."""
        if time.time() * 1000 < self._now_ms + _MINUTE_MS:
            return False
        self._measure(self._given)
        self.repaint_rows()
        return True

    def say(self, message: str, hint: str = "") -> None:
        """No rows, and why. The cursor is on its record again if that comes back."""
        self._note = (message, hint)
        self._given, self._total = tuples(()), None
        if self._ordering is not None:
            self._ordering.drop()
        self._set_view(View(self._given), Cursor(0, self._cursor.held))

    def clear(self, message: str) -> None:
        """Rows of something else will come: no filter, no sort, and the cursor on no record."""
        self._start_over()
        self.say(message)

    def _start_over(self) -> None:
        self._widths = measure(self.columns, tuples(()), 0)
        self.first_column, self.order, self._cursor = self._frozen, SortOrder(), Cursor()

    @property
    def source(self) -> RowSource:
        """The rows that are shown, and those that the filter hides."""
        return self._view.source

    @property
    def count(self) -> int:
        """How many rows are shown: those that the filter lets through."""
        return len(self._view)

    @property
    def cursor(self) -> int:
        """Which of the rows shown the cursor is on, or would be."""
        return self._cursor.place

    @property
    def is_ordering(self) -> bool:
        """Whether its rows are still being put in order: those shown are of the order before."""
        return self._ordering is not None and self._ordering.busy

    @property
    def index(self) -> int | None:
        """The source's index of the row under the cursor; None where it is on no record."""
        on_record = self.cursor < self.count and self._cursor.on_record
        return self._view.index(self.cursor) if on_record else None

    @property
    def lost(self) -> Hashable | None:
        """The key of the record that went away under the cursor, until the cursor is moved."""
        return self._cursor.held if self._cursor.lost else None

    @property
    def going_to_end(self) -> bool:
        """Whether the cursor will be on the last row, which is not read yet."""
        return self._cursor.to_end

    @property
    def position(self) -> str:
        return self._view.position(None if self.index is None else self.cursor, self.order)

    # Moving

    def move_to(self, place: int) -> None:
        """Put the cursor on a row (clamped) and bring it into sight."""
        self._move(self._cursor.moved(self._view, place))

    def action_move(self, rows: int) -> None:
        if rows < 0 and self.cursor == 0:
            self._at_edge("top")
        self._move(self._cursor.stepped(self._view, rows))

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
        """To the last row; where more are still being read, to each end until the last has come."""
        self.move_to(self.count - 1)
        if self._total is not None and self._total > len(self._given):
            self._move(replace(self._cursor, to_end=True))

    def action_columns(self, columns: int) -> None:
        shown = self._shown()
        last = len(self.columns) - 1
        if columns > 0 and (not shown or (shown[-1][0] == last and shown[-1][1] >= self._widths[last])):
            self._at_edge("right")
            return
        first = self.first_column + columns
        if first < self._frozen:
            self._at_edge("left")
        elif first < len(self.columns):
            self.first_column = first
            self.repaint_rows()

    # Order

    async def action_filter(self) -> None:
        from tui.widgets.grid.filter_line import FilterLine

        await FilterLine(self, self.order.text, self.filter).open()

    def filter(self, text: str, *, to_top: bool = False) -> None:
        """Show the rows that hold these words; `!words` for those that do not.

        The cursor goes to the first of them if its record is not among them, or if `to_top` says so."""
        self.order = SortOrder(text, self.order.column, self.order.descending)
        self._asked, self._to_top = True, to_top
        self._arrange()

    def action_sort(self) -> None:
        """The next column with a title after the sorted one; past the last, the source's own order again."""
        start = 0 if self.order.column is None else self.order.column + 1
        column = next((each for each in range(start, len(self.columns)) if self.columns[each].title), None)
        numeric = column is not None and self.columns[column].kind not in ("text",)
        self.order = SortOrder(self.order.text, column, numeric)
        if column is not None and column not in [shown for shown, _ in self._shown()]:
            self.first_column = max(self._frozen, column)
        elif column is None:
            self.first_column = self._frozen
        self._arrange()

    def action_reverse(self) -> None:
        if self.order.column is not None:
            self.order = SortOrder(self.order.text, self.order.column, not self.order.descending)
            self._arrange()

    def _arrange(self) -> None:
        source, columns, order, now_ms = self._given, self.columns, self.order, self._now_ms
        if order.natural or len(source) <= AT_ONCE:
            if self._ordering is not None:
                self._ordering.drop()
            self._arranged(View(source, arrange(source, columns, order, now_ms)))
            return

        def work(report: ThreadReport[View]) -> None:
            report(View(source, arrange(source, columns, order, now_ms, lambda: report.wanted)))

        if self._ordering is None:
            self._ordering = Slot(self.app, "order", self._arranged, lambda error: self.say(error.message))
        self._ordering.ask(work)

    def _arranged(self, view: View) -> None:
        cursor = Cursor() if self._to_top else self._cursor
        complete = self._total is None or len(view.source) >= self._total
        cursor = cursor.followed(view, complete=complete, asked=self._asked)
        self._asked = self._to_top = False
        self._set_view(view, cursor)

    def _set_view(self, view: View, cursor: Cursor) -> None:
        shift = cursor.place - self._cursor.place
        self._view, self._cursor = view, cursor
        if self._top:
            self._top = max(0, min(self._top + shift, self.count - self._rows_in_sight))
        self._scroll_into_sight()
        self.repaint_rows()
        self.post_message(self.Moved())

    # Painting

    def render_line(self, y: int) -> Strip:
        self._painter.read_styles(self.rich_style, self.app.theme)
        width = self.size.width
        if y < self._head:
            return self._painter.head(self.columns, self._shown(), self.order, width)
        place = self._top + y - self._head
        if place >= self.count:
            return self._note_line(y - self._head)
        return self._painter.row(
            place, self._bar(place), self._values(place), self.columns, self._shown, width, self._now_ms
        )

    def _values(self, place: int) -> Callable[[], tuple[Sequence[object], str]]:
        """How to get the values of a row, and its sign."""
        index = self._view.index(place)
        return lambda: (self.source.row(index), self._sign(index))

    def _bar(self, place: int) -> str:
        """Says where the cursor is without colour, and by its thickness whether the keys go here."""
        if place != self.cursor:
            return " "
        if not self._cursor.on_record:
            return "·"
        return "▌" if self.has_focus else "▏"

    def _note_line(self, y: int) -> Strip:
        """Below the last row: nothing; without rows: why there are none."""
        message, hint = ("", "") if self.count else self._note
        if not self.count and len(self.source):
            message, hint = f"No row matches /{self.order.text}", "Escape takes the filter away."
        return self._painter.note(y, message, hint, self.size.width)

    def _shown(self) -> list[tuple[int, int]]:
        return visible_columns(self._widths, self._frozen, self.first_column, self.size.width - GUTTER)

    @property
    def _rows_in_sight(self) -> int:
        return max(0, self.size.height - self._head)

    def _scroll_into_sight(self) -> bool:
        """Whether that moved the rows."""
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
        """All of them: what they hold may be the same, and a sign before one another."""
        self._painter.forget()
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._painter.forget_styles()

    def on_resize(self, event: events.Resize) -> None:
        self._painter.forget()
        self._scroll_into_sight()

    def on_focus(self) -> None:
        self._refresh_rows(self.cursor)

    on_blur = on_focus

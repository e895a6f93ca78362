"""Any number of rows, painted a screenful at a time.

Textual's DataTable measures every cell of every row on the event loop; this one asks its source for the rows
in sight and nothing else. Keyboard only: no scrollbars, no mouse.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui.background import Report, Slot
from tui.keymap import GRID
from tui.sources import Column, RowSource, tuples
from tui.theme import inks
from tui.widgets.grid_paint import GUTTER, measure, note_lines, paint_head, paint_row, visible_columns
from tui.widgets.lines import strip_of
from tui.widgets.row_order import Order, arrange

# Which way the cursor would go on, had the grid not ended: what lies there is its owner's to say.
Edge = Literal["left", "right", "top"]

# Fewer rows than this are put in order at once; more, in a thread.
AT_ONCE = 2000
_KEPT_STRIPS = 400


class RecordGrid(Widget, can_focus=True):
    """Rows under a line of titles, with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = GRID

    class Moved(Message):
        """The cursor is on another row, or the row under it has changed."""

    def __init__(
        self,
        columns: Sequence[Column] = (),
        *,
        head: bool = True,
        frozen: int = 0,
        at_edge: Callable[[Edge], None] = lambda edge: None,
        is_marked: Callable[[int], bool] = lambda index: False,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
    ) -> None:
        super().__init__(id=id)
        self.columns: Sequence[Column] = columns
        self.source: RowSource = tuples(())
        self.order = Order()
        self.cursor = 0
        self.first_column = frozen
        self._frozen = frozen
        self._at_edge = at_edge
        self._is_marked = is_marked
        self._head = 1 if head else 0
        self._top = 0
        self._chosen: array[int] | None = None
        self._widths: list[int] = measure(columns, self.source, 0)
        self._note: tuple[str, str] = ("", "")
        self._strips: dict[tuple[int, bool, bool], Strip] = {}
        self._styles: dict[str, Style] = {}
        self._now_ms = 0
        self._to_top = False
        self._ordering: Slot[array[int] | None] | None = None

    # What it shows

    def show(self, source: RowSource, columns: Sequence[Column] | None = None, *, note: str = "") -> None:
        """Other rows. The cursor stays on its record where it can; `note` is for no rows."""
        now_ms = int(time.time() * 1000)
        if columns is not None and list(columns) != list(self.columns):
            self.columns = columns
            self._widths = []
            self.first_column, self.order = self._frozen, Order()
        found = measure(self.columns, source, now_ms)
        # Widths only grow while the columns stay, so that a refresh never makes the picture jump.
        self._widths = (
            [max(pair) for pair in zip(found, self._widths, strict=True)] if self._widths else found
        )
        old, old_index = self.source, self.index
        self.source = source
        self._now_ms = now_ms
        self._note = (note, "")
        if self.order.natural:
            moved = _same_record(old, old_index, source)
            self._arranged(None, moved)
        else:
            self._arrange()

    def remark(self) -> None:
        """Other rows are marked."""
        self._repaint()

    def say(self, message: str, hint: str = "") -> None:
        """No rows, and why."""
        self.source = tuples(())
        self._arranged(None, 0)
        self._note = (message, hint)

    @property
    def count(self) -> int:
        """How many rows are shown: those that the filter lets through."""
        return len(self.source) if self._chosen is None else len(self._chosen)

    @property
    def index(self) -> int | None:
        """The source's index of the row under the cursor."""
        if not 0 <= self.cursor < self.count:
            return None
        return self.cursor if self._chosen is None else self._chosen[self.cursor]

    @property
    def position(self) -> str:
        """`3 of 13`, with the filter and how many rows it hides."""
        total = len(self.source)
        place = min(self.cursor + 1, self.count)
        if self._chosen is None or not self.order.words:
            return f"{place:,} of {total:,}" if total else ""
        return f"/{self.order.text}  {place:,} of {self.count:,} ({total:,} in all)"

    # Moving

    def move_to(self, cursor: int) -> None:
        """Put the cursor on a row (clamped) and bring it into sight."""
        cursor = max(0, min(cursor, self.count - 1))
        if cursor == self.cursor:
            return
        old, self.cursor = self.cursor, cursor
        if not self._scroll_into_sight():
            self._refresh_rows(old, cursor)
        self.post_message(self.Moved())

    def action_move(self, rows: int) -> None:
        if rows < 0 and self.cursor == 0:
            self._at_edge("top")
        self.move_to(self.cursor + rows)

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
        self.move_to(self.count - 1)

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
            self._repaint()

    # Order

    async def action_filter(self) -> None:
        from tui.widgets.filter_line import FilterLine

        await FilterLine.open_for(self)

    def filter(self, text: str) -> None:
        """Show the rows that hold these words; `!words` for those that do not."""
        self.order = Order(text, self.order.column, self.order.descending)
        self._to_top = True
        self._arrange()

    def action_sort(self) -> None:
        """The next column after the sorted one; past the last, the source's own order again."""
        start = 0 if self.order.column is None else self.order.column + 1
        column = start if start < len(self.columns) else None
        numeric = column is not None and self.columns[column].kind not in ("text",)
        self.order = Order(self.order.text, column, numeric)
        if column is not None and column not in [place for place, _ in self._shown()]:
            self.first_column = max(self._frozen, column)
        elif column is None:
            self.first_column = self._frozen
        self._arrange()

    def action_reverse(self) -> None:
        if self.order.column is not None:
            self.order = Order(self.order.text, self.order.column, not self.order.descending)
            self._arrange()

    def _arrange(self) -> None:
        source, columns, order, now_ms = self.source, self.columns, self.order, self._now_ms
        if self._ordering is None:
            self._ordering = Slot(
                self.app, "order", self._arranged_later, lambda error: self.say(error.message)
            )
        if order.natural or len(source) <= AT_ONCE:
            self._ordering.drop()
            self._arranged_later(arrange(source, columns, order, now_ms))
            return

        def work(report: Report[array[int] | None]) -> None:
            report(arrange(source, columns, order, now_ms, lambda: report.wanted))

        self._ordering.ask(work)
        # The old order may point past the end of a shorter source until the new one is there.
        if self._chosen is not None and len(self._chosen) and max(self._chosen) >= len(source):
            self._arranged(None, 0)

    def _arranged_later(self, chosen: array[int] | None) -> None:
        cursor, self._to_top = (0 if self._to_top else self.cursor), False
        self._arranged(chosen, cursor)

    def _arranged(self, chosen: array[int] | None, cursor: int) -> None:
        at_top = self._top == 0
        shift = cursor - self.cursor
        self._chosen = chosen
        self.cursor = max(0, min(cursor, self.count - 1))
        if not at_top:
            self._top = max(0, min(self._top + shift, self.count - self._rows_in_sight))
        self._scroll_into_sight()
        self._repaint()
        self.post_message(self.Moved())

    # Painting

    def render_line(self, y: int) -> Strip:
        if not self._styles:
            self._read_styles()
        width = self.size.width
        if y < self._head:
            shown = self._shown()
            return paint_head(
                self.columns,
                shown,
                sorted_by=self.order.column,
                descending=self.order.descending,
                more=bool(shown) and shown[-1][0] < len(self.columns) - 1,
                style=self._styles["head"],
                width=width,
            )
        place = self._top + y - self._head
        if place >= self.count:
            return self._note_line(y - self._head)
        at_cursor = place == self.cursor
        key = (place, at_cursor, self.has_focus)
        strip = self._strips.get(key)
        if strip is None:
            if len(self._strips) > _KEPT_STRIPS:
                self._strips.clear()
            strip = self._strips[key] = self._paint(place, at_cursor)
        return strip

    def _paint(self, place: int, at_cursor: bool) -> Strip:
        index = place if self._chosen is None else self._chosen[place]
        if at_cursor:
            base = self._styles["cursor" if self.has_focus else "cursor-away"]
        else:
            base = self._styles["base"]
        # The mark says where the cursor is without colour, and its thickness whether the keys go here.
        mark = ("▌" if self.has_focus else "▏") if at_cursor else " "
        mark += "*" if self._is_marked(index) else " "
        return paint_row(
            self.source.row(index),
            self.columns,
            self._shown(),
            gutter=mark,
            base=base,
            styles=self._styles,
            width=self.size.width,
            now_ms=self._now_ms,
        )

    def _note_line(self, y: int) -> Strip:
        """Below the last row: nothing; without rows: why there are none."""
        message, hint = self._note
        if not self.count and len(self.source):
            message, hint = f"No row matches /{self.order.text}", "Escape takes the filter away."
        lines = [] if self.count else note_lines(message, hint, self.size.width)
        line = lines[y - 1] if 1 <= y <= len(lines) else ()
        return strip_of(line, self.size.width, self._styles["base"], self._styles)

    def _read_styles(self) -> None:
        base = self.rich_style
        styles = inks(self.app.theme)
        self._styles = {
            **styles,
            "base": base,
            "head": base + styles["head"],
            "cursor": base + styles["cursor"],
            "cursor-away": base + styles["cursor-away"],
        }

    def _shown(self) -> list[tuple[int, int]]:
        return visible_columns(self._widths, self._frozen, self.first_column, self._room)

    @property
    def _room(self) -> int:
        return self.size.width - GUTTER

    @property
    def _rows_in_sight(self) -> int:
        return max(0, self.size.height - self._head)

    def _scroll_into_sight(self) -> bool:
        """Whether that moved the rows."""
        height = self._rows_in_sight
        if not height:
            return False
        top = min(self._top, self.cursor, max(0, self.count - height))
        top = max(top, self.cursor - height + 1)
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

    def _repaint(self) -> None:
        self._strips.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles.clear()
        self._strips.clear()

    def on_resize(self, event: events.Resize) -> None:
        self._strips.clear()
        self._scroll_into_sight()

    def on_focus(self) -> None:
        self._refresh_rows(self.cursor)

    def on_blur(self) -> None:
        self._refresh_rows(self.cursor)


def _same_record(old: RowSource, old_index: int | None, new: RowSource) -> int:
    """Where the record that was at `old_index` is now, looked for where rows come and go: at either end."""
    if old_index is None or not len(new):
        return 0
    identity = old.row(old_index)[0]
    shifted = old_index + len(new) - len(old)
    near = [shifted, old_index, *range(max(0, old_index - 100), old_index + 101)]
    found = (each for each in near if 0 <= each < len(new) and new.row(each)[0] == identity)
    return next(found, old_index)

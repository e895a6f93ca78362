"""Filter and sort the rows of a grid: few rows at once, many rows in a thread."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from rich.style import Style
from textual.app import App
from textual.strip import Strip

from paimark.core.errors import PaimarkError
from paimark.tui.records.sources import GridColumn, RowSource
from paimark.tui.theme import inks_over
from paimark.tui.widgets.grid.columns import Columns
from paimark.tui.widgets.grid.paint import note_lines, paint_head, paint_row
from paimark.tui.widgets.grid.view import SortOrder, View, arrange
from paimark.tui.widgets.lines import strip_of
from paimark.tui.work.background import Slot, ThreadReport

if TYPE_CHECKING:
    from paimark.tui.widgets.grid.filters import RowFilter


# Up to this many rows are filtered and sorted at once.
AT_ONCE = 2000


class Arranging:
    """Runs one request at a time: a newer one replaces it. `done` gets the rows, `failed` a sentence.

    `refusal` is the reason why the filter is invalid, and a hint: then no rows are shown, rather than rows
    that do not match.
    """

    def __init__(self, done: Callable[[View], None], failed: Callable[[str], None]) -> None:
        self.refusal: tuple[str, str] | None = None
        self._done = done
        self._failed = failed
        self._slot: Slot[View] | None = None

    @property
    def busy(self) -> bool:
        return self._slot is not None and self._slot.busy

    def drop(self) -> None:
        if self._slot is not None:
            self._slot.drop()

    def ask(
        self,
        app: Callable[[], App[Any]],
        source: RowSource,
        columns: Sequence[GridColumn],
        order: SortOrder,
        now_ms: int,
        *,
        only_words: bool,
    ) -> None:
        """`app` is called only if a thread is needed: a grid can get rows before it has an app."""
        self.refusal = None
        if order.natural:
            # The first frame should not import the filters.
            self.drop()
            self._done(View(source))
            return
        rows = self._read(order.text, columns, source, now_ms, only_words=only_words)
        if rows is None or len(source) <= AT_ONCE:
            self.drop()
            chosen = array("l") if rows is None else arrange(source, columns, rows, order, now_ms)
            self._done(View(source, chosen))
            return

        def work(report: ThreadReport[View]) -> None:
            report(View(source, arrange(source, columns, rows, order, now_ms, lambda: report.wanted)))

        if self._slot is None:
            self._slot = Slot(app(), "order", self._done, lambda error: self._failed(error.message))
        self._slot.ask(work)

    def _read(
        self,
        text: str,
        columns: Sequence[GridColumn],
        source: RowSource,
        now_ms: int,
        *,
        only_words: bool,
    ) -> RowFilter | None:
        from paimark.tui.widgets.grid.filters import plain_words, read_filter

        if only_words:
            return plain_words(text)
        try:
            return read_filter(text, columns, source, now_ms)
        except PaimarkError as error:
            self.refusal = (error.message, error.hint)
            return None


class Cursor(msgspec.Struct, frozen=True):
    """`place` is the position among the shown rows; `key` is the key of the record there, None at first.

    `lost`: that record is gone, and the cursor is between two rows, above the one at its old position.
    `to_end`: the cursor goes to the last row, which is not read yet. In both states it is on no record.
    """

    place: int = 0
    key: Hashable = None
    lost: bool = False
    to_end: bool = False

    @property
    def on_record(self) -> bool:
        return not self.lost and not self.to_end

    def bar(self, place: int, *, has_focus: bool) -> str:
        """The sign before a row: it shows the cursor without colour, and by its thickness the focus."""
        if place != self.place:
            return " "
        if not self.on_record:
            return "·"
        return "▌" if has_focus else "▏"

    def moved(self, view: View, place: int) -> Cursor:
        """The cursor after a person moved it to a row (clamped)."""
        place = max(0, min(place, len(view) - 1))
        return Cursor(place, view.key(place) if len(view) else None)

    def stepped(self, view: View, rows: int) -> Cursor:
        return self.moved(view, self.place + (rows - 1 if self.lost and rows > 0 else rows))

    def followed(self, view: View, *, complete: bool, reordered: bool) -> Cursor:
        """The cursor in other rows, or in another order.

        `complete` says that all rows are read; `reordered`, that a person filtered or sorted: the cursor
        goes to the first row then, if its record is not among the rows.
        """
        if self.to_end:
            last = self.moved(view, len(view) - 1)
            return last if complete else msgspec.structs.replace(last, to_end=True)
        if self.key is None:
            return self.moved(view, 0)
        place = view.place(self.key)
        if place is not None:
            # Not always the key from before: the record may be on another branch now.
            return Cursor(place, view.key(place))
        if not len(view) and view.source.find(self.key) is not None:
            # No row matches the filter: the cursor finds its record again when the filter is removed.
            return Cursor(0, self.key)
        if reordered:
            return self.moved(view, 0)
        return Cursor(min(self.place, len(view)), self.key, lost=True)


_KEPT_STRIPS = 400
# The ink of a row, by the bar before it.
_ROWS = {" ": "", "·": "", "▏": "cursor-away", "▌": "cursor"}


class Painter:
    """Call `forget_styles` when the theme changes, and `forget` when rows or columns change."""

    def __init__(self) -> None:
        self._strips: dict[tuple[int, str, int | None, int], Strip] = {}
        # For each bar before a row the styles of its cells.
        self._styles: Mapping[str, Mapping[str, Style]] = {}

    def forget(self) -> None:
        self._strips.clear()

    def forget_styles(self) -> None:
        self._strips.clear()
        self._styles = {}

    @property
    def has_styles(self) -> bool:
        return bool(self._styles)

    def read_styles(self, base: Style, theme: str) -> None:
        own = inks_over(base, theme)
        self._styles = {bar: inks_over(own[ink], theme) for bar, ink in _ROWS.items()}

    def head(self, columns: Columns, order: SortOrder, width: int) -> Strip:
        return paint_head(
            columns.all,
            columns.in_sight(width),
            sorted_by=order.column,
            descending=order.descending,
            more=columns.more(width),
            style=self._styles[" "]["head"],
            width=width,
            cell=columns.under_cursor,
        )

    def row(
        self,
        place: int,
        bar: str,
        view: View,
        sign: Callable[[int], str],
        columns: Columns,
        width: int,
        now_ms: int,
    ) -> Strip:
        """The strip of the row at a position; the row and its sign are read only if none is cached."""
        cell = columns.under_cursor if bar == "▌" else None
        # A new width is painted before the grid gets the message that says so.
        known_by = (place, bar, cell, width)
        strip = self._strips.get(known_by)
        if strip is None:
            if len(self._strips) > _KEPT_STRIPS:
                self._strips.clear()
            strip = self._strips[known_by] = paint_row(
                view.row(place),
                columns.all,
                columns.in_sight(width),
                gutter=bar + sign(view.index(place)),
                styles=self._styles[bar],
                width=width,
                now_ms=now_ms,
                cell=cell,
            )
        return strip

    def note(self, y: int, message: str, hint: str, width: int, height: int) -> Strip:
        """Line `y` of the note that replaces the rows; a blank line if message and hint are empty."""
        lines = note_lines(message, hint, width, height)
        line = lines[y - 1] if 1 <= y <= len(lines) else ()
        return strip_of(line, width, self._styles[" "])

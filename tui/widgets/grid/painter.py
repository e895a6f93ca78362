"""A cache of a grid's painted lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.style import Style
from textual.strip import Strip

from paimark.tui.theme import inks_over
from paimark.tui.widgets.grid.columns import Columns
from paimark.tui.widgets.grid.paint import note_lines, paint_head, paint_row
from paimark.tui.widgets.grid.row_order import SortOrder
from paimark.tui.widgets.grid.view import View
from paimark.tui.widgets.lines import strip_of

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

    def note(self, y: int, message: str, hint: str, width: int) -> Strip:
        """Line `y` of the note that replaces the rows; a blank line if message and hint are empty."""
        lines = note_lines(message, hint, width)
        line = lines[y - 1] if 1 <= y <= len(lines) else ()
        return strip_of(line, width, self._styles[" "])

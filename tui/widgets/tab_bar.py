"""The tabs on one line, each by its key and its name."""

from __future__ import annotations

from collections.abc import Sequence

from paimark.core.text import width_of
from paimark.tui.theme import Line, Piece
from paimark.tui.widgets.lines import Lines, line_width


class TabBar(Lines):
    """Marks the open tab: by brackets, in case colours can't be seen.

    Where not all names fit, those farthest from it are left out: their keys stay.
    """

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._names = names
        self.current = 0

    def open(self, tab: int) -> None:
        self.current = tab
        self.update_lines()

    def tab_at(self, x: int) -> int | None:
        """The index of the tab whose title is at a column, counted from 0; None between two titles."""
        end = 0
        for piece, tab in self._placed(self.size.width):
            end += width_of(piece[0])
            if x < end:
                return tab
        return None

    def lines(self, width: int) -> Sequence[Line]:
        return [[piece for piece, _ in self._placed(width)]]

    def _placed(self, width: int) -> list[tuple[Piece, int | None]]:
        """The pieces of the line, each with its tab; None for a gap."""
        named = range(len(self._names))
        for gap in (2, 1):
            if self._fits(named, gap, width):
                return self._joined(named, gap)
        named = self._near(width)
        if self._fits(named, 1, width):
            return self._joined(named, 1)
        # A very narrow terminal.
        return [(piece, self.current) for piece in self._title(self.current, has_name=True)]

    def _near(self, width: int) -> range:
        """The open tab, and as many of those beside it as have room for their names."""
        shown = range(self.current, self.current + 1)
        while True:
            wider = [range(shown.start - 1, shown.stop), range(shown.start, shown.stop + 1)]
            if self.current - shown.start > shown.stop - 1 - self.current:
                wider.reverse()
            fitting = (each for each in wider if self._fits(each, 1, width))
            if (next_ := next(fitting, None)) is None:
                return shown
            shown = next_

    def _fits(self, named: range, gap: int, width: int) -> bool:
        is_there = named.start >= 0 and named.stop <= len(self._names)
        return is_there and line_width([piece for piece, _ in self._joined(named, gap)]) <= width

    def _joined(self, named: range, gap: int) -> list[tuple[Piece, int | None]]:
        pieces: list[tuple[Piece, int | None]] = []
        for tab in range(len(self._names)):
            if tab:
                pieces.append(((" " * gap, ""), None))
            pieces += [(piece, tab) for piece in self._title(tab, has_name=tab in named)]
        return pieces

    def _title(self, tab: int, *, has_name: bool) -> list[Piece]:
        if tab == self.current:
            return [(f"[{tab + 1} {self._names[tab]}]", "title")]
        if not has_name:
            return [(str(tab + 1), "quiet")]
        return [(f"{tab + 1} ", "quiet"), (self._names[tab], "")]

"""The titles of the tabs on one line: number, name and, if there is room, a count."""

from __future__ import annotations

from collections.abc import Sequence

from paimark.core.cells import width_of
from paimark.tui.theme import Line, Piece
from paimark.tui.widgets.lines import Lines, line_width

# The pieces of each tab: the gap before it, and its title in three pieces.
_PIECES = 4


class TabBar(Lines):
    """Marks the open tab: by brackets, in case colours can't be seen."""

    def __init__(self, names: Sequence[tuple[str, str]]) -> None:
        """`names` are pairs of a title and a short title, which is used if not all titles fit."""
        super().__init__()
        self._names = names
        self._counts: dict[int, str] = {}
        self.current = 0

    def open(self, tab: int) -> None:
        self.current = tab
        self.update_lines()

    def count(self, tab: int, text: str) -> None:
        """Put a number beside a tab's name; an empty text removes it."""
        if self._counts.get(tab, "") != text:
            self._counts[tab] = text
            self.update_lines()

    def tab_at(self, x: int) -> int | None:
        """The index of the tab whose title is at a column, counted from 0; None between two titles."""
        end = 0
        for number, (text, _) in enumerate(self.lines(self.size.width)[0]):
            end += width_of(text)
            if x < end:
                tab, part = divmod(number, _PIECES)
                return self._first(self._all(self.size.width), self.size.width) + tab if part else None
        return None

    def lines(self, width: int) -> Sequence[Line]:
        pieces = self._all(width)
        if not (first := self._first(pieces, width)):
            return [pieces]
        return [[("…", "quiet"), *pieces[first * _PIECES + 1 :]]]

    def _first(self, pieces: Sequence[Piece], width: int) -> int:
        """The first tab in sight: the open one always is."""
        first, end = 0, (self.current + 1) * _PIECES
        while first < self.current and line_width(pieces[first * _PIECES : end]) > width:
            first += 1
        return first

    def _all(self, width: int) -> list[Piece]:
        # A count is more useful than a longer name.
        best_first = [
            self._line("  ", counted=True),
            self._line("  ", counted=True, short=True),
            self._line("  ", counted=False),
            self._line(" ", counted=False),
            self._line(" ", counted=False, short=True),
        ]
        fitting = (each for each in best_first if line_width(each) <= width)
        return next(fitting, self._line(" ", counted=False, short=True, shortest=True))

    def _line(self, gap: str, *, counted: bool, short: bool = False, shortest: bool = False) -> list[Piece]:
        pieces: list[Piece] = []
        for index, (title, short_title) in enumerate(self._names):
            name = short_title if shortest or (short and index != self.current) else title
            count = f" {self._counts.get(index, '')}".rstrip() if counted else ""
            pieces.append((gap if index else "", ""))
            if index == self.current:
                pieces += [(f"[{index + 1} {name}", "title"), (count, "quiet"), ("]", "title")]
            else:
                pieces += [(f"{index + 1} ", "quiet"), (name, ""), (count, "quiet")]
        return pieces

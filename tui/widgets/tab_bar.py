"""The tabs' titles on one line: number, name and, where there is room, how many."""

from __future__ import annotations

from collections.abc import Sequence

from core.cells import width_of
from tui.theme import Line, Piece
from tui.widgets.lines import Lines, line_width

# Of each tab: what stands before it, and its title in three.
_PIECES = 4


class TabBar(Lines):
    """Shows which tab is open: brackets say it where colour can't."""

    def __init__(self, names: Sequence[tuple[str, str]]) -> None:
        """`names` are titles, each with a short one for where not all of them fit."""
        super().__init__()
        self._names = names
        self._counts: dict[int, str] = {}
        self.current = 0

    def open(self, tab: int) -> None:
        self.current = tab
        self.update_lines()

    def count(self, tab: int, text: str) -> None:
        """Put a number beside a tab's name; empty takes it away."""
        if self._counts.get(tab, "") != text:
            self._counts[tab] = text
            self.update_lines()

    def tab_at(self, x: int) -> int | None:
        """The number of the tab whose title is at a column, counted from 0; None between two."""
        end = 0
        for number, (text, _) in enumerate(self.lines(self.size.width)[0]):
            end += width_of(text)
            if x < end:
                tab, part = divmod(number, _PIECES)
                return tab if part else None
        return None

    def lines(self, width: int) -> Sequence[Line]:
        # How many there are says more than a longer name does.
        best_first = [
            self._line("  ", counted=True),
            self._line("  ", counted=True, short=True),
            self._line("  ", counted=False),
            self._line(" ", counted=False),
            self._line(" ", counted=False, short=True),
        ]
        fitting = (each for each in best_first if line_width(each) <= width)
        return [next(fitting, self._line(" ", counted=False, short=True, shortest=True))]

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

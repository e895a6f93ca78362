"""The lines under the editor: the engine's state, the tables read, the progress, or an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from paimark.core.text import ELLIPSIS, clean_text
from paimark.core.travel.parse.statement import pointed
from paimark.tui.theme import Line
from paimark.tui.widgets.grid.scroll_lines import wrap_line
from paimark.tui.widgets.lines import FittingLines

# So wide that time, tasks and the cancel key fit on one line beside the list of tables on a small terminal.
_BAR = 10
# So many lines it may always take; more if the rows leave them free.
_LINES = 6
_INDENT, _NARROWEST = 2, 20


class QueryStatus(FittingLines):
    """A first line that is always shown, and more lines if needed. `room` counts the lines that are free."""

    def __init__(self, room: Callable[[], int] = lambda: 0) -> None:
        super().__init__()
        self._room = room
        self._first: Line = []
        self._more: Sequence[Line] = ()
        self._place: tuple[str, int] | None = None

    def say(self, first: Line, more: Sequence[Line] = (), place: tuple[str, int] | None = None) -> None:
        """`place` is a text and an offset in it: the line at that offset comes second, with a caret."""
        self._first, self._more, self._place = first, more, place
        self.update_lines()

    def lines(self, width: int) -> Sequence[Line]:
        most = max(_LINES, self._room())
        first, more = _wrapped([self._first], width), _wrapped(self._more, width)
        pointed = _wrapped(self._pointed(width - _INDENT - 1), width)
        if 1 + len(pointed) + len(more) > most:
            # The hint tells what to do: it comes before the place, which the cursor shows, too.
            pointed = []
        left = max(1, most - len(pointed) - len(more))
        return [*_without_middle(first, left), *pointed, *more][:most]

    def _pointed(self, width: int) -> list[Line]:
        if self._place is None:
            return []
        line, caret = pointed(*self._place, max(_NARROWEST, width))
        blank = (" " * _INDENT, "")
        return [[blank, (line, "")], [blank, (caret, "bad")]]


def _wrapped(lines: Sequence[Line], width: int) -> list[Line]:
    return [part for line in lines for part in wrap_line([(" ", ""), *line], width)]


def _without_middle(lines: list[Line], most: int) -> list[Line]:
    """At most so many lines: the first and the last ones, with an ellipsis for those between them."""
    if len(lines) <= most:
        return lines
    behind = (most - 1) // 2
    *lead, (text, ink) = lines[most - behind - 1]
    ended: Line = [*lead, (text[:-2].rstrip() + f" {ELLIPSIS}", ink)]
    return [*lines[: most - behind - 1], ended, *lines[len(lines) - behind :]]


def bar(done: int, total: int) -> str:
    """`█████░░░░░ 4/8`"""
    filled = _BAR * done // total if total else 0
    return f"{'█' * filled}{'░' * (_BAR - filled)} {done}/{total}"


def problem(message: str, hint: str, *, is_cancel: bool = False) -> list[Line]:
    """An error's message, and its hint. A cancellation is not a failure."""
    sign, inks = ("! ", ("warn", "")) if is_cancel else ("✗ ", ("alarm", "bad"))
    lines: list[Line] = [[(sign, inks[0]), (clean_text(message), inks[1])]]
    return [*lines, [("  ", ""), (clean_text(hint), "quiet")]] if hint else lines


def reading(table: str, version: str, scan: str, note: str) -> Line:
    """The version at which a table of the statement was read, how it was read, and a note."""
    parts = [f"{table} at {version}", scan, note]
    return [("read ", "quiet"), (clean_text(" · ".join(each for each in parts if each)), "")]

"""Classes of a screen that depend on the terminal's size."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen

# The least number of columns, and the class from it on.
_WIDTHS = [(0, "-narrow"), (100, "-wide")]


def follow_size(screen: Screen[Any], heights: list[tuple[int, str]] | None = None) -> None:
    """Give a screen the class of the terminal's width, and of its height if there are `heights`.

    Call it when the screen is mounted. Textual would set the first classes only after the first paint, and
    a small terminal would be painted twice.
    """
    screen.HORIZONTAL_BREAKPOINTS, screen.VERTICAL_BREAKPOINTS = _WIDTHS, heights
    for length, breakpoints in zip(screen.app.size, (_WIDTHS, heights), strict=True):
        reached = [each for each in breakpoints or () if each[0] <= length]
        if reached:
            screen.add_class(max(reached)[1], update=False)

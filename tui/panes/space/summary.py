"""The lines above the rows: their sums, or the progress of the count."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events

from paimark.tui.theme import Line
from paimark.tui.widgets.grid.scroll_lines import wrap_line
from paimark.tui.widgets.lines import Lines

_MOST = 3
_UNKNOWN_WIDTH = 80


class Summary(Lines):
    """A widget as high as its text."""

    DEFAULT_CSS = "Summary { height: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self._said: Sequence[Line] = ()

    def say(self, *lines: Line) -> None:
        self._said = lines
        height = len(self.lines(self.size.width or _UNKNOWN_WIDTH))
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self.update_lines()

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self.say(*self._said)

    def lines(self, width: int) -> Sequence[Line]:
        wrapped = [each for line in self._said for each in wrap_line([(" ", ""), *line], width)]
        return wrapped[:_MOST] or [[("", "")]]

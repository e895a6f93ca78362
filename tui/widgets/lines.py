"""A widget that is a few lines of styled text."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip

from paimark.core.cells import cut, width_of
from paimark.tui.terminal.cells import link_in
from paimark.tui.theme import Line, Piece, inks_over
from paimark.tui.widgets.painted import Painted


class Lines(Painted):
    """Subclasses define `lines(width)`, and call `update_lines` after their content has changed."""

    def __init__(self) -> None:
        super().__init__()
        self._strips: list[Strip] = []
        self._width = -1

    @abstractmethod
    def lines(self, width: int) -> Sequence[Line]:
        """The lines to show, `width` cells wide."""

    def update_lines(self) -> None:
        """Lay out the lines again, and repaint if they differ."""
        width = self.size.width
        strips = self._lay_out(width) if width else self._strips
        if strips != self._strips:
            self._width, self._strips = width, strips
            self.refresh()

    def paint(self, lines: range, width: int) -> Sequence[Strip]:
        if self._width != width:
            self._width, self._strips = width, self._lay_out(width)
        strips = self._strips[lines.start : lines.stop]
        missing = len(lines) - len(strips)
        return [*strips, *[Strip.blank(width, self.rich_style)] * missing] if missing else strips

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._width = -1

    def on_resize(self, event: events.Resize) -> None:
        self._width = -1
        self.refresh()

    def _lay_out(self, width: int) -> list[Strip]:
        styles = inks_over(self.rich_style, self.app.theme)
        return [strip_of(line, width, styles) for line in self.lines(width)]


def strip_of(line: Line, width: int, styles: Mapping[str, Style]) -> Strip:
    """Join the pieces of a line, cut or padded to `width` cells, in these styles of `inks_over`."""
    segments: list[Segment] = []
    run, run_style, left = "", styles[""], width
    for text, ink in (*line, (" " * width, "")):
        if left <= 0:
            break
        style = styles[ink]
        if address := link_in(text.strip()):
            style += Style(link=address)
        text = cut(text, left) if text.strip() else text[:left]
        left -= width_of(text)
        if style is not run_style:
            segments.append(Segment(run, run_style))
            run, run_style = "", style
        run += text
    segments.append(Segment(run, run_style))
    return Strip([segment for segment in segments if segment.text], width)


def line_width(line: Line) -> int:
    return sum(width_of(text) for text, _ in line)


def spread(left: Line, right: Line, width: int) -> list[Piece]:
    """Join two lines into one with `right` at its right edge; `left` is cut if both do not fit."""
    room = width - line_width(right)
    pieces: list[Piece] = []
    for text, ink in left:
        text = cut(text, max(0, room - 1))
        pieces.append((text, ink))
        room -= width_of(text)
    return [*pieces, (" " * max(0, room), ""), *right]

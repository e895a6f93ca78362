"""Widgets that paint their own lines, and one that is a few lines of styled text."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.containers import Horizontal, Vertical
from textual.filter import ANSIToTruecolor, LineFilter
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from paimark.core.text import cut, width_of
from paimark.tui.terminal.cells import link_in
from paimark.tui.theme import Line, Piece, inks_over


# Textual looks up a border, a padding, a tint and more for each line of each widget, also of a container that
# is covered by its children. That took half of a repaint.
class Painted(Widget):
    """A widget that is its lines: it has no border, padding or opacity."""

    @abstractmethod
    def paint(self, lines: range, width: int) -> Sequence[Strip]:
        """The strips of these lines, each `width` cells wide."""

    def render_line(self, y: int) -> Strip:
        return self.paint(range(y, y + 1), self.region.width)[0]

    def get_line_filters(self) -> Sequence[LineFilter]:
        # The themes that this filter is for have no colours of the terminal.
        return [each for each in super().get_line_filters() if not isinstance(each, ANSIToTruecolor)]

    def render_lines(self, crop: Region) -> list[Strip]:
        # The size of a screen is the terminal's, which may have changed since the last layout.
        width = self.region.width
        strips = [*self.paint(range(*crop.line_span), width)]
        for line_filter in self.get_line_filters():
            background = self.background_colors[1]
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        if crop.column_span != (0, width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips


class Backdrop(Painted, Screen[None]):
    """A screen without content of its own: blank where no widget is."""

    def paint(self, lines: range, width: int) -> Sequence[Strip]:
        return [Strip.blank(width, self.rich_style)] * len(lines)


class Column(Vertical):
    """Widgets below each other. Where none is, the screen behind shows."""

    def render_lines(self, crop: Region) -> list[Strip]:
        return []


class Row(Horizontal):
    """Widgets beside each other. Where none is, the screen behind shows."""

    def render_lines(self, crop: Region) -> list[Strip]:
        return []


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


class FittingLines(Lines):
    """It is as high as its lines."""

    DEFAULT_CSS = "FittingLines { height: auto; }"

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lines(width))

    def update_lines(self) -> None:
        before = len(self._strips)
        super().update_lines()
        if len(self._strips) != before:
            self.refresh(layout=True)


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

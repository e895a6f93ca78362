"""Widgets that paint all of their lines themselves, or none.

Textual looks up a border, a padding, a tint and more for each line of each widget, also of a container that
is covered by its children. That took half of a repaint.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence

from textual.containers import Horizontal, Vertical
from textual.filter import ANSIToTruecolor, LineFilter
from textual.geometry import Region
from textual.message_pump import _MessagePumpMeta
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget


class AbstractWidget(_MessagePumpMeta, ABCMeta):
    """The metaclass of a widget with abstract methods: Textual's own, and the standard library's."""


class Painted(Widget, metaclass=AbstractWidget):
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

"""A widget that is a few lines of styled text, and repaints only what changed: few bytes over a slow line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tui.theme import Line, Piece, inks
from tui.widgets.cells import cut, width_of


class Lines(Widget):
    """Subclasses say `lines(width)`; `update_lines` after what they show has changed."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._strips: list[Strip] = []
        self._width = -1

    def lines(self, width: int) -> Sequence[Line]:
        """The lines to show, `width` cells wide."""
        raise NotImplementedError

    def update_lines(self) -> None:
        """Lay out again; only the lines that differ are sent to the terminal."""
        width = self.size.width
        if not width:
            return
        old, self._strips = self._strips, self._lay_out(width)
        if self._width != width:
            self._width = width
            self.refresh()
            return
        for y in range(max(len(old), len(self._strips))):
            if y >= len(old) or y >= len(self._strips):
                self.refresh(Region(0, y, width, 1))
                continue
            # Textual sends a line from its start, but only as far as it is told.
            changed = last_difference(old[y], self._strips[y])
            if changed:
                self.refresh(Region(0, y, changed, 1))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self._width != width:
            self._width, self._strips = width, self._lay_out(width)
        if y < len(self._strips):
            return self._strips[y]
        return Strip.blank(width, self.rich_style)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._width = -1

    def on_resize(self, event: events.Resize) -> None:
        self._width = -1
        self.refresh()

    def _lay_out(self, width: int) -> list[Strip]:
        base, styles = self.rich_style, inks(self.app.theme)
        return [strip_of(line, width, base, styles) for line in self.lines(width)]


def strip_of(line: Line, width: int, base: Style, styles: Mapping[str, Style]) -> Strip:
    """Pieces side by side, cut or padded to `width` cells."""
    segments: list[Segment] = []
    run, run_ink, left = "", "", width
    for text, ink in (*line, (" " * width, "")):
        if left <= 0:
            break
        text = cut(text, left) if text.strip() else text[:left]
        left -= width_of(text)
        if ink != run_ink:
            segments.append(Segment(run, base + styles[run_ink]))
            run, run_ink = "", ink
        run += text
    segments.append(Segment(run, base + styles[run_ink]))
    return Strip([segment for segment in segments if segment.text], width)


def last_difference(old: Strip, new: Strip) -> int:
    """How many cells from the left must be sent again for `old` to become `new`, of the same width."""
    if old == new:
        return 0
    before, after = _cells(old), _cells(new)
    if before is None or after is None or len(before) != len(after):
        return new.cell_length
    cells = len(after)
    while cells and before[cells - 1] == after[cells - 1]:
        cells -= 1
    return cells


def _cells(strip: Strip) -> list[tuple[str, Style | None]] | None:
    """Each cell's character and style; None where a character takes more than one cell, or none."""
    cells = [(character, segment.style) for segment in strip for character in segment.text]
    return cells if len(cells) == strip.cell_length else None


def line_width(line: Line) -> int:
    return sum(width_of(text) for text, _ in line)


def spread(left: Line, right: Line, width: int) -> list[Piece]:
    """One line with `right` at its right edge; `left` gives way when both do not fit."""
    room = width - line_width(right)
    pieces: list[Piece] = []
    for text, ink in left:
        text = cut(text, max(0, room - 1))
        pieces.append((text, ink))
        room -= width_of(text)
    return [*pieces, (" " * max(0, room), ""), *right]

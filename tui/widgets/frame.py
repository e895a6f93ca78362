"""A pane in a frame with its name. The frame of the focused pane stands out, also without colours.

Also the classes of a screen by the terminal's size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual import events
from textual.containers import Vertical
from textual.screen import Screen
from textual.strip import Strip

from paimark.core.text import clean_text, cut
from paimark.tui.theme import SIXTEEN, Line, Piece, inks_over
from paimark.tui.widgets.lines import Painted, line_width, strip_of

# The corners from the top left on, clockwise; then the horizontal and the vertical line.
_SINGLE, _DOUBLE = "╭╮╯╰─│", "╔╗╝╚═║"
# The least of the line to see beside the name.
_SEEN = 4


class Frame(Painted, Vertical):
    """Its padding is the frame. Textual's own borders are looked up anew for each line of each repaint."""

    DEFAULT_CSS = "Frame { padding: 1; }"

    def __init__(self, name: str, known_as: str) -> None:
        """`known_as` is its id in the style sheet."""
        super().__init__(id=known_as)
        self._named, self._note, self._place = name, "", ("", "")
        self._painted: tuple[object, Sequence[Strip]] = (None, ())

    def call(self, name: str) -> None:
        """Put a name at the left of the top line."""
        self._set(name, self._note, self._place)

    def note(self, note: str) -> None:
        """Put a note at the right of the top line, if there is room for it."""
        self._set(self._named, note, self._place)

    def point(self, title: str, position: str) -> None:
        """Put the title and the position of the record under the cursor on the bottom line."""
        self._set(self._named, self._note, (title, position))

    def _set(self, *words: object) -> None:
        if words != (self._named, self._note, self._place):
            self._named, self._note, self._place = words  # type: ignore[assignment]
            self.refresh()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self.refresh()

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        self.refresh()

    def paint(self, lines: range, width: int) -> Sequence[Strip]:
        height, has_focus = self.region.height, self.has_focus_within
        known_by = (width, height, has_focus, self.rich_style, self._named, self._note, self._place)
        if self._painted[0] != known_by:
            self._painted = known_by, self._strips(width, height, has_focus=has_focus)
        return self._painted[1][lines.start : lines.stop]

    def _strips(self, width: int, height: int, *, has_focus: bool) -> list[Strip]:
        signs = _DOUBLE if has_focus and self.app.theme == SIXTEEN else _SINGLE
        ink = "accent" if has_focus else "line"
        # As wide as the screen it has no sides.
        sides = signs if self.styles.padding.width else ""
        inner = width - 2 * bool(sides)
        top = self._top(signs[4], ink, inner, "title" if has_focus else "quiet")
        lines = [[(sides[0:1], ink), *top, (sides[1:2], ink)]]
        lines += [[(sides[5:6], ink), (" " * inner, ""), (sides[5:6], ink)]] * max(0, height - 2)
        lines += [[(sides[3:4], ink), *self._bottom(signs[4], ink, inner), (sides[2:3], ink)]]
        styles = inks_over(self.rich_style, self.app.theme)
        return [strip_of(line, width, styles) for line in lines]

    def _top(self, rule: str, ink: str, width: int, name_ink: str) -> Line:
        left: list[Piece] = [(rule, ink), (f" {cut(clean_text(self._named), width - _SEEN)} ", name_ink)]
        right: list[Piece] = [(f" {self._note} ", "quiet"), (rule, ink)] if self._note else []
        if line_width(left) + line_width(right) + _SEEN > width:
            right = []
        return [*left, (rule * (width - line_width(left) - line_width(right)), ink), *right]

    def _bottom(self, rule: str, ink: str, width: int) -> Line:
        # The parts that change with each row are at the left, so the rest of the line need not be sent again.
        title, position = map(clean_text, self._place)
        pieces: list[Piece] = [(rule, ink), (f" {cut(title, width - _SEEN)} ", "title")] if title else []
        room = width - line_width(pieces) - _SEEN
        if position and room > 0:
            pieces += [(rule, ink), (f" {cut(position, room)} ", "quiet")]
        return [*pieces, (rule * max(0, width - line_width(pieces)), ink)]


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

"""Styled text that may need more lines than the widget has: the cursor keys scroll it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import BindingType

from paimark.core.text import width_of, wrap
from paimark.tui.keymap import hidden, steps
from paimark.tui.named_keys import key
from paimark.tui.theme import Line, Piece
from paimark.tui.widgets.lines import Lines


class ScrollLines(Lines, can_focus=True):
    """Shows wrapped paragraphs; the last line says how many more lines are below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *steps("text", "scroll", up="up,k", down="down,j"),
        hidden("text.space", "space", "scroll(10)", "page down"),
        hidden("text.first", "home,g", "scroll(-100000)", "first line"),
        hidden("text.last", "end,G", "scroll(100000)", "last line"),
    ]

    def __init__(self, scrolled_by: Callable[[], str] | None = None) -> None:
        """`scrolled_by` returns the key by which a dialog scrolls it; then the widget never has the focus."""
        super().__init__()
        self.can_focus = scrolled_by is None
        self._scrolled_by = scrolled_by or (lambda: key("text.down"))
        self._paragraphs: Sequence[Line] = ()
        self._top = 0
        # The wrapped lines for one width, cached so that not every key wraps a long text again.
        self._laid_out: tuple[int, list[Line]] = (-1, [])

    def show(self, paragraphs: Sequence[Line], *, from_end: bool = False) -> None:
        """Replace the text, and scroll to its first line, or with `from_end` to its last."""
        self._paragraphs = paragraphs
        self._laid_out = (-1, [])
        self._top = 100_000 if from_end else 0
        self.update_lines()

    def needed(self, width: int) -> int:
        """The number of lines that the whole text takes."""
        return len(self._wrapped(width))

    def action_scroll(self, lines: int) -> None:
        self._top += lines
        self.update_lines()

    def lines(self, width: int) -> Sequence[Line]:
        wrapped = self._wrapped(width)
        height = max(1, self._height)
        self._top = max(0, min(self._top, len(wrapped) - height))
        shown = list(wrapped[self._top : self._top + height])
        hidden = len(wrapped) - self._top - len(shown)
        if hidden > 0:
            by = f" ({down})" if (down := self._scrolled_by()) else ""
            shown[-1] = [(f"… {hidden + 1:,} more lines below{by}", "quiet")]
        return shown

    @property
    def _height(self) -> int:
        """The height that the styles ask for, if any: a new height may not be laid out yet."""
        styled = self.styles.height
        return self.size.height if styled is None or styled.cells is None else styled.cells

    def _wrapped(self, width: int) -> list[Line]:
        if self._laid_out[0] != width:
            lines = [line for paragraph in self._paragraphs for line in wrap_line(paragraph, width)]
            self._laid_out = width, lines
        return self._laid_out[1]


def wrap_line(line: Line, width: int) -> list[Line]:
    """Wrap a line: its last piece continues under its own beginning; the pieces before it are not wrapped.

    No line ends at a no-break space, which is shown as a blank.
    """
    if not line:
        return [line]
    *lead, (text, ink) = line
    indent = sum(width_of(piece) for piece, _ in lead)
    first, *rest = (each.replace("\u00a0", " ") for each in wrap(text, max(8, width - indent)))
    continued: list[list[Piece]] = [[(" " * indent, ""), (more, ink)] for more in rest]
    return [[*lead, (first, ink)], *continued]

"""A place in a statement for people: the line that holds it, and a caret below it."""

from __future__ import annotations

from core.cells import cut, width_of
from core.text import clean_text

# How much of a line that is cut stays before the caret, in hundredths.
_BEFORE = 60


def pointed(text: str, position: int, width: int | None = None) -> tuple[str, str]:
    """The line of `text` that holds the character at `position`, and blanks with a caret at their end.

    The end of the text is that of its last line which is not blank. A line over `width` cells is cut to what
    lies around the caret.
    """
    position = min(position, len(text.rstrip()))
    start = text.rfind("\n", 0, position) + 1
    line = text[start:].partition("\n")[0]
    before, behind = clean_text(line[: position - start]), clean_text(line[position - start :])
    if width is not None and width_of(before) + width_of(behind) > width:
        before = _end_of(before, width * _BEFORE // 100)
        behind = cut(behind, width - width_of(before))
    return before + behind, " " * width_of(before) + "^"


def _end_of(text: str, width: int) -> str:
    return cut(text[::-1], width)[::-1]

"""Refusals with a position in a statement, and how the position is shown."""

from __future__ import annotations

from paimark.core.cells import cut, cut_middle, width_of
from paimark.core.errors import StatementFailed
from paimark.core.text import clean_text

# A reason may quote any part of a statement.
_LONGEST = 300


class SqlRefused(StatementFailed):
    """A statement or clause that is invalid or not supported. `position` is its character offset."""

    position: int

    def __init__(self, reason: str, hint: str, sql: str, position: int) -> None:
        line, column = line_and_column(sql, position)
        super().__init__(f"{cut_middle(reason, _LONGEST)} (line {line}, column {column})", hint, position)


def line_and_column(sql: str, position: int) -> tuple[int, int]:
    """Both counted from 1."""
    before = sql[:position]
    return before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1


# The part of a cut line that lies before the caret, in percent.
_BEFORE = 60


def pointed(text: str, position: int, width: int) -> tuple[str, str]:
    """The line of `text` that contains `position`, and a line of blanks that ends in a caret.

    A position in trailing white space becomes the end of the text before it. A line over `width` cells is cut
    to the part around the caret.
    """
    position = min(position, len(text.rstrip()))
    start = text.rfind("\n", 0, position) + 1
    line = text[start:].partition("\n")[0]
    before, behind = clean_text(line[: position - start]), clean_text(line[position - start :])
    if width_of(before) + width_of(behind) > width:
        before = _end_of(before, width * _BEFORE // 100)
        behind = cut(behind, width - width_of(before))
    return before + behind, " " * width_of(before) + "^"


def _end_of(text: str, width: int) -> str:
    return cut(text[::-1], width)[::-1]

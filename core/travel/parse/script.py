"""Split a text into its statements: a semicolon separates them, unless it is in quotes or a comment."""

from __future__ import annotations

from typing import NamedTuple

from paimark.core.travel.parse.tokens import iter_tokens


class Piece(NamedTuple):
    """One statement of a text. `base` plus a position in `text` is the position in the whole text.

    Empty lines and blanks stand for the text before it, so that its lines and columns are those of the whole.
    """

    text: str
    base: int


def piece_of(text: str, start: int, end: int) -> Piece:
    """The part `[start, end)` of a text."""
    before = text[:start]
    blank = "\n" * before.count("\n") + " " * (start - (before.rfind("\n") + 1))
    return Piece(blank + text[start:end], start - len(blank))


def statements_of(text: str) -> list[Piece]:
    """The statements of a text, in order. If it has less than two, it is one piece, with its comments.

    `BEGIN` begins a script of Spark's, which is one piece up to the end of the text.
    """
    spans: list[tuple[int, int]] = []
    first = last = None
    # The end of the last semicolon before a statement.
    start = 0
    for token in iter_tokens(text):
        if token.text != ";" or (first is not None and first.upper == "BEGIN"):
            first, last = first or token, token
        elif first is not None and last is not None:
            spans.append((first.start, last.end))
            first = last = None
        elif not spans:
            start = token.end
    if first is not None and last is not None:
        spans.append((first.start, last.end))
    return [piece_of(text, *span) for span in spans] if len(spans) > 1 else [piece_of(text, start, len(text))]

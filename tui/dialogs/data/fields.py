"""The fields of a record as paragraphs: with JSON on one line or unfolded, and with a filter."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from paimark.core.cells import cut_middle, width_of
from paimark.core.text import clean_text
from paimark.tui.theme import Line

WIDEST_NAME = 28
Fields = Sequence[tuple[str, str]]


def unfolded(text: str) -> list[str]:
    """JSON as indented lines, with its numbers unchanged; other text as its own lines."""
    if text[:1] in ("{", "["):
        try:
            return msgspec.json.format(text, indent=2).splitlines()
        except msgspec.DecodeError:
            pass
    return text.splitlines() or [""]


def is_foldable(text: str) -> bool:
    """Whether its unfolded form has more than one line."""
    return len(unfolded(text)) > 1


def paragraphs(fields: Fields, *, unfold: bool, words: str = "") -> list[Line]:
    """A line for each field, its name first; an unfolded field has more lines, its name before the first.

    `words` keeps the lines that contain all of them, ignoring case, in the name or the value; with `!` in
    front those that don't.
    """
    room = min(WIDEST_NAME, max((width_of(clean_text(name)) for name, _ in fields), default=0))
    lines: list[Line] = []
    for name, value in fields:
        title = cut_middle(clean_text(name), WIDEST_NAME)
        texts = [clean_text(each) for each in (unfolded(value) if unfold else [value])]
        texts = [text for text in texts if matches(f"{clean_text(name)}\0{text}", words)]
        for number, text in enumerate(texts):
            lead = title if number == 0 else ""
            indent = len(text) - len(text.lstrip(" "))
            lines.append([(lead + " " * (room - width_of(lead) + 2 + indent), "quiet"), (text[indent:], "")])
    return lines


def matches(text: str, words: str) -> bool:
    """Whether a text has all of the words, ignoring case; with `!` in front, whether it does not."""
    parts = words.removeprefix("!").casefold().split()
    if not parts:
        return True
    folded = text.casefold()
    return all(word in folded for word in parts) is not words.startswith("!")

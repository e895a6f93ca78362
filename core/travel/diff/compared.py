"""Shorten texts that are compared, so that the parts in which they differ stay in sight."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from paimark.core.cells import ELLIPSIS, cut, width_of
from paimark.core.text import clean_text

# How many characters stay before a difference, and how many after its first one if there is room.
_BEFORE, _AFTER = 3, 8


class Fitted(str):
    """A text that is not just cut at its end."""

    __slots__ = ()

    def fitted(self, width: int) -> str:
        """Clean text of at most `width` cells."""
        return cut(clean_text(self[: width + 1]), width)

    def fits(self, width: int) -> bool:
        return len(self) <= width and width_of(clean_text(self)) <= width


class Compared(Fitted):
    """A text that others are compared with. `marks` are the ascending positions at which it begins to differ
    from one of them, or others among themselves; `longest` is the length of the longest.
    """

    marks: tuple[int, ...]
    longest: int

    def __new__(cls, text: str, marks: tuple[int, ...], longest: int) -> Compared:
        made = super().__new__(cls, text)
        made.marks, made.longest = marks, longest
        return made

    def fitted(self, width: int) -> str:
        if self.fits(width):
            return clean_text(self)
        return cut(_around(self, self.marks, self.longest, width), width)


def compared(texts: Sequence[str]) -> list[Compared]:
    """The texts, each with the positions of the differences."""
    pairs = combinations(dict.fromkeys(texts), 2)
    marks = tuple(sorted({_first_difference(*pair) for pair in pairs}))
    longest = max(map(len, texts), default=0)
    return [Compared(text, marks, longest) for text in texts]


def _first_difference(one: str, other: str) -> int:
    """The length of their common beginning, by bisection: a text may have megabytes."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _around(text: str, marks: tuple[int, ...], longest: int, width: int) -> str:
    """The first mark and the last in a text of about `width` characters, which may be too long."""
    after = min(_AFTER, width // 3)
    if not marks or marks[-1] + after < width:
        return clean_text(text[: width + 1])
    first, last = marks[0], marks[-1]
    # With an ellipsis at both ends.
    if last - first + _BEFORE + 2 < width:
        # The same beginning for all of them, so that they stay one below the other.
        start = max(0, min(first - _BEFORE, longest - (width - 1)))
        return (ELLIPSIS if start else "") + clean_text(text[start : start + width + 1])
    start, half = last - _BEFORE, (width - 1) // 2
    head = cut(_around(text[:start], (first,), start, half), half).removesuffix(ELLIPSIS)
    return head + ELLIPSIS + clean_text(text[start : start + width])

"""The cells of the screen, as they were sent, and the order to send others in."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

# The most cells of a changed piece that may be sent in another order.
_SHORT = 2


class Ink(NamedTuple):
    """The codes that set a style on a reset terminal: attributes, foreground, background; a web address."""

    attributes: str = ""
    foreground: str = ""
    background: str = ""
    link: str = ""


# A character with its combining characters, and its ink. An empty cell follows a wide character.
ScreenCell = tuple[str, Ink]
# None: the cell was never sent, so its content is unknown.
Line = list[ScreenCell | None]
# A column, a line, and the cells from there on.
Span = tuple[int, int, list[ScreenCell]]


def by_ink(spans: Iterable[Span]) -> list[Span]:
    """Long spans as they come, then the parts of short ones by their ink.

    The sides of two frames change in many lines, and a change of colour takes more bytes than a move.
    """
    long, short = [], []
    for x, y, cells in spans:
        if len(cells) > _SHORT:
            long.append((x, y, cells))
            continue
        for _, run in groupby(cells, itemgetter(1)):
            part = [*run]
            short.append((x, y, part))
            x += len(part)
    return [*long, *sorted(short, key=lambda span: span[2][0][1])]

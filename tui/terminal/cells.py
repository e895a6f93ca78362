"""The cells of the screen, as they were sent, and the order to send others in; links in them."""

from __future__ import annotations

import re
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


# Without a user name before the host: if the text is cut, it could look like the host.
_ADDRESS = r"https?://[0-9A-Za-z\[][0-9A-Za-z.:\]-]*(?:[/?#][!-~]*)?"
# Terminals ignore longer addresses.
_LONGEST = 2000


def link_in(text: object) -> str:
    """The value itself if all of it is a web address; else empty."""
    if not isinstance(text, str) or not text.startswith("http") or len(text) > _LONGEST:
        return ""
    return text if re.fullmatch(_ADDRESS, text) else ""


def link_code(address: str) -> str:
    """The code that begins a link, or ends it if the address is empty.

    The id tells the terminal which cells belong to one link, because they may be sent separately.
    """
    from zlib import crc32

    number = f"id={crc32(address.encode()):x}" if address else ""
    return f"\x1b]8;{number};{address}\x1b\\"

"""The cells of the screen, as they were sent, and the order to send others in; links in them.

Lines that only moved up or down are found: the terminal moves them, and only the others are sent. Scrolling a
grid by one row changes every line of it, though nearly all of them are already on the screen.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import msgspec

# The most cells of a changed piece that may be sent in another order.
_SHORT = 2
# Sending fewer lines takes no more bytes than moving them.
_FEWEST = 6


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


class Scroll(msgspec.Struct, frozen=True):
    """The `lines` of the screen move up by `by`, or down if it is negative, in their whole width."""

    lines: range
    by: int

    @property
    def codes(self) -> str:
        """The codes that set the region, delete or insert lines at its top, and reset the region.

        Older terminals have no code for scrolling, but all have these.
        """
        first, last = self.lines[0] + 1, self.lines[-1] + 1
        moving = f"\x1b[{self.by}M" if self.by > 0 else f"\x1b[{-self.by}L"
        return f"\x1b[{first};{last}r\x1b[{first};1H{moving}\x1b[r"

    def after(self, before: Mapping[int, Line], y: int) -> Line:
        """The content of line `y` after the scroll. A line that appears is unknown: its colour may vary."""
        if y not in self.lines:
            return before.get(y, [])
        return before[y + self.by] if y + self.by in self.lines else []


def find_scroll(before: Mapping[int, Line], now: Mapping[int, Line], width: int) -> Scroll | None:
    """The scroll that makes the most of these changed lines right; None if that is not more than half.

    Also None if a line is not known in its whole width, because lines move as a whole.
    """
    lines = _longest_run(now)
    if len(lines) < _FEWEST or not all(len(before[y]) == width and None not in before[y] for y in lines):
        return None
    first, last = _columns(before, now, lines)
    old = {y: before[y][first:last] for y in lines}
    new = {y: now[y][first:last] for y in lines}

    def moved(by: int) -> int:
        return sum(new[y] == old.get(y + by) for y in lines)

    reach = len(lines) // 2
    best = max((by for by in range(-reach, reach + 1) if by), key=moved)
    return Scroll(lines, best) if moved(best) * 2 > len(lines) else None


def _longest_run(lines: Iterable[int]) -> range:
    best = run = range(0)
    for y in sorted(lines):
        run = range(run.start, y + 1) if y == run.stop and run else range(y, y + 1)
        best = max(best, run, key=len)
    return best


def _columns(before: Mapping[int, Line], now: Mapping[int, Line], lines: range) -> tuple[int, int]:
    """The first column in which any of the lines changed, and the end of the last."""
    first, last = min(len(before[lines[0]]), len(now[lines[0]])), 0
    for y in lines:
        old, new = before[y], now[y]
        first = next((column for column in range(first) if old[column] != new[column]), first)
        width = min(len(old), len(new))
        last = next((end for end in range(width, last, -1) if old[end - 1] != new[end - 1]), last)
    return first, last


# The Linux console, and screen (without tmux), may display the codes of links as text.
_WITHOUT_LINKS = ("linux", "dumb", "screen")


def can_erase() -> bool:
    """Whether it can erase a number of cells to the present background, according to terminfo."""
    try:
        import curses

        curses.setupterm()
        return curses.tigetflag("bce") == 1 and curses.tigetstr("ech") is not None
    # There is no terminfo, no entry for this TERM, or no terminal.
    except (ImportError, OSError, ValueError, curses.error):
        return False


def can_link() -> bool:
    """Whether it supports links (OSC 8), or at least ignores them. Terminfo has no entry for that."""
    return "TMUX" in os.environ or not os.environ.get("TERM", "dumb").startswith(_WITHOUT_LINKS)

"""The screen of a terminal after the bytes it got; it knows the sequences that the console sends."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence

from rich.cells import cell_len

# A CSI sequence, a link, another OSC or DCS string, another escape, a character.
_PIECE = re.compile(
    "\x1b\\[([0-9;?<>=]*)[ -/]*([@-~])|\x1b\\]8;[^;]*;(.*?)\x1b\\\\"
    "|\x1b[\\]P].*?(?:\x07|\x1b\\\\)|\x1b[^\\[\\]P]|([^\x1b])",
    re.DOTALL,
)
# Underlined, reversed, struck out, overlined: these are visible on a blank.
_SEEN_ON_BLANKS = {"4", "7", "9", "21", "53"}
# A character, and the codes and the link with which it is shown.
Cell = tuple[str, frozenset[str]]


class Screen:
    """Fed with bytes or text. `cells` are by line and column, without those that were never written."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], Cell] = {}
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._left = ""
        self._x = self._y = 0
        self._region: range | None = None
        self._ink: dict[str, str] = {}
        self._link = ""

    @property
    def text(self) -> str:
        """The lines, without blanks at their ends."""
        lines: dict[int, list[str]] = {}
        for (y, x), (character, _) in sorted(self.cells.items()):
            line = lines.setdefault(y, [])
            line.extend([" "] * (x - len(line)))
            line.append(character)
        return "\n".join("".join(lines.get(y, ())).rstrip() for y in range(max(lines, default=-1) + 1))

    def feed(self, data: bytes | str) -> None:
        text = self._left + (data if isinstance(data, str) else self._decoder.decode(data))
        end = 0
        for match in _PIECE.finditer(text):
            if match.start() != end:
                break
            end = match.end()
            codes, command, link, character = match.groups()
            if command is not None:
                self._do(codes, command)
            elif link is not None:
                self._link = link
            elif character is not None and character >= " ":
                self._put(character)
        # The beginning of a sequence whose end has not come yet.
        self._left = text[end:]

    def _do(self, codes: str, command: str) -> None:
        if command == "H":
            line, _, column = codes.partition(";")
            self._y, self._x = int(line or 1) - 1, int(column or 1) - 1
        elif command == "J":
            self.cells.clear()
        elif command == "r":
            top, _, bottom = codes.partition(";")
            self._region = range(int(top or 1) - 1, int(bottom)) if bottom else None
            self._x = self._y = 0
        elif command == "C":
            self._x += int(codes or 1)
        elif command == "X":
            x = self._x
            for _ in range(int(codes or 1)):
                self._put(" ")
            self._x = x
        elif command in "ML":
            self._move(int(codes or 1) * (1 if command == "M" else -1))
        elif command == "m":
            self._colour([each for each in codes.split(";") if each] or ["0"])

    def _move(self, by: int) -> None:
        """Delete lines at the cursor, or insert them: those below it in the region move up, or down."""
        assert self._region is not None
        moving = range(self._y, self._region.stop)
        there = {place: self.cells.pop(place) for place in list(self.cells) if place[0] in moving}
        self.cells |= {(y - by, x): cell for (y, x), cell in there.items() if y - by in moving}

    def _put(self, character: str) -> None:
        ink = frozenset(self._ink.values())
        if character == " " and not ink & _SEEN_ON_BLANKS:
            # Two blanks on the same background look the same.
            ink = frozenset(self._ink[kind] for kind in ("48",) if kind in self._ink)
        elif self._link:
            ink |= {self._link}
        width = cell_len(character)
        if width == 0:
            self._combine(character, ink)
        if width:
            self._halve(self._x, self._x + width)
        for offset in range(width):
            self.cells[self._y, self._x + offset] = ("" if offset else character, ink)
        self._x += width

    def _halve(self, start: int, end: int) -> None:
        """Blank the rest of a wide character that is partly overwritten."""
        for edge, other in ((start, start - 1), (end, end)):
            cell = self.cells.get((self._y, edge))
            if cell is not None and cell[0] == "":
                self.cells[self._y, other] = (" ", cell[1])

    def _combine(self, character: str, ink: frozenset[str]) -> None:
        before = self._x - 1
        while before > 0 and self.cells.get((self._y, before), (" ", ink))[0] == "":
            before -= 1
        base = self.cells.get((self._y, before))
        if base is not None:
            self.cells[self._y, before] = (base[0] + character, ink)

    def _colour(self, codes: Sequence[str]) -> None:
        left = list(codes)
        while left:
            code = left.pop(0)
            if code == "0":
                self._ink = {}
            elif code in ("38", "48"):
                long = 4 if left[:1] == ["2"] else 2
                self._ink[code] = ";".join([code, *left[:long]])
                del left[:long]
            else:
                self._ink[_kind(int(code))] = code


def _kind(code: int) -> str:
    """Codes of one kind replace each other."""
    if code in (*range(30, 38), 39, *range(90, 98)):
        return "38"
    return "48" if code in (*range(40, 48), 49, *range(100, 108)) else str(code)

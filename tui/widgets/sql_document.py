"""The lines of the editor's text: they end where a statement's do, and no sign in them becomes another."""

from __future__ import annotations

from textual.document._document import Document, EditResult, Location

# Python ends lines at these as well, and Textual goes by that: a text in quotes would be torn in two.
_NO_LINE_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"
# For as long as lines are told apart these stand for them: no text has them, they are no characters.
_STAND_INS = "".join(chr(0xFDD0 + number) for number in range(len(_NO_LINE_ENDS)))
_AWAY = str.maketrans(_NO_LINE_ENDS, _STAND_INS)
_BACK = str.maketrans(_STAND_INS, _NO_LINE_ENDS)


class SqlDocument(Document):
    """Lines end at a line feed, a carriage return or both."""

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        result = super().replace_range(start, end, text.translate(_AWAY))
        new = slice(min(start, end)[0], result.end_location[0] + 1)
        self._lines[new] = [line.translate(_BACK) for line in self._lines[new]]
        return result

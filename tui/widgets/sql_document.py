"""The lines of the editor's text. They end only at line feeds and carriage returns, as in a statement."""

from __future__ import annotations

from textual.document._document import Document, EditResult, Location

# Python's `splitlines` also ends lines at these, and Textual uses it: a quoted text would be split in two.
_NO_LINE_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"
# These replace them while Textual splits lines. They are noncharacters of Unicode, which no text contains.
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

"""Replace parts of a statement's text, and map positions in the new text back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` replaces `[start, end)` of the original."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Edited:
    """The edited statement, and the edits, which are in order and do not overlap."""

    sql: str
    edits: tuple[Edit, ...] = ()

    @classmethod
    def of(cls, sql: str, edits: Sequence[Edit]) -> Edited:
        """Apply the edits, which must be in order."""
        pieces, position = [], 0
        for edit in edits:
            pieces += [sql[position : edit.start], edit.text]
            position = edit.end
        return cls("".join(pieces) + sql[position:], tuple(edits))

    def original_position(self, position: int) -> int:
        """Map a position in `sql` to the original; new text maps to the start of the text it replaced."""
        shift = 0
        for edit in self.edits:
            start = edit.start + shift
            if position < start:
                break
            if position < start + len(edit.text):
                return edit.start
            shift += len(edit.text) - (edit.end - edit.start)
        return position - shift

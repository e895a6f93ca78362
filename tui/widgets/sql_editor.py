"""The SQL editor: Textual's text area with highlighting for the words of Spark and Paimon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Document, EditResult, Location, Selection, TextAreaTheme

from paimark.core.text import clean_text
from paimark.core.travel.parse.sql import Piece, piece_of
from paimark.core.travel.parse.tokens import Token, keywords, tokenize
from paimark.tui.keymap import hidden
from paimark.tui.theme import inks

_CLAUSES = (
    ("FOR", "VERSION", "AS", "OF"),
    ("FOR", "SYSTEM_VERSION", "AS", "OF"),
    ("FOR", "TIMESTAMP", "AS", "OF"),
    ("FOR", "SYSTEM_TIME", "AS", "OF"),
    ("VERSION", "AS", "OF"),
    ("TIMESTAMP", "AS", "OF"),
    ("AS", "OF", "TIMESTAMP"),
)
WORDS = keywords(
    """
    SELECT FROM WHERE GROUP ORDER BY HAVING LIMIT OFFSET JOIN LEFT RIGHT FULL INNER OUTER CROSS SEMI
    ANTI ON USING UNION ALL EXCEPT INTERSECT DISTINCT WITH AS AND OR NOT IN IS NULL LIKE BETWEEN CASE
    WHEN THEN ELSE END CAST INSERT INTO OVERWRITE VALUES UPDATE SET DELETE MERGE MATCHED CREATE DROP
    ALTER TABLE VIEW TABLES SHOW DESCRIBE EXPLAIN CALL INTERVAL ASC DESC NULLS FIRST LAST EXISTS LATERAL
    OVER PARTITION ROWS RANGE TRUE FALSE FOR OF VERSION TIMESTAMP SYSTEM_TIME SYSTEM_VERSION
    CURRENT_TIMESTAMP
    """
)

Highlight = tuple[int, int, str]


def highlights(text: str) -> list[Highlight]:
    """(start, end, ink) of the text to colour, in order, none overlapping."""
    words = tokenize(text)
    travelling = _travelling(words)
    spans: list[Highlight] = []
    end = 0
    for index, token in enumerate(words):
        spans += _comment(text, end, token.start)
        end = token.end
        ink = "warn" if index in travelling else _ink(token)
        if ink:
            spans.append((token.start, token.end, ink))
    return spans + _comment(text, end, len(text))


def statement_at(text: str, offset: int) -> tuple[str, int]:
    """The statement around an offset, and its start; semicolons separate them. After the last: the last."""
    ends = [token.end for token in tokenize(text) if token.text == ";" and token.kind == "symbol"]
    pieces: list[tuple[str, int]] = []
    start = 0
    for end in (*ends, len(text)):
        if text[start:end].strip():
            pieces.append((text[start:end], start))
        start = end
    around = [piece for piece in pieces if piece[1] <= offset]
    return (around or pieces or [("", 0)])[-1]


def _ink(token: Token) -> str:
    if token.is_name and "$" in token.text:
        return "warn"
    if token.upper in WORDS:
        return "accent"
    return {"string": "good", "number": "second"}.get(token.kind, "")


def _travelling(words: Sequence[Token]) -> set[int]:
    """The indexes of the words that make up time travel clauses."""
    positions: set[int] = set()
    uppers = tuple(word.upper for word in words)
    for index in range(len(words)):
        for clause in _CLAUSES:
            if uppers[index : index + len(clause)] == clause:
                positions.update(range(index, index + len(clause)))
    return positions


def _comment(text: str, start: int, end: int) -> list[Highlight]:
    """The text between two tokens is a comment unless it is blank."""
    between = text[start:end]
    if not between.strip():
        return []
    start += len(between) - len(between.lstrip())
    return [(start, start + len(between.strip()), "quiet")]


class SqlEditor(TextArea):
    """A text area that highlights by its own tokens, and asks for completions at the caret."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "tab", "complete", "complete", tooltip="complete the name; again: the next one", id="editor.tab"
        ),
        # Textual's own, as in a shell, with ids, so that `?` lists them.
        hidden("editor.undo", "ctrl+z", "undo", "undo in the statement"),
        hidden("editor.redo", "ctrl+y", "redo", "redo in the statement"),
        hidden("editor.start", "home,ctrl+a", "cursor_line_start", "to the start of the line"),
        hidden("editor.end", "end", "cursor_line_end", "to the end of the line"),
        hidden(
            "editor.cut_start",
            "ctrl+u",
            "delete_to_start_of_line",
            "delete the line up to here, or what is selected",
        ),
        hidden(
            "editor.cut_end",
            "ctrl+k",
            "delete_to_end_of_line_or_delete_line",
            "delete the rest of the line, or what is selected",
        ),
        hidden(
            "editor.cut_word", "ctrl+w", "delete_word_left", "delete the word before, or what is selected"
        ),
        hidden("editor.select", "f7", "select_all", "select all"),
    ]

    class Completing(Message):
        """Tab was pressed."""

    def __init__(self) -> None:
        super().__init__(
            theme="css", soft_wrap=True, show_line_numbers=False, compact=True, max_checkpoints=200
        )
        self.document.__class__ = SqlDocument
        self._spans_of: tuple[str, dict[int, list[Highlight]]] = ("\x00", {})
        self._proposal = ""

    def on_mount(self) -> None:
        self.register_theme(TextAreaTheme(name="paimark", cursor_line_style=Style.null()))
        self.theme = "paimark"

    def get_line(self, line_index: int) -> Text:
        # The display has each character cleaned; the statement runs as it was typed.
        parts = self.document.get_line(line_index).split("\t")
        line = Text("\t".join(clean_text(part) for part in parts), end="", no_wrap=True)
        styles = inks(self.app.theme)
        for start, end, ink in self._spans().get(line_index, ()):
            line.stylize(styles[ink], start, end)
        return line

    def load_text(self, text: str) -> None:
        super().load_text(text)
        self.document.__class__ = SqlDocument

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        # While an edit removes lines, Textual calls this with a cursor still behind the last remaining line,
        # which ended the console. The edit then moves the cursor, and calls it again.
        if self.cursor_location[0] >= self.document.line_count:
            return Offset()
        return super().scroll_cursor_visible(center, animate)

    def action_complete(self) -> None:
        self.post_message(self.Completing())

    @property
    def caret(self) -> int:
        return self.offset_of(self.cursor_location)

    def put(self, start: int, text: str) -> None:
        """Replace the text between an offset and the caret."""
        self.replace(text, self.location_of(start), self.cursor_location)
        self.move_cursor(self.location_of(start + len(text)))

    def set_statement(self, text: str) -> None:
        """Replace all text; ctrl+z can undo that."""
        self.replace(text, (0, 0), self.document.end)
        self.move_cursor(self.document.end)

    def propose(self, text: str) -> None:
        """Replace all text by one that is selected: typed or pasted text replaces it."""
        self.set_statement(text)
        self._proposal = self.text
        self.selection = Selection((0, 0), self.document.end)

    @property
    def is_proposal(self) -> bool:
        """Whether the text is a proposal that nobody has touched."""
        return bool(self._proposal) and self.text == self.selected_text == self._proposal

    def accept(self) -> None:
        """Keep the proposal, if there is one: what is typed next is added to it."""
        if self.is_proposal:
            self.move_cursor(self.document.end)

    def action_delete_to_start_of_line(self) -> None:
        if not self._delete_selected():
            super().action_delete_to_start_of_line()

    async def action_delete_to_end_of_line_or_delete_line(self) -> None:
        if not self._delete_selected():
            await super().action_delete_to_end_of_line_or_delete_line()

    def _delete_selected(self) -> bool:
        if self.selection.is_empty:
            return False
        self.action_delete_left()
        return True

    @property
    def to_run(self) -> Piece:
        """The text to run: the selection, else all of it."""
        if not self.selected_text.strip():
            return Piece(self.text, 0)
        start, end = sorted((self.selection.start, self.selection.end))
        return piece_of(self.text, self.offset_of(start), self.offset_of(end))

    @property
    def statement(self) -> tuple[str, int]:
        """The statement at the caret, and its start; the selection, if there is one."""
        chosen = self.selected_text
        if chosen.strip():
            return chosen, self.offset_of(min(self.selection.start, self.selection.end))
        return statement_at(self.text, self.offset_of(self.cursor_location))

    def offset_of(self, location: tuple[int, int]) -> int:
        row, column = location
        lines = self.text.split("\n")
        return sum(len(line) + 1 for line in lines[:row]) + column

    def point_at(self, offset: int) -> None:
        """Put the caret on an offset, such as that of an error."""
        self.move_cursor(self.location_of(offset))

    def location_of(self, offset: int) -> tuple[int, int]:
        before = self.text[: max(0, offset)].split("\n")
        return len(before) - 1, len(before[-1])

    def _spans(self) -> dict[int, list[Highlight]]:
        text = self.text
        if self._spans_of[0] != text:
            self._spans_of = (text, _by_line(text))
        return self._spans_of[1]


def _by_line(text: str) -> dict[int, list[Highlight]]:
    """The highlights split at the ends of lines, with columns instead of offsets."""
    by_line: dict[int, list[Highlight]] = {}
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    row = 0
    for start, end, ink in highlights(text):
        while starts[row + 1] <= start:
            row += 1
        at = row
        while start < end:
            stop = min(end, starts[at + 1] - 1)
            by_line.setdefault(at, []).append((start - starts[at], stop - starts[at], ink))
            start, at = starts[at + 1], at + 1
    return by_line


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

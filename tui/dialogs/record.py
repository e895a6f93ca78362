"""`i`: all fields of a record in full length; `enter` on a cell of data: its whole value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from textual.binding import Binding, BindingType

from paimark.core.figures import counted
from paimark.core.text import clean_text, cut_middle, distinct, width_of
from paimark.tui.dialogs.dialog import SearchedText
from paimark.tui.keymap import hidden
from paimark.tui.messages import Copied
from paimark.tui.theme import Line
from paimark.tui.widgets.detail_strip import Detail, Fact
from paimark.tui.widgets.grid.record_grid import RecordGrid


class RecordScreen(SearchedText):
    """A line for each field, with long values wrapped, and JSON folded or unfolded.

    With `cell` the detail has only one value: it is unfolded at first, and copied unchanged.
    """

    parts = "lines"
    BINDINGS: ClassVar[list[BindingType]] = [
        hidden("record.close", "i,q", "close", "close"),
        Binding("y", "copy", "copy", tooltip="copy all of it: a record as JSON", id="record.copy"),
        Binding("/", "find", "find", tooltip="only lines with these words; !words without", id="record.find"),
        Binding("f", "fold", "fold JSON", tooltip="JSON on one line, or unfolded", id="record.fold"),
    ]

    def __init__(self, detail: Detail, *, cell: bool = False) -> None:
        super().__init__(detail.title)
        self._detail = detail
        self._is_cell = self._is_unfolded = cell

    def show(self, detail: Detail) -> None:
        """Show more facts about the same record; other records are ignored."""
        is_same = (detail.key, detail.title) == (self._detail.key, self._detail.title)
        if is_same and detail.facts and detail.facts != self._detail.facts and not self._is_cell:
            self._detail = detail
            self._show()

    def _show(self) -> None:
        lines = paragraphs(self._detail.facts, unfold=self._is_unfolded, words=self._words)
        matches = f": {counted(len(lines), 'line')} with /{self._words}" if self._words else ""
        self.retitle(f"{self._detail.title}{matches}")
        self.show_text(self._text, lines or [[(f"Nothing here matches /{self._words}", "quiet")]])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "fold" or any(is_foldable(each.text) for each in self._detail.facts)

    def action_fold(self) -> None:
        self._is_unfolded = not self._is_unfolded
        self._show()

    def action_copy(self) -> None:
        text = self._detail.facts[0].text if self._is_cell else as_json(self._detail)
        self.app.post_message(Copied(text))


def as_json(detail: Detail) -> str:
    """The fields as JSON. Of two columns with the same name the later one gets a number."""
    from paimark.core.export.json_rows import json_text, plain

    names = distinct([each.name for each in detail.facts])
    values = [each.text if each.value is ... else each.value for each in detail.facts]
    return json_text(dict(zip(names, map(plain, values), strict=True)), indent=2)


def cell_of(grid: RecordGrid) -> RecordScreen | None:
    """The screen of the value under the cursor of a grid with cells; None if it is on none."""
    row, column = grid.index, grid.column
    if row is None or column is None:
        return None
    value, title = grid.source.row(row)[column], grid.columns[column].title
    return RecordScreen(Detail(f"{title} of row {row + 1}", (Fact.cell(title, value),)), cell=True)


def row_of(grid: RecordGrid) -> Detail | None:
    """The row of data under the cursor of a grid; None if it is on none."""
    if (index := grid.index) is None:
        return None
    named = zip(grid.columns, grid.source.row(index), strict=True)
    return Detail(f"row {index + 1}", tuple(Fact.cell(column.title, value) for column, value in named))


WIDEST_NAME = 28


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


def paragraphs(facts: Sequence[Fact], *, unfold: bool, words: str = "") -> list[Line]:
    """A line for each field, its name first; an unfolded field has more lines, its name before the first.

    `words` keeps the lines that contain all of them, ignoring case, in the name or the value; with `!` in
    front those that don't.
    """
    room = min(WIDEST_NAME, max((width_of(clean_text(each.name)) for each in facts), default=0))
    lines: list[Line] = []
    for name, value, _ in facts:
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

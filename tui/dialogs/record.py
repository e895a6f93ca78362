"""`i`: everything about one record, as long as it is."""

from __future__ import annotations

import json
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from core.cells import width_of
from core.text import clean_text
from tui.dialogs.dialog import Dialog
from tui.keymap import hidden
from tui.messages import Copied
from tui.theme import Line
from tui.widgets.detail_strip import Detail
from tui.widgets.grid.scroll_lines import ScrollLines
from tui.widgets.key_bar import KeyBar

_WIDEST_NAME = 28


class RecordScreen(Dialog[None]):
    """A fact a line, long values wrapped."""

    BINDINGS: ClassVar[list[BindingType]] = [
        hidden("record.close", "i,q", "close", "close"),
        Binding("y", "copy", "copy as JSON", id="record.copy"),
    ]

    def __init__(self, detail: Detail) -> None:
        super().__init__()
        self._detail = detail
        self._text = ScrollLines()

    def compose(self) -> ComposeResult:
        with self.framed(self._detail.title):
            yield self._text
            yield KeyBar()

    def show(self, detail: Detail) -> None:
        """The same record, of which more is known now."""
        is_same = (detail.key, detail.title) == (self._detail.key, self._detail.title)
        if is_same and detail.facts and detail.facts != self._detail.facts:
            self._detail = detail
            self._show()

    def on_mount(self) -> None:
        self._show()
        self.set_focus(self._text)

    def _show(self) -> None:
        self.show_text(self._text, _paragraphs(self._detail))

    def action_copy(self) -> None:
        self.app.post_message(Copied(as_json(self._detail)))


def as_json(detail: Detail) -> str:
    return json.dumps(dict(detail.facts), indent=2, ensure_ascii=False)


def _paragraphs(detail: Detail) -> list[Line]:
    facts = [(clean_text(name), clean_text(value)) for name, value in detail.facts]
    room = min(_WIDEST_NAME, max((width_of(name) for name, _ in facts), default=0))
    return [[(name.ljust(room) + "  ", "quiet"), (value, "")] for name, value in facts]

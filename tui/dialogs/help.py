"""`?`: the keys, generated from the bindings, so that the page can't be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from paimark.tui.dialogs.dialog import SearchedText
from paimark.tui.dialogs.record import matches
from paimark.tui.keymap import hidden
from paimark.tui.theme import Line
from paimark.tui.widgets.key_bar import written

_KEYS_WIDTH = 20
_END: list[Line] = [
    [("", "")],
    [("Tab and shift+tab go from part to part. Nothing is changed without a plan first.", "quiet")],
]
# A title, and the bindings below it.
KeySection = tuple[str, Sequence[BindingType]]


class HelpScreen(SearchedText):
    """Sections of keys. `is_whole` tells whether they are those of the console, and not of a dialog only."""

    parts = "keys"
    BINDINGS: ClassVar[list[BindingType]] = [
        hidden("help.close", "question_mark,f1,q", "close", "close"),
        Binding("/", "find", "find", tooltip="only keys with these words; !words without", id="help.find"),
    ]

    def __init__(self, sections: Sequence[KeySection], *, is_whole: bool) -> None:
        super().__init__("Keys")
        self._sections = sections
        self._end = _END if is_whole else []

    def _show(self) -> None:
        lines = _page(self._sections, self._words) + ([] if self._words else self._end)
        self.show_text(self._text, lines or [[(f"No key matches /{self._words}", "quiet")]])


def _page(sections: Sequence[KeySection], words: str) -> list[Line]:
    """The sections with the keys that match, as in `matches`, by key, effect or section."""
    lines: list[Line] = []
    for title, bindings in sections:
        keys = [binding for binding in bindings if isinstance(binding, Binding)]
        texts = [f"{title}\0{each.key}\0{each.description}\0{each.tooltip}" for each in keys]
        found = [_line(each) for each, text in zip(keys, texts, strict=True) if matches(text, words)]
        if found:
            lines += [[("", "")], [(title, "title")]] if lines else [[(title, "title")]]
            lines += found
    return lines


def _line(binding: Binding) -> Line:
    keys = "  ".join(written(key.strip()) for key in binding.key.split(","))
    return [(f"  {keys}  ".ljust(_KEYS_WIDTH), "accent"), (binding.tooltip or binding.description, "")]

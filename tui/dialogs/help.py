"""`?`: the keys, generated from the bindings, so that the page can't be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.keymap import hidden
from paimark.tui.theme import Line
from paimark.tui.widgets.grid.scroll_lines import ScrollLines
from paimark.tui.widgets.key_bar import KeyBar, written

_KEYS_WIDTH = 20
_END: list[Line] = [
    [("", "")],
    [("Tab and shift+tab go from part to part. Nothing is changed without a plan first.", "quiet")],
]
# A title, and the bindings below it.
KeySection = tuple[str, Sequence[BindingType]]


class HelpScreen(Dialog[None]):
    """Sections of keys. `is_whole` tells whether they are those of the console, and not of a dialog only."""

    BINDINGS: ClassVar[list[BindingType]] = [hidden("help.close", "question_mark,f1,q", "close", "close")]

    def __init__(self, sections: Sequence[KeySection], *, is_whole: bool) -> None:
        super().__init__()
        self._lines = _page(sections) + (_END if is_whole else [])
        self._text = ScrollLines()

    def compose(self) -> ComposeResult:
        with self.framed("Keys"):
            yield self._text
            yield KeyBar()

    def on_mount(self) -> None:
        self.show_text(self._text, self._lines)
        self.set_focus(self._text)


def _page(sections: Sequence[KeySection]) -> list[Line]:
    lines: list[Line] = []
    for title, bindings in sections:
        lines += [[("", "")], [(title, "title")]] if lines else [[(title, "title")]]
        lines += [_line(binding) for binding in bindings if isinstance(binding, Binding)]
    return lines


def _line(binding: Binding) -> Line:
    keys = "  ".join(written(key.strip()) for key in binding.key.split(","))
    return [(f"  {keys}  ".ljust(_KEYS_WIDTH), "accent"), (binding.tooltip or binding.description, "")]

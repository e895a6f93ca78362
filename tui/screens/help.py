"""`?`: the keys, generated from the bindings by the place where they apply, so that it can't be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.screen import Screen

from paimark.tui.dialogs.dialog import Dialog, SearchedText
from paimark.tui.dialogs.record import matches
from paimark.tui.keymap import hidden
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.panes.tables import TablesPane
from paimark.tui.screens.browse_keys import BROWSE, keys_of_tabs
from paimark.tui.tabs import Tab
from paimark.tui.theme import Line
from paimark.tui.widgets.grid.record_grid import RecordGrid
from paimark.tui.widgets.key_bar import written


def dialog_sections(screen: Screen[Any]) -> list[KeySection]:
    """For a dialog its own keys, and those of rows if a grid has the focus; for other screens nothing."""
    if not isinstance(screen, Dialog):
        return []
    active = [each for each in screen.active_bindings.values() if each.node is screen and each.enabled]
    here: dict[str, Binding] = {}
    for binding in (each.binding for each in active):
        # A binding with several keys is in the list once for each; Textual's own have no id.
        if binding.id:
            known = here.get(binding.id)
            here[binding.id] = replace(binding, key=f"{known.key},{binding.key}") if known else binding
    in_rows = isinstance(screen.focused, RecordGrid)
    return [("Here", [*here.values()]), *([("In rows", RecordGrid.BINDINGS)] if in_rows else [])]


def key_sections(everywhere: Sequence[BindingType], here: Tab | None = None) -> list[KeySection]:
    """All sections. `everywhere` are the application's bindings; the section of the tab `here` is first."""
    sections = [
        ("Everywhere: each change shows its plan first", [*BROWSE, *everywhere]),
        ("In rows", RecordGrid.BINDINGS),
        ("On a snapshot, savepoint, branch or tag", RecordPane.BINDINGS),
        ("Tables", TablesPane.BINDINGS),
        *((tab.title, keys) for tab, keys in keys_of_tabs().items()),
    ]
    return sorted(sections, key=lambda section: here is None or section[0] != here.title)


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

"""`?`: the keys, read from the bindings themselves, so that this page can't be wrong."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tui.dialogs.dialog import Dialog
from tui.widgets.grid.scroll_lines import ScrollLines
from tui.widgets.key_bar import KeyBar, written
from tui.widgets.lines import Line

_KEYS_WIDTH = 20


class HelpScreen(Dialog[None]):
    """Sections of keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,q", "close", "close", show=False, id="help.close")
    ]

    def __init__(self) -> None:
        super().__init__()
        self._text = ScrollLines()

    def compose(self) -> ComposeResult:
        with self.framed("Keys"):
            yield self._text
            yield KeyBar()

    def on_mount(self) -> None:
        self.show_text(self._text, _sections())
        self.set_focus(self._text)


def _sections() -> list[Line]:
    from tui.console import Console
    from tui.panes.branches import BranchesPane
    from tui.panes.query import QueryPane
    from tui.panes.record_pane import RecordPane
    from tui.panes.schema import SchemaPane
    from tui.panes.tables import TablesPane
    from tui.screens.browse import BrowseScreen
    from tui.widgets.grid.record_grid import RecordGrid
    from tui.widgets.sql_editor import SqlEditor

    sections: list[tuple[str, list[BindingType]]] = [
        ("Everywhere", [*BrowseScreen.BINDINGS, *Console.BINDINGS]),
        ("In rows", RecordGrid.BINDINGS),
        ("On a snapshot, savepoint, branch or tag", RecordPane.BINDINGS),
        ("Branches", BranchesPane.BINDINGS),
        ("Schema", SchemaPane.BINDINGS),
        ("Tables", TablesPane.BINDINGS),
        ("Query", [*QueryPane.BINDINGS, *SqlEditor.BINDINGS]),
    ]
    lines: list[Line] = []
    for title, bindings in sections:
        lines += [[("", "")], [(title, "title")]] if lines else [[(title, "title")]]
        lines += [_line(binding) for binding in bindings if isinstance(binding, Binding)]
    lines += [
        [("", "")],
        [("Tab and shift+tab go from part to part. Nothing is changed without a plan first.", "quiet")],
    ]
    return lines


def _line(binding: Binding) -> Line:
    keys = "  ".join(written(key.strip()) for key in binding.key.split(","))
    return [(f"  {keys}".ljust(_KEYS_WIDTH), "accent"), (binding.tooltip or binding.description, "")]

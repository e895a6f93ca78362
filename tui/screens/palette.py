"""`:` and `ctrl+p`: anything by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from tui.screens.dialog import Dialog
from tui.sources import Column, Records
from tui.widgets.record_grid import RecordGrid

_LOOK_AGAIN_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Entry:
    """`run` is called after the palette has closed; what it gives back is awaited where that is needed."""

    name: str
    what: str
    keys: str
    run: Callable[[], object]

    def values(self) -> Sequence[object]:
        return (self.name, self.what, self.keys)


class PaletteScreen(Dialog[Entry]):
    """Type to narrow; Enter runs what the cursor is on."""

    DEFAULT_CSS = """
    PaletteScreen { align: center top; }
    PaletteScreen > Vertical { height: 60%; margin-top: 1; }
    PaletteScreen Input { height: 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,ctrl+k", "move(-1)", "up", show=False, id="palette.up"),
        Binding("down,ctrl+j", "move(1)", "down", show=False, id="palette.down"),
        Binding("pageup", "move(-10)", "page up", show=False, id="palette.page_up"),
        Binding("pagedown", "move(10)", "page down", show=False, id="palette.page_down"),
    ]

    def __init__(self, offered: Callable[[], Sequence[Entry]]) -> None:
        super().__init__()
        self._offered = offered
        self._all = self._entries = offered()
        self._grid = RecordGrid(
            [Column("", style="accent", most=36), Column("", most=60), Column("", style="quiet")], head=False
        )
        self._grid.can_focus = False
        self._input = Input(placeholder="an action, a pane or a table", compact=True)

    def compose(self) -> ComposeResult:
        with self.framed("Go to, or do"):
            yield self._input
            yield self._grid

    def on_mount(self) -> None:
        self._grid.show(Records(self._entries, Entry.values), note="Nothing of that name.")
        self.set_focus(self._input)
        self.set_interval(_LOOK_AGAIN_SECONDS, self._look_again)

    def on_input_changed(self) -> None:
        self._show_matching()

    def _look_again(self) -> None:
        """Tables of a big warehouse may still be listed."""
        found = self._offered()
        if len(found) != len(self._all):
            self._all = found
            self._show_matching()

    def _show_matching(self) -> None:
        # What is called so comes before what only speaks of it.
        typed = self._input.value.strip().lower()
        self._entries = sorted(self._all, key=lambda entry: not entry.name.lower().startswith(typed))
        self._grid.show(Records(self._entries, Entry.values))
        self._grid.filter(self._input.value, to_top=True)

    def on_input_submitted(self) -> None:
        index = self._grid.index
        if index is not None:
            self.dismiss(self._entries[index])

    def action_move(self, rows: int) -> None:
        self._grid.move_to(self._grid.cursor + rows)

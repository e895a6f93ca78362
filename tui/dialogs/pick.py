"""The base of dialogs in which one types to narrow a list, and takes one of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input

from tui.dialogs.dialog import Dialog
from tui.keymap import steps
from tui.records.sources import GridColumn
from tui.widgets.grid.record_grid import RecordGrid

Picked = TypeVar("Picked")


class PickDialog(Dialog[Picked]):
    """The keys go to the line; up and down move in the list."""

    DEFAULT_CSS = """
    PickDialog > Vertical { height: 80%; }
    PickDialog Input { height: 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = steps("pick", "move", up="up,ctrl+k", down="down,ctrl+j")

    def __init__(
        self, title: str, placeholder: str, columns: Sequence[GridColumn], *, head: bool = True
    ) -> None:
        super().__init__()
        self._title = title
        self._input = Input(placeholder=placeholder, compact=True)
        self._grid = RecordGrid(columns, head=head)
        self._grid.can_focus = False

    def compose(self) -> ComposeResult:
        with self.framed(self._title):
            yield self._input
            yield self._grid

    def on_mount(self) -> None:
        self.set_focus(self._input)

    def action_move(self, rows: int) -> None:
        self._grid.move_to(self._grid.cursor + rows)

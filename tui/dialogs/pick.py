"""The base of dialogs with a list: typing filters it, and Enter chooses a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input

from tui.dialogs.dialog import Dialog
from tui.keymap import steps
from tui.records.sources import GridColumn, Records
from tui.widgets.clean_input import CleanInput
from tui.widgets.grid.record_grid import RecordGrid

Picked = TypeVar("Picked")


class PickDialog(Dialog[Picked]):
    """The input has the focus; up and down move in the list."""

    DEFAULT_CSS = """
    PickDialog > Vertical { height: 80%; }
    PickDialog Input { height: 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = steps("pick", "move", up="up,ctrl+k", down="down,ctrl+j")

    def __init__(
        self, title: str, line: str | Input, columns: Sequence[GridColumn], *, head: bool = True
    ) -> None:
        """`line` is the input, or its placeholder."""
        super().__init__()
        self._title = title
        self._input = line if isinstance(line, Input) else CleanInput(placeholder=line, compact=True)
        self._grid = RecordGrid(columns, head=head, only_words=True)
        self._grid.can_focus = False

    def compose(self) -> ComposeResult:
        with self.framed(self._title):
            yield self._input
            yield self._grid

    def on_mount(self) -> None:
        self.set_focus(self._input)

    def action_move(self, rows: int) -> None:
        self._grid.move_to(self._grid.cursor + rows)


class PickOne(PickDialog[Picked]):
    """Choose one of a few values by its label."""

    def __init__(self, title: str, placeholder: str, choices: Mapping[str, Picked]) -> None:
        super().__init__(title, placeholder, (GridColumn("", most=80),), head=False)
        self._choices = choices
        self._labels = list(choices)

    def on_mount(self) -> None:
        self._grid.show(Records(self._labels, lambda label: (label,)), note="Nothing of that name.")

    def on_input_changed(self, event: Input.Changed) -> None:
        self._grid.filter(event.value, to_top=True)

    def on_input_submitted(self) -> None:
        if (index := self._grid.index) is not None:
            self.dismiss(self._choices[self._labels[index]])

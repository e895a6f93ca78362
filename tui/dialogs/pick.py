"""The base of dialogs with a list: typing filters it, and Enter chooses a row. Also that of `ctrl+o`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypeVar

from textual.binding import BindingType
from textual.widgets import Input

from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.keymap import steps
from paimark.tui.query.drafts import QueryExecution
from paimark.tui.records.sources import GridColumn, Records, values_by
from paimark.tui.widgets.clean_input import CleanInput
from paimark.tui.widgets.grid.record_grid import RecordGrid

Picked = TypeVar("Picked")


class PickDialog(Dialog[Picked]):
    """The input has the focus; up and down move in the list."""

    DEFAULT_CSS = """
    PickDialog > Vertical { height: 80%; }
    PickDialog Input { height: 1; background: $surface; }
    """
    HAS_BAR: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = steps("pick", "move", up="up,ctrl+k", down="down,ctrl+j")

    def __init__(
        self, title: str, line: str | Input, columns: Sequence[GridColumn], *, head: bool = True
    ) -> None:
        """`line` is the input, or its placeholder."""
        self._input = line if isinstance(line, Input) else CleanInput(placeholder=line, compact=True)
        self._grid = RecordGrid(columns, head=head, only_words=True)
        self._grid.can_focus = False
        super().__init__(title, self._input, self._grid)

    def on_mount(self) -> None:
        self.set_focus(self._input)

    def action_move(self, rows: int) -> None:
        self._grid.move_to(self._grid.cursor + rows)

    def _look_for(self, typed: str, name: Callable[[int], str]) -> None:
        """Filter the list, and go to the row whose name is the text, else to one whose name begins with it.

        `name` gives the name of a row by its index in the source.
        """
        self._grid.filter(typed, to_top=True)
        if not self._grid.is_filtering:
            shown = [name(self._grid.view.index(place)) for place in range(self._grid.count)]
            self._grid.move_to(_nearest(shown, typed))


class PickOne(PickDialog[Picked]):
    """Choose one of a few values by its label."""

    def __init__(self, title: str, placeholder: str, choices: Mapping[str, Picked]) -> None:
        super().__init__(title, placeholder, (GridColumn("", most=80),), head=False)
        self._choices = choices
        self._labels = list(choices)

    def on_mount(self) -> None:
        self._grid.show(Records(self._labels, lambda label: (label,)), note="Nothing of that name.")

    def on_input_changed(self, event: Input.Changed) -> None:
        self._look_for(event.value, self._labels.__getitem__)

    def on_input_submitted(self) -> None:
        if (index := self._grid.index) is not None:
            self.dismiss(self._choices[self._labels[index]])


def _nearest(names: Sequence[str], typed: str) -> int:
    """The place of the first name that is the text, else of one that begins with it, else of the first."""
    text = typed.strip().casefold()
    folded = [name.casefold() for name in names]
    ranks = [(name != text, not name.startswith(text)) for name in folded]
    return min(range(len(names)), key=ranks.__getitem__, default=0)


_COLUMNS = (
    GridColumn("when", "age", "quiet", of=lambda ran: ran.time),
    GridColumn("what came of it", style="quiet", most=24, of=lambda ran: ran.outcome),
    GridColumn("statement", most=400, of=lambda ran: ran.sql),
)


class HistoryScreen(PickDialog[str]):
    """Enter puts the statement into the editor."""

    def __init__(self, ran: Sequence[QueryExecution]) -> None:
        super().__init__("Statements run before", "words of the statement", _COLUMNS)
        self._ran = ran

    def on_mount(self) -> None:
        self._grid.show(Records(self._ran, values_by(_COLUMNS)), note="Nothing was run yet.")

    def on_input_changed(self, event: Input.Changed) -> None:
        self._grid.filter(event.value, to_top=True)

    def on_input_submitted(self) -> None:
        index = self._grid.index
        if index is not None:
            self.dismiss(self._ran[index].sql)

"""`ctrl+o`: statements run before, to be run again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from tui.dialogs.dialog import Dialog
from tui.query.history import QueryExecution
from tui.records.sources import GridColumn, Records
from tui.widgets.grid.record_grid import RecordGrid


class HistoryScreen(Dialog[str]):
    """Type to narrow; Enter puts the statement into the editor."""

    DEFAULT_CSS = """
    HistoryScreen > Vertical { height: 80%; }
    HistoryScreen Input { height: 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", show=False, id="history.up"),
        Binding("down", "move(1)", "down", show=False, id="history.down"),
        Binding("pageup", "move(-10)", "page up", show=False, id="history.page_up"),
        Binding("pagedown", "move(10)", "page down", show=False, id="history.page_down"),
    ]

    def __init__(self, ran: Sequence[QueryExecution]) -> None:
        super().__init__()
        self._ran = ran
        self._input = Input(placeholder="words of the statement", compact=True)
        self._grid = RecordGrid(
            [
                GridColumn("when", "age", "quiet"),
                GridColumn("what came of it", style="quiet", most=24),
                GridColumn("statement", most=400),
            ]
        )
        self._grid.can_focus = False

    def compose(self) -> ComposeResult:
        with self.framed("Statements run before"):
            yield self._input
            yield self._grid

    def on_mount(self) -> None:
        self._grid.show(Records(self._ran, _values), note="Nothing was run yet.")
        self.set_focus(self._input)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._grid.filter(event.value, to_top=True)

    def on_input_submitted(self) -> None:
        index = self._grid.index
        if index is not None:
            self.dismiss(self._ran[index].sql)

    def action_move(self, rows: int) -> None:
        self._grid.move_to(self._grid.cursor + rows)


def _values(ran: QueryExecution) -> Sequence[object]:
    return (ran.time, ran.outcome, ran.sql)

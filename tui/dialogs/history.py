"""`ctrl+o`: earlier statements, to run one again."""

from __future__ import annotations

from collections.abc import Sequence

from textual.widgets import Input

from paimark.tui.dialogs.pick import PickDialog
from paimark.tui.query.drafts import QueryExecution
from paimark.tui.records.sources import GridColumn, Records

_COLUMNS = (
    GridColumn("when", "age", "quiet"),
    GridColumn("what came of it", style="quiet", most=24),
    GridColumn("statement", most=400),
)


class HistoryScreen(PickDialog[str]):
    """Enter puts the statement into the editor."""

    def __init__(self, ran: Sequence[QueryExecution]) -> None:
        super().__init__("Statements run before", "words of the statement", _COLUMNS)
        self._ran = ran

    def on_mount(self) -> None:
        self._grid.show(Records(self._ran, _values), note="Nothing was run yet.")

    def on_input_changed(self, event: Input.Changed) -> None:
        self._grid.filter(event.value, to_top=True)

    def on_input_submitted(self) -> None:
        index = self._grid.index
        if index is not None:
            self.dismiss(self._ran[index].sql)


def _values(ran: QueryExecution) -> Sequence[object]:
    return (ran.time, ran.outcome, ran.sql)

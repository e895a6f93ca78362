"""`L`: the log of actions, reads and errors, newest last."""

from __future__ import annotations

from collections import deque

import msgspec
from textual.app import ComposeResult

from paimark.tui.records.sources import GridColumn, Records, values_by
from paimark.tui.widgets.frame import Frame
from paimark.tui.widgets.grid.record_grid import RecordGrid

KEPT = 2000
# How often the visible pane checks for new lines.
_LOOK_SECONDS = 0.5
_SIGNS = {"good": "done", "warn": "note", "bad": "error"}


class LogLine(msgspec.Struct, frozen=True):
    time_ms: int
    text: str
    ink: str


# The lines. They are kept also while the pane is closed.
Log = deque[LogLine]


_COLUMNS = (
    GridColumn("time", "time", "quiet", of=lambda line: line.time_ms),
    GridColumn("", style="warn", of=lambda line: _SIGNS.get(line.ink)),
    GridColumn("log", most=400, of=lambda line: line.text),
)


class LogPane(Frame):
    """It scrolls to the newest line unless the cursor was moved up."""

    def __init__(self, log: Log) -> None:
        super().__init__("Log", "log")
        self._log = log
        self._newest: LogLine | None = None
        self.grid = RecordGrid(_COLUMNS)

    def compose(self) -> ComposeResult:
        yield self.grid

    def on_mount(self) -> None:
        self.update_lines()
        self.set_interval(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        if self._log and self._log[-1] is not self._newest:
            self.update_lines()

    def update_lines(self) -> None:
        at_end = self.grid.cursor >= self.grid.count - 1
        lines = list(self._log)
        self._newest = lines[-1] if lines else None
        self.grid.show(Records(lines, values_by(_COLUMNS), id), note="Nothing happened yet.")
        if at_end:
            self.grid.action_last()

    def on_record_grid_moved(self, event: RecordGrid.Moved) -> None:
        event.stop()

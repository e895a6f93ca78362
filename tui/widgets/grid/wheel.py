"""The wheel of the mouse moves the cursor of the rows below it."""

from __future__ import annotations

from typing import Any

from textual.events import MouseEvent
from textual.screen import Screen

from tui.widgets.grid.record_grid import RecordGrid

# So far the cursor goes with one click of the wheel.
_ROWS = 3


def turn_wheel(screen: Screen[Any], event: MouseEvent, *, down: bool) -> None:
    """Move it, if there are rows where the mouse is."""
    widget, _ = screen.get_widget_at(event.screen_x, event.screen_y)
    if isinstance(widget, RecordGrid):
        widget.action_move(_ROWS if down else -_ROWS)

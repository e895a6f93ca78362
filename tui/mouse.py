"""The mouse, if it is on: a click has the effect of the key for the thing under the pointer.

The wheel moves the cursor of rows, or scrolls a long text. Nothing needs the mouse. Other clicks do nothing.
"""

from __future__ import annotations

from textual import events
from textual.app import App
from textual.keys import key_to_character
from textual.widget import Widget

from paimark.tui.widgets.grid.record_grid import RecordGrid
from paimark.tui.widgets.grid.scroll_lines import ScrollLines
from paimark.tui.widgets.key_bar import KeyBar
from paimark.tui.widgets.tab_bar import TabBar

# The rows or lines for one step of the wheel.
_ROWS = 3
# The terminal's number of the button.
LEFT = 1

# A widget, and its row, tab or key under the pointer.
Pointed = tuple[Widget | None, int | str | None]


class TakesMouse(App[None]):
    """Handles clicks on rows, tabs and the keys of the bottom line; buttons handle their own."""

    # The target of the last press of a button, and of the press before.
    _down: Pointed = (None, None)
    _before: Pointed = (None, None)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._turn(event, _ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._turn(event, -_ROWS)

    def _turn(self, event: events.MouseEvent, rows: int) -> None:
        widget, _ = self.screen.get_widget_at(event.screen_x, event.screen_y)
        if isinstance(widget, RecordGrid):
            widget.action_move(rows)
        elif isinstance(widget, ScrollLines):
            widget.action_scroll(rows)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._before, self._down = self._down, self._pointed_at(event)

    async def on_click(self, event: events.Click) -> None:
        pressed, is_second = self._pointed_at(event), event.chain > 1
        if event.button != LEFT or pressed != self._down or (is_second and pressed != self._before):
            # The click was meant for an earlier target, such as the button of a dialog that it closed.
            return
        match pressed:
            case RecordGrid() as grid, int(place):
                await self._click_row(grid, place, is_second=is_second)
            case TabBar(), int(tab):
                await self.run_action(f"tab({tab})", self.screen)
            case KeyBar(), str(key):
                await self._press(key)

    def _pointed_at(self, event: events.MouseEvent) -> Pointed:
        widget, region = self.screen.get_widget_at(event.screen_x, event.screen_y)
        x, y = int(event.screen_x) - region.x, int(event.screen_y) - region.y
        if isinstance(widget, RecordGrid):
            return widget, widget.place_at(y)
        if isinstance(widget, TabBar):
            return widget, widget.tab_at(x)
        return widget, (widget.key_at(x) or None) if isinstance(widget, KeyBar) else None

    async def _click_row(self, grid: RecordGrid, place: int, *, is_second: bool) -> None:
        if not is_second:
            grid.move_to(place)
        elif place == grid.cursor:
            await self._press("enter")

    async def _press(self, key: str) -> None:
        """Handle the key now: the second click of a double one must find the screen as the key leaves it."""
        await self.on_event(events.Key(key, key_to_character(key)))

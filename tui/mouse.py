"""The mouse, for who has it on: a click is the key that does what it points at.

The wheel moves the cursor of rows, or a long text. Nothing can be done by the mouse alone, and a click beside
everything does nothing.
"""

from __future__ import annotations

from textual import events
from textual.app import App
from textual.keys import key_to_character

from tui.widgets.grid.record_grid import RecordGrid
from tui.widgets.grid.scroll_lines import ScrollLines
from tui.widgets.key_bar import KeyBar
from tui.widgets.tab_bar import TabBar

# So many rows or lines with one click of the wheel.
_ROWS = 3


class TakesMouse(App[None]):
    """Rows, tabs and the keys of the bottom line; buttons take their own clicks."""

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

    async def on_click(self, event: events.Click) -> None:
        widget, region = self.screen.get_widget_at(event.screen_x, event.screen_y)
        x, y = int(event.screen_x) - region.x, int(event.screen_y) - region.y
        if isinstance(widget, RecordGrid) and (place := widget.place_at(y)) is not None:
            self._click_row(widget, place, is_double=event.chain == 2)
        elif isinstance(widget, TabBar) and (tab := widget.tab_at(x)) is not None:
            await self.run_action(f"tab({tab})", self.screen)
        elif isinstance(widget, KeyBar) and (key := widget.key_at(x)):
            self._press(key)

    def _click_row(self, grid: RecordGrid, place: int, *, is_double: bool) -> None:
        if is_double and place == grid.cursor:
            self._press("enter")
        else:
            grid.move_to(place)

    def _press(self, key: str) -> None:
        self.post_message(events.Key(key, key_to_character(key)))

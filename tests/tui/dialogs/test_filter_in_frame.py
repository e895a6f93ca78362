"""A dialog says in its frame that its rows are filtered."""

from __future__ import annotations

from pathlib import Path

from textual.app import ComposeResult

from tests.tui.driving import at_events
from tui.dialogs.dialog import Dialog
from tui.records.sources import GridColumn, tuples
from tui.widgets.grid.record_grid import RecordGrid


class Listed(Dialog[None]):
    def compose(self) -> ComposeResult:
        grid = RecordGrid([GridColumn("name")])
        with self.framed("three names"):
            yield grid
        grid.show(tuples([("one",), ("t[red]wo",), ("three",)]))
        self.set_focus(grid)


async def test_the_filter_is_in_the_frame_as_long_as_it_hides_rows(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await console.app.push_screen(Listed())
        await console.press("slash", "t", "enter")
        await console.sees("three names", "/t  1 of 2 (3 in all)")
        await console.press("slash", "t", "[", "r", "enter")
        await console.sees("/t[r  1 of 1 (3 in all)")
        await console.press("escape")
        await console.loses("/t[r")
        await console.sees("three names", "one")

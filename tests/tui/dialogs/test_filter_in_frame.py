"""A dialog says in its frame that its rows are filtered."""

from __future__ import annotations

import threading
from pathlib import Path

from paimark.core.errors import Refused
from paimark.core.travel.diff.diff import Difference
from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.dialogs.difference.difference_screen import DifferenceScreen
from paimark.tui.dialogs.difference.page import PageGrid
from paimark.tui.records.sources import GridColumn, tuples
from paimark.tui.widgets.clean_input import FilterLine
from paimark.tui.widgets.grid.record_grid import RecordGrid
from tests.tui.driving import at_events
from tests.wording import about


class Listed(Dialog[None]):
    def __init__(self) -> None:
        self._grid = RecordGrid([GridColumn("name")])
        super().__init__("three names", self._grid)

    def on_mount(self) -> None:
        self._grid.show(tuples([("one",), ("t[red]wo",), ("three",)]))
        self.set_focus(self._grid)


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


async def test_the_filter_of_a_difference_is_below_its_rows_which_keep_their_width(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        looking = threading.Event()

        def look_up() -> Difference:
            looking.wait(60)
            raise Refused("Nobody looks any more")

        room = console.app.session.room
        screen = DifferenceScreen(room, "two versions", look_up, lambda found: "", lambda found: None)
        await console.app.push_screen(screen)
        await console.sees(about("looking", "versions"))
        await console.pilot.pause(0.2)
        rows = screen.query_one(PageGrid)
        before = rows.size
        await rows.action_filter()
        await console.pilot.pause(0.2)
        line = screen.query_one(FilterLine)
        assert (line.region.x, line.region.y) == (rows.region.x, rows.region.bottom)
        assert (rows.size.width, rows.size.height + line.size.height) == before
        assert line.size.height == 1
        looking.set()

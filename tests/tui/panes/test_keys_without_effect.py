"""A key that can't act says where it can, or what is missing: never nothing."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from textual.binding import Binding

from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.screens.browse_keys import _DOES, keys_of_tabs
from paimark.tui.tabs import Tab
from tests.conftest import ORDERS
from tests.paimon import create_table
from tests.tui.conftest import act
from tests.tui.driving import Sitting, at_orders, sitting

_OF_ROWS = ("browse.diff", "browse.mark", "browse.peek", "browse.copy", "browse.record")


async def test_a_key_of_other_tabs_says_which_they_are(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        for tab, pressed, said in (
            ("1", "m", "m merges a branch: on 3 Branches, 7 Timeline and 8 Space"),
            ("1", "x", "`:` expire-snapshots deletes the oldest"),
            ("4", "C", "C draws a chart: on 1 Snapshots, 6 Query, 7 Timeline and 8 Space"),
            ("5", "space", "space marks a row: not on 5 Schema"),
            ("5", "equals_sign", "= shows what a snapshot changed: not on 5 Schema"),
            # Those that only another tab's pane has.
            ("1", "at", "@ goes to a time: on 7 Timeline"),
            ("2", "v", "v shows a branch: on 3 Branches"),
            ("3", "less_than_sign", "< shows the schema before: on 5 Schema"),
            ("4", "ctrl+r", "ctrl+r runs the statement: on 6 Query"),
            ("4", "H", "H tells what happened to a row: on 6 Query"),
        ):
            await console.press(tab, pressed)
            await console.sees(said)


async def test_a_key_for_a_result_says_so_beside_the_query_pane(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.press("6")
        await console.sees("[6 Query]")
        await console.press("escape", "escape")
        for pressed, said in (("H", "H tells what happened to a row"), ("E", "E edits rows")):
            console.app.browse.key_bar.hush()
            await console.press(pressed)
            await console.sees(f"{said}: go to one in the result")


def test_every_key_of_one_tab_only_is_told_in_words() -> None:
    ids = {each.id for keys in keys_of_tabs().values() for each in keys if isinstance(each, Binding)}
    typed = {each for each in ids if each and each.startswith("editor.")}
    # Each pane has these.
    assert ids - typed - _DOES.keys() == {"query.cell", "query.leave"}


@pytest.mark.parametrize(("pressed", "said"), [
    ("x", "delete-savepoint · shop.orders"),
    ("T", "This tag belongs to savepoint 1 and keeps its name"),
])  # fmt: skip
async def test_a_savepoints_tag_stands_for_that(warehouse: Path, pressed: str, said: str) -> None:
    act(warehouse, "create-savepoint", snapshot=3)
    async with at_orders(warehouse, (120, 40)) as console:
        for tab in "478":
            await console.press(tab)
            await console.sees("savepoint.1", "[" + tab)
            await console.until(partial(_is_read, console), "all is read")
            pane = console.app.browse.pane
            assert isinstance(pane, RecordPane)
            names = [pane.name_of(index) for index in range(len(pane.rows))]
            pane.grid.move_to(names.index("snapshot.3" if tab == "7" else "savepoint.1"))
            await console.press(pressed)
            await console.sees(said)
            while console.app.screen is not console.app.browse:
                await console.app.pop_screen()
            console.app.browse.key_bar.hush()
            await console.loses(said)


def _is_read(console: Sitting) -> bool:
    pane = console.app.browse.pane
    return isinstance(pane, RecordPane) and pane.key_waits_for("act.rename") == ""


@pytest.mark.parametrize(("tab", "note"), [
    ("1", "No snapshots. 6 opens the query pane: an INSERT makes one."),
    ("2", "No savepoints. s makes one of the newest snapshot."),
    ("4", "No tags. t on a snapshot makes one."),
    ("7", "No commits. 6 opens the query pane: an INSERT makes one."),
])  # fmt: skip
async def test_an_empty_pane_says_what_is_missing_and_no_key_for_its_rows_is_silent(
    warehouse: Path, tab: str, note: str
) -> None:
    create_table(warehouse, "shop.a_new_one", ORDERS)
    async with sitting(warehouse, (120, 40)) as console:
        await console.sees("● a_new_one", "No snapshots")
        await console.press("enter", tab)
        await console.sees("[" + tab, note)
        bindings = [each.binding for each in console.app.screen.active_bindings.values() if each.enabled]
        for binding in {each.id: each for each in bindings}.values():
            if not (binding.id or "").startswith(("act.", "pane.", "timeline.", *_OF_ROWS)):
                continue
            console.app.browse.key_bar.hush()
            before = console.text
            await console.press(binding.key.split(",")[0])
            await console.until(partial(_differs, console, before), f"{binding.id} shows something")
            while console.app.screen is not console.app.browse:
                await console.app.pop_screen()
            await console.app.browse.open_tab(Tab(int(tab) - 1))


def _differs(console: Sitting, before: str) -> bool:
    return console.text != before

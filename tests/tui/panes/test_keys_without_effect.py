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
from tests.tui.driving import Shown, Sitting, at_orders, sitting
from tests.wording import about

_OF_ROWS = ("browse.diff", "browse.mark", "browse.peek", "browse.copy", "browse.record")


async def test_a_key_of_other_tabs_says_which_they_are(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        for tab, pressed, said in (
            ("1", "m", about("m", "merges", "3 Branches", "7 Timeline", "8 Space")),
            ("1", "x", about("`:`", "expire-snapshots")),
            ("4", "C", about("C", "chart", "1 Snapshots", "6 Query", "7 Timeline", "8 Space")),
            ("5", "space", about("space", "marks", "not on 5 Schema")),
            ("5", "equals_sign", about("=", "changed", "not on 5 Schema")),
            # Those that only another tab's pane has.
            ("1", "at", about("@", "time", "on 7 Timeline")),
            ("2", "v", about("v", "branch", "on 3 Branches")),
            ("3", "less_than_sign", about("<", "schema", "on 5 Schema")),
            ("4", "ctrl+r", about("ctrl+r", "statement", "on 6 Query")),
            ("4", "H", about("H", "row", "on 6 Query")),
        ):
            await console.press(tab, pressed)
            await console.sees(said)


async def test_a_key_for_a_result_says_so_beside_the_query_pane(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.press("6")
        await console.sees("[6 Query]")
        await console.press("escape", "escape")
        for pressed, said in (("H", "happened"), ("E", "edits")):
            console.app.browse.key_bar.hush()
            await console.press(pressed)
            await console.sees(about(pressed, said, "result"))


def test_every_key_of_one_tab_only_is_told_in_words() -> None:
    ids = {each.id for keys in keys_of_tabs().values() for each in keys if isinstance(each, Binding)}
    typed = {each for each in ids if each and each.startswith("editor.")}
    # Each pane has these.
    assert ids - typed - _DOES.keys() == {"query.cell", "query.leave"}


@pytest.mark.parametrize(("pressed", "said"), [
    ("x", about("delete-savepoint · shop.orders")),
    ("T", about("tag", "savepoint 1", "keeps", "name")),
])  # fmt: skip
async def test_a_savepoints_tag_stands_for_that(warehouse: Path, pressed: str, said: Shown) -> None:
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
    ("1", about("no snapshots", "6", "INSERT")),
    pytest.param("2", about("no savepoints", "s", "newest"), marks=pytest.mark.long),
    pytest.param("4", about("no tags", "t", "snapshot"), marks=pytest.mark.long),
    ("7", about("no commits", "6", "INSERT")),
])  # fmt: skip
async def test_an_empty_pane_says_what_is_missing_and_no_key_for_its_rows_is_silent(
    warehouse: Path, tab: str, note: Shown
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

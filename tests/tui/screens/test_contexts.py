"""Another warehouse without leaving the console, the mouse, and ctrl+z while a change is written."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from textual.events import MouseScrollDown

from paimark.core.config import Flags, Settings, load_settings
from paimark.tui.session import Session
from paimark.tui.widgets.grid.scroll_lines import ScrollLines
from paimark.tui.work.running_change import RunningChange
from tests.tui.driving import Sitting, at_events, at_orders, sitting
from tests.wording import about


@pytest.fixture
def config(warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "paimark" / "config.toml"
    path.parent.mkdir()
    path.write_text(
        f'[contexts.here]\nwarehouse = "{warehouse}"\nstart = "shop.orders"\n'
        '[contexts.gone]\nwarehouse = "/nowhere"\n'
        f'[contexts.odd]\nwarehouse = "{warehouse}"\noptions = {{ a = "b" }}\n'
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return path


async def choose(console: Sitting, name: str) -> None:
    await console.press("colon")
    await console.type(f"context {name}")
    await console.press("enter")


async def test_a_context_is_opened_from_the_palette_with_what_the_command_line_said(
    warehouse: Path, config: Path
) -> None:
    asked = load_settings(Flags(warehouse=str(warehouse), read_only=True, spark_master="local[2]"))
    async with sitting(warehouse, session=Session(asked)) as console:
        await console.sees("● events")
        await choose(console, "gone")
        await console.sees(about("no warehouse /nowhere"))
        await choose(console, "odd")
        await console.sees("option a")
        console.app.session.changes.append(cast(RunningChange, Writing()))
        await choose(console, "here")
        await console.sees(about("create-tag shop.orders", "being written", "J"))
        await console.press("ctrl+z")
        await console.sees(about("ctrl+z", "waits"))
        console.app.session.changes.clear()
        with console.app.session.room.exports.writing(Path("/somewhere/rows.csv")):
            await choose(console, "here")
            await console.sees(about("rows.csv", "being written", "switch"))
            await console.press("ctrl+q")
            await console.sees(about("file", "being written", "ctrl+q"))
        await choose(console, "here")
        chosen = cast(Settings, console.app.next_settings)
    said = (chosen.context, chosen.start, chosen.read_only, chosen.spark_master)
    assert said == ("here", "shop.orders", True, "local[2]")


async def test_another_warehouse_is_opened_by_its_address(warehouse: Path, config: Path) -> None:
    asked = load_settings(Flags(warehouse=str(config.parent), read_only=True))
    async with sitting(warehouse, session=Session(asked)) as console:
        await console.sees("No databases")
        for typed, said in {
            "open": about("open PATH", "warehouse"),
            "open /nowhere": about("no warehouse /nowhere"),
            f"open {warehouse}/shop.nothing": about("no table shop.nothing"),
        }.items():
            await console.press("colon")
            await console.type(typed)
            await console.press("enter")
            await console.sees(said)
        await console.press("colon")
        await console.type(f"open {warehouse}/shop.orders")
        await console.press("enter")
        await console.until(lambda: console.app.next_settings is not None, "it switches")
        chosen = cast(Settings, console.app.next_settings)
    assert (chosen.warehouse, chosen.start, chosen.read_only) == (str(warehouse), "shop.orders", True)


class Writing:
    """What the console sees of a change while it is written."""

    title = "create-tag shop.orders"
    elapsed = "1 s"

    class action:
        name = "create-tag"


async def test_the_mouse_is_off_until_it_is_switched_on(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        driver = console.app._driver
        assert driver is not None
        driver._mouse = False
        await console.press("M")
        await console.sees(about("mouse", "is on"))
        assert driver._mouse
        grid = console.app.browse.snapshots.grid
        x, y = grid.region.offset
        console.app.on_mouse_scroll_down(
            MouseScrollDown(grid, 0, 0, 0, 1, 0, False, False, False, screen_x=x + 1, screen_y=y + 1)
        )
        await console.sees("2 of 2")
        await console.press("question_mark")
        await console.sees("more lines below")
        text = console.app.screen.query_one(ScrollLines)
        x, y = text.region.offset
        first = console.text.splitlines()[y]
        console.app.on_mouse_scroll_down(
            MouseScrollDown(text, 0, 0, 0, 1, 0, False, False, False, screen_x=x + 1, screen_y=y + 1)
        )
        await console.until(lambda: console.text.splitlines()[y] != first, "scroll")
        await console.press("escape", "M")
        await console.sees(about("mouse", "is off"))
        assert not driver._mouse


async def click(console: Sitting, words: str, *, times: int = 1) -> None:
    """Where these words are on the screen, once a dialog is as high as its text needs."""
    text = ""
    while text != console.text:
        text = console.text
        await console.pilot.pause(0.1)
    lines = console.text.splitlines()
    y = next(y for y, line in enumerate(lines) if words in line)
    await console.pilot.click(offset=(lines[y].index(words) + 1, y), times=times)


async def test_a_click_goes_to_a_row_a_tab_a_key_and_a_button(warehouse: Path) -> None:
    async with at_orders(warehouse, (120, 30)) as console:
        await click(console, "APPEND       16")
        await console.sees("2 of 5")
        await click(console, "4 Tags")
        await console.sees("[4 Tags")
        await click(console, "t tag")
        await console.sees("create-tag · shop.orders", "[ Cancel ]")
        # Beside it nothing happens, and nothing typed is lost.
        await console.type("month-end")
        await console.pilot.click(offset=(1, 1))
        await console.sees("month-end", "[ Apply ]")
        await click(console, "[ Cancel ]")
        await console.loses("create-tag · shop.orders")
        await click(console, "? keys")
        await console.sees("esc close")
        await console.press("escape")
        await click(console, "events")
        await console.sees("● events")


async def test_a_double_click_is_enter(warehouse: Path) -> None:
    async with at_orders(warehouse, (120, 30)) as console:
        await console.press("4")
        await console.sees("[4 Tags", "v2")
        await click(console, "v2", times=2)
        await console.sees("[6 Query", "VERSION AS OF 'v2'")

"""Another warehouse without leaving the console, the mouse, and ctrl+z while a change is written."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from textual.events import MouseScrollDown

from core.config import Flags, Settings, load_settings
from tests.tui.driving import Sitting, at_events, sitting
from tui.session import Session
from tui.work.running_change import RunningChange


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
        await console.sees("There is no warehouse /nowhere")
        await choose(console, "odd")
        await console.sees("option a")
        console.app.session.changes.append(cast(RunningChange, Writing()))
        await choose(console, "here")
        await console.sees("create-tag shop.orders is being written")
        await console.press("ctrl+z")
        await console.sees("ctrl+z waits for its end")
        console.app.session.changes.clear()
        await choose(console, "here")
        chosen = cast(Settings, console.app.next_settings)
    said = (chosen.context, chosen.start, chosen.read_only, chosen.spark_master)
    assert said == ("here", "shop.orders", True, "local[2]")


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
        await console.sees("The mouse is on")
        assert driver._mouse
        grid = console.app.browse.snapshots.grid
        x, y = grid.region.offset
        console.app.on_mouse_scroll_down(
            MouseScrollDown(grid, 0, 0, 0, 1, 0, False, False, False, screen_x=x + 1, screen_y=y + 1)
        )
        await console.sees("2 of 2")
        await console.press("M")
        await console.sees("The mouse is off")
        assert not driver._mouse

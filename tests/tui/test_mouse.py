"""What a click must not do: act on what lies below a dialog that it closed, or by another button."""

from __future__ import annotations

from pathlib import Path

from textual.events import MouseDown, MouseUp

from paimark.tui.widgets.grid.record_grid import RecordGrid
from tests.tui.driving import Sitting, at_events


def place_of(console: Sitting, words: str) -> tuple[int, int]:
    """One cell into these words on the screen."""
    lines = console.text.splitlines()
    y = next((y for y, line in enumerate(lines) if words in line), None)
    assert y is not None, f"{words!r} is not on the screen\n{console.text}"
    return lines[y].index(words) + 1, y


def double_click(console: Sitting, words: str) -> None:
    """As a terminal sends it: both clicks are there before the first one is looked at."""
    x, y = place_of(console, words)
    for kind in (MouseDown, MouseUp) * 2:
        console.app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, screen_x=x, screen_y=y))


async def at_snapshots(console: Sitting) -> RecordGrid:
    """With the keys on the third of many rows."""
    await console.press("enter", "z", "j", "j")
    await console.sees("3 of 250")
    return console.app.browse.snapshots.grid


async def test_the_click_that_closes_a_dialog_moves_nothing_below_it(many: Path) -> None:
    async with at_events(many, (120, 40)) as console:
        grid = await at_snapshots(console)
        for times in (1, 2):
            await console.press("s")
            await console.sees("[ Apply ]")
            x, y = place_of(console, "[ Cancel ]")
            assert grid.region.contains(x, y)
            await console.pilot.click(offset=(x, y), times=times)
            await console.loses("[ Cancel ]")
            await console.pilot.pause(0.1)
            assert grid.cursor == 2, times
            assert "3 of 250" in console.text


async def test_only_the_left_button_presses(many: Path) -> None:
    async with at_events(many, (120, 40)) as console:
        grid = await at_snapshots(console)
        for button in (2, 3):
            for words in ("246 ", "4 Tags", "s savepoint", "244 "):
                await console.pilot.click(offset=place_of(console, words), button=button, times=2)
            await console.pilot.pause(0.1)
            assert grid.cursor == 2 and "[1 Snapshots" in console.text
        await console.press("s")
        await console.sees("[ Apply ]")
        for button in (2, 3):
            await console.pilot.click(offset=place_of(console, "[ Apply ]"), button=button)
            await console.pilot.pause(0.1)
        await console.sees("[ Apply ]")
        assert not (many / "shop.db/events/savepoint").exists()


async def test_the_second_click_of_two_presses_no_other_key(many: Path) -> None:
    """`a apply` of a plan, where another key of the dialog stands once it is applied."""
    async with at_events(many, (120, 40)) as console:
        await at_snapshots(console)
        await console.press("s")
        await console.sees("[ Apply ]", "a apply")
        x, y = place_of(console, "esc cancel")
        await console.pilot.click(offset=(x, y), times=3)
        await console.loses("[ Cancel ]")
        await console.pilot.pause(0.1)
        assert "3 of 250" in console.text and "[1 Snapshots" in console.text


async def test_a_double_click_on_a_key_presses_it_once_where_it_closes_or_opens_a_dialog(many: Path) -> None:
    async with at_events(many, (120, 40)) as console:
        grid = await at_snapshots(console)
        for key in ("s", "t"):
            await console.press(key)
            await console.sees("esc cancel")
            double_click(console, "esc cancel")
            await console.loses("esc cancel")
            await console.pilot.pause(0.1)
            assert console.app.focused is grid, key
        double_click(console, "t tag")
        await console.sees("create-tag", "Name of the tag")
        await console.pilot.pause(0.5)
        assert "as t" not in console.text

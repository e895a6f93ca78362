"""Lists in which typing finds a row."""

from __future__ import annotations

from pathlib import Path

from paimark.tui.dialogs.palette import PaletteScreen
from paimark.tui.dialogs.pick import PickOne
from tests.tui.driving import at_orders


async def test_a_column_whose_name_begins_with_the_text_comes_first(warehouse: Path) -> None:
    """`records` has an s, too, and is before `schema`."""
    async with at_orders(warehouse) as console:
        await console.press("c")
        await console.sees("columns")
        await console.type("s")
        await console.sees("records", "▏ schema")
        await console.press("backspace", "d", "e")
        await console.sees("▏ added")


async def test_the_very_name_comes_before_a_longer_one(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        choices = {name: name for name in ("the price", "price_old", "Price")}
        await console.app.push_screen(PickOne("Which?", "part of it", choices))
        await console.type("pri")
        await console.sees("▏ price_old")
        await console.type("ce")
        await console.sees("▏ Price")


async def test_the_palette_has_room_for_entries_on_a_very_low_terminal(warehouse: Path) -> None:
    async with at_orders(warehouse, (60, 10)) as console:
        await console.press("colon")
        await console.opens(PaletteScreen)
        await console.sees("create-savepoint")
        assert sum(line.count("│") == 2 for line in console.text.splitlines()) >= 6

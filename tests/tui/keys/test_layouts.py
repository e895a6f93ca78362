"""Keys of a Cyrillic layout act as those at the same place, except where they are text."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.tui.dialogs.palette import PaletteScreen
from tests.tui.driving import at_events, at_orders


async def test_letters_of_another_layout_press_the_keys_at_their_place(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        # j, s, and ? by shift and the key of the dot.
        await console.press("о", "enter")
        await console.sees("● orders", "1 of 5")
        await console.press("ы")
        await console.sees("create-savepoint · shop.orders", "[ Apply ]")
        await console.press("escape", "Ж")
        await console.opens(PaletteScreen)
        await console.type("Жук")
        await console.sees("Жук")


@pytest.mark.parametrize("letter", ["і", "ы"])
async def test_they_are_text_where_one_types(warehouse: Path, letter: str) -> None:
    async with at_orders(warehouse) as console:
        await console.press("slash", letter)
        await console.sees(f"/ {letter}")

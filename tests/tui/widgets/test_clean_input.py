"""Pasting into a field of one line."""

from __future__ import annotations

from pathlib import Path

from textual.events import Paste

from tests.tui.driving import at_events


async def test_pasted_lines_are_joined_and_none_is_lost(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await console.press("slash")
        console.app.post_message(Paste("ev\r\n  ents \n\nlast"))
        await console.sees("/ ev ents last")

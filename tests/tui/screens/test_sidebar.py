"""The sizes of parts: the width of the tables, kept for the next sitting, and a very low terminal."""

from __future__ import annotations

import re
from pathlib import Path

from tests.tui.driving import at_events, at_orders
from tests.wording import about

_TIME = re.compile(r"\d\d:\d\d:\d\d")


async def test_the_width_of_the_tables_is_changed_and_remembered(warehouse: Path) -> None:
    async with at_events(warehouse, (120, 40)) as console:
        tables = console.app.browse.tables
        assert tables.outer_size.width == 28
        await console.press("}", "}")
        await console.until(lambda: tables.outer_size.width == 36)
        await console.press(*"{{{{{{{{{{")
        await console.until(lambda: tables.outer_size.width == 12)
        await console.press(*"}}}}}}}}}}}}}}}}")
        await console.until(lambda: tables.outer_size.width == 60)
        console.app.session.memory.save()
        await console.press("z", "}")
        await console.sees(about("tables", "hidden"))
    async with at_events(warehouse, (80, 24)) as console:
        # At most half of a narrow terminal.
        assert console.app.browse.tables.outer_size.width == 40


async def test_the_filter_of_tables_is_offered_only_what_it_can_do(warehouse: Path) -> None:
    async with at_events(warehouse, (120, 40)) as console:
        await console.press("slash")
        await console.sees("words  !without")
        assert "price>10" not in console.text


async def test_a_very_low_terminal_has_room_for_rows(warehouse: Path) -> None:
    async with at_orders(warehouse, (60, 10)) as console:
        await console.sees("═ snapshot 5 ═ 1 of 5 ═")
        # By the times: the column of kinds is cut, the more so the older the snapshots are.
        rows = [line.split("║")[1].split()[0] for line in console.text.splitlines() if _TIME.search(line)]
        assert rows == ["▌", "4", "3", "2"]
        await console.press("enter")
        await console.sees("SELECT *", "VERSION AS OF", "snapshot.5")

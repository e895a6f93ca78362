"""What metadata counts in a table with a key is called records, and rows only where a table has no key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from paimark.core.storage.local import LocalFiles
from paimark.core.table.definition.file_sizes import unit_of
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.tui.screens.browse import BrowseScreen
from tests.tui.conftest import act
from tests.tui.driving import Sitting, at_events, at_orders

WIDE = (200, 40)


def words(console: Sitting) -> set[str]:
    return set(re.findall(r"[a-z]+", console.text))


def test_only_a_key_makes_records(warehouse: Path) -> None:
    """Without a schema that can be read the word is the one that holds for every table."""
    files = LocalFiles(str(warehouse))
    tables = [Lineage(files, TablePath("shop", name).root()) for name in ("orders", "events")]
    assert [unit_of(each.latest_schema()) for each in tables] == ["record", "row"]
    assert unit_of(None) == "record"
    in_parts = replace(tables[1].require_schema(), options={"data-evolution.enabled": "true"})
    assert unit_of(in_parts) == "record"


@pytest.mark.parametrize("tab", ["1", "2", "3", "4", "7"])
async def test_a_pane_of_a_table_with_a_key_counts_records(warehouse: Path, tab: str) -> None:
    act(warehouse, "create-savepoint")
    async with at_orders(warehouse, WIDE) as console:
        await console.press(tab)
        await console.sees(f"[{tab} ", " 20 ")
        await console.until(lambda: "records" in words(console) or "record_count" in console.text, "count")
        assert "rows" not in words(console)


@pytest.mark.parametrize("tab", ["1", "3", "4", "7"])
async def test_a_pane_of_a_table_without_a_key_counts_rows(warehouse: Path, tab: str) -> None:
    async with at_events(warehouse, WIDE) as console:
        await console.press(tab)
        await console.sees(f"[{tab} ", "rows")
        assert "records" not in words(console)


async def test_a_commit_adds(warehouse: Path) -> None:
    async with at_orders(warehouse, WIDE) as console:
        await console.sees("records  added", "added 4")
        await console.press("7")
        await console.sees("added", "records")
        assert "change" not in words(console)


async def test_the_word_follows_the_table_and_a_filter_typed_meanwhile_stays(warehouse: Path) -> None:
    async with at_events(warehouse, WIDE) as console:
        await console.sees("rows  added")
        await console.press("j", "enter")
        await console.sees("● orders", "records  added")
        await console.press("escape", "k", "enter")
        await console.sees("● events", "rows  added")
        browse = console.app.screen
        assert isinstance(browse, BrowseScreen)
        await console.press("/", *"APPEND", "enter")
        browse.snapshots.grid.retitle(browse.snapshots.columns_of("record"))
        await console.sees("records  added", "/APPEND")


async def test_a_chart_of_a_table_with_a_key_is_of_records(warehouse: Path) -> None:
    async with at_orders(warehouse, WIDE) as console:
        await console.press("C")
        await console.sees("records over time: 5 snapshots, 4 to 20")


async def test_a_peek_says_how_many_rows_the_records_are(warehouse: Path) -> None:
    async with at_orders(warehouse, WIDE) as console:
        await console.press("p")
        await console.sees("8 rows of 20 records")

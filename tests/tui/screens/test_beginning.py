"""Where the console begins."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from paimark.core.config import Settings
from paimark.core.storage.files import Files
from paimark.core.table.catalog import tables
from paimark.core.table.layout import TablePath
from paimark.tui.session import Session
from tests.tui.conftest import act
from tests.tui.driving import Shown, sitting
from tests.wording import about


def at(warehouse: Path, start: str) -> Session:
    return Session(Settings(str(warehouse), start=start))


async def test_the_table_asked_for_is_open_and_its_snapshots_are_read_once(warehouse: Path) -> None:
    async with sitting(warehouse, session=at(warehouse, "shop.orders")) as console:
        await console.sees("● orders", "1 of 5", "snapshot 5")
        assert "events" in console.text


@pytest.mark.parametrize(
    ("version", "tab", "title"),
    [
        ("3", "[1 Snapshots]", "snapshot 3"),
        ("v2", "[4 Tags]", "tag v2"),
        ("savepoint.1", "[2 Savepoints]", "savepoint 1"),
    ],
)
async def test_the_cursor_is_on_the_row_of_the_version_asked_for(
    warehouse: Path, version: str, tab: str, title: str
) -> None:
    act(warehouse, "create-savepoint", snapshot=4)
    async with sitting(warehouse, session=at(warehouse, f"shop.orders@{version}")) as console:
        await console.sees("● orders" if version in "3 v2" else "orders", tab, title)
        await console.until(lambda: console.app.browse.pane.grid.has_focus, "focus on the row")


@pytest.mark.parametrize("early", [True, False])
async def test_the_keys_are_in_the_rows_of_the_table_asked_for(warehouse: Path, early: bool) -> None:
    async with sitting(warehouse, session=at(warehouse, "shop.orders")) as console:
        if not early:
            await console.sees("1 of 5")
        await console.press("j")
        await console.sees("● orders", "▌  4", "2 of 5")


async def test_a_key_typed_before_the_tables_are_listed_is_for_the_rows(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_typed = threading.Event()

    def listed(files: Files, database: str) -> list[TablePath]:
        is_typed.wait()
        return tables(files, database)

    monkeypatch.setattr("paimark.tui.opening.tables", listed)
    async with sitting(warehouse, session=at(warehouse, "shop.orders")) as console:
        try:
            await console.press("j")
            await console.sees(about("1 key", "kept"))
        finally:
            is_typed.set()
        await console.sees("● orders", "▌  4", "2 of 5")


async def test_the_keys_are_in_the_tables_if_that_table_is_gone(warehouse: Path) -> None:
    async with sitting(warehouse, session=at(warehouse, "shop.ordrs")) as console:
        await console.sees(about("no table shop.ordrs"), "1 of 2")
        await console.press("j", "enter")
        await console.sees("● orders", "1 of 5")


async def test_the_row_may_be_far_behind_the_first_page(many: Path) -> None:
    async with sitting(many, session=at(many, "shop.events@7")) as console:
        await console.sees("snapshot 7 ", "244 of 250")


@pytest.mark.parametrize(
    ("start", "sentence", "open_"),
    [
        ("shop.ordrs@3", about("no table shop.ordrs", "first"), "● events"),
        ("shop.orders:fix", about("no branch fix", "main"), "● orders"),
        ("shop.orders@99", about("newest"), "snapshot 5"),
    ],
)
async def test_the_nearest_place_is_open_where_the_one_asked_for_is_gone(
    warehouse: Path, start: str, sentence: Shown, open_: str
) -> None:
    async with sitting(warehouse, (140, 24), session=at(warehouse, start)) as console:
        await console.sees(sentence, open_)

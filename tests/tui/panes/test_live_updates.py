"""What others do to a table shows without a key, wherever on the screen it is said."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pyarrow as pa
import pytest

from tests.conftest import EVENTS, ORDERS
from tests.paimon import commit, create_table, open_table
from tests.table.branches import create_branch
from tests.tui.conftest import act
from tests.tui.driving import Sitting, at_orders, sitting


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at more often than people need."""
    monkeypatch.setattr("paimark.tui.screens.browse.FOLLOW_SECONDS", 0.3)


async def to_orders(console: Sitting, *keys: str) -> None:
    await console.sees("● events", "1 of 2")
    await console.press("j", "enter")
    await console.sees("● orders", "1 of 5", "1 tag")
    await console.press(*keys)


async def test_tags_branches_and_savepoints_made_elsewhere_show_beside_the_snapshots(warehouse: Path) -> None:
    async with sitting(warehouse, (120, 40)) as console:
        await to_orders(console, "j", "j")
        open_table(warehouse, "shop.orders").create_tag("elsewhere", 3)
        await console.sees("kept by elsewhere", "2 tags")
        create_branch(warehouse, "shop.orders", "fix", "v2")
        await console.sees("2 branches")
        act(warehouse, "create-savepoint", snapshot=3)
        await console.sees("1 savepoint", "kept by savepoint.1, elsewhere", "◆")
        open_table(warehouse, "shop.orders").delete_tag("elsewhere")
        await console.sees("2 tags")
        await console.loses("elsewhere")


async def test_names_that_the_tree_leaves_out_are_told(warehouse: Path) -> None:
    async with sitting(warehouse, (120, 40)) as console:
        await to_orders(console)
        (warehouse / "shop.db/\x1b").mkdir()
        (warehouse / "\x07.db").mkdir()
        await console.sees(r" ! left out: '\x1b'", r"! left out: '\x07.db'")
        (warehouse / "shop.db/\x1b").rmdir()
        await console.loses("x1b")


async def test_ages_go_on_while_nothing_else_changes(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sitting(warehouse, (120, 40)) as console:
        await to_orders(console)
        await console.loses("3 h")
        real = time.time
        monkeypatch.setattr("time.time", lambda: real() + 3 * 3600)
        await console.sees("3 h  ", "3 h ago")


async def test_a_tag_given_to_another_snapshot_elsewhere_shows(warehouse: Path) -> None:
    async with sitting(warehouse, (120, 40)) as console:
        await to_orders(console, "4")
        await console.sees("tag v2", "snapshot 2 ")
        table = open_table(warehouse, "shop.orders")
        table.delete_tag("v2")
        table.create_tag("v2", 4)
        await console.sees("v2 is gone", "· v2          4")


async def test_commits_to_a_branch_show_in_the_list_of_branches(warehouse: Path) -> None:
    create_branch(warehouse, "shop.orders", "fix", "v2")
    async with sitting(warehouse, (120, 40)) as console:
        await to_orders(console, "3", "j")
        await console.sees("branch fix", "0 commits ahead of main, 3 behind")
        row = pa.table({"order_id": [99], "customer": ["c9"], "price": [1.0]}, schema=ORDERS)
        commit(warehouse, "shop.orders$branch_fix", row)
        await console.sees("1 commit ahead of main, 3 behind")


async def test_a_table_dropped_or_made_elsewhere_leaves_and_joins_the_tables(warehouse: Path) -> None:
    async with at_orders(warehouse, (120, 40)) as console:
        create_table(warehouse, "shop.refunds", EVENTS)
        await console.sees(" refunds")
        shutil.rmtree(warehouse / "shop.db" / "orders")
        await console.sees("Table shop.orders does not exist")
        await console.loses("  orders")
        for told in ("Snapshots 5", "1 tag", "MAIN = main"):
            await console.loses(told)
        create_table(warehouse, "zoo.animals", EVENTS)
        await console.sees("▸ zoo")


async def test_a_tab_opened_again_shows_what_happened_meanwhile_at_once(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paimark.tui.screens.browse.FOLLOW_SECONDS", 600.0)
    async with sitting(warehouse, (120, 40)) as console:
        await to_orders(console, "4")
        await console.sees("tag v2", "1 of 1")
        await console.press("1")
        tags = warehouse / "shop.db/orders/tag"
        (tags / "tag-later").write_bytes((tags / "tag-v2").read_bytes())
        await console.press("4")
        await console.sees("later  ", "of 2")


async def test_a_table_made_again_meanwhile_shows_as_it_is_where_its_numbers_are_the_same(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that drops its table and fills it anew: snapshots, schema and branch have the ids they had."""
    monkeypatch.setattr("paimark.tui.screens.browse.FOLLOW_SECONDS", 600.0)
    create_branch(warehouse, "shop.orders", "fix", "v2")
    async with sitting(warehouse, (140, 40)) as console:
        await to_orders(console, "5")
        await console.sees("customer")
        await console.press("3")
        await console.sees("records 20", "of 2")
        await console.press("7")
        await console.sees("records 20", "of 5")
        await console.press("1")
        shutil.rmtree(warehouse / "shop.db/orders")
        other = pa.schema([ORDERS.field("order_id"), pa.field("city", pa.string())])
        create_table(warehouse, "shop.orders", other, primary_keys=["order_id"])
        for number in range(5):
            rows = pa.table({"order_id": [number], "city": ["Oulu"]}, schema=other)
            commit(warehouse, "shop.orders", rows)
        open_table(warehouse, "shop.orders").create_tag("v2", 2)
        create_branch(warehouse, "shop.orders", "fix", "v2")
        await console.press("5")
        await console.sees("city")
        for tab, before in (("3", "main"), ("7", "snapshot.5")):
            await console.press(tab)
            await console.sees(f"{before} is gone")
            await console.press("g")
            await console.sees("records 5 ")


async def test_looking_on_reads_only_what_changed(warehouse: Path) -> None:
    """One look at a quiet table repaints nothing and reads no record again."""
    async with sitting(warehouse, (120, 40)) as console:
        await to_orders(console, "4")
        await console.sees("tag v2", "1 of 1")
        pane = console.app.browse.pane
        rows = pane.grid.source
        for _ in range(3):
            console.app.browse.follow()
            await console.pilot.pause(0.2)
        assert pane.grid.source is rows


async def test_a_hidden_pane_takes_nothing_from_the_table_before(warehouse: Path) -> None:
    """An action makes every pane read again; a hidden one may still have the other table's rows."""
    async with sitting(warehouse, (120, 40)) as console:
        await console.sees("● events", "1 of 2")
        await console.press("enter", "j", "/")
        await console.type("id>1")
        await console.press("enter")
        await console.sees("/id>1  1 of 1")
        await console.press("4", "escape", "j", "enter")
        await console.sees("● orders", "1 of 1", "v2")
        await console.press("x")
        await console.sees("Delete tag v2", "type v2 to go on")
        await console.press("c", "v", "2", "enter", "a")
        await console.sees("Deleted tag v2")
        await console.press("escape", "1")
        await console.sees("snapshot 5", "1 of 5")


async def test_each_tab_says_what_became_of_its_row_when_another_branch_is_made_main(warehouse: Path) -> None:
    """What both mains have keeps the cursor; the rest is not called gone, because the archive has it."""
    async with sitting(warehouse, (140, 40)) as console:
        await to_orders(console)
        act(warehouse, "create-savepoint", snapshot=2)
        act(warehouse, "create-branch", name="fix", tag="v2")
        await console.press("2")
        await console.sees("savepoint 1", "1 of 1")
        await console.press("4")
        await console.sees("savepoint.1", "1 of 2")
        await console.press("5", "G")
        await console.sees("option bucket")
        await console.press("3")
        await console.sees("branch main")
        await console.press("1")
        await console.sees("snapshot 5", "1 of 5")
        act(warehouse, "replace-main-branch", name="fix")
        await console.sees("main is fix now: 7 shows snapshot.5", "– of 2")
        await console.press("2")
        await console.sees("savepoint 1", "1 of 1")
        await console.press("4")
        await console.sees("savepoint.1", "1 of 2")
        await console.press("5")
        await console.sees("schema 0, ", "option bucket")
        await console.press("3")
        await console.sees("main was replaced: fix is main now")

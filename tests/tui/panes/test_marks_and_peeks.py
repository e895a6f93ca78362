"""Marks, peeks, health and the way back, as the screen shows them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from paimark.core.figures import clock_time
from paimark.core.table.layout import TablePath
from paimark.core.travel.requested_version import RequestedVersion
from paimark.tui.records.marks import Mark, pair_of_change, pair_to_compare, toggled
from paimark.tui.screens.open_tabs import LocationHistory
from paimark.tui.session import Target
from paimark.tui.tabs import Tab
from tests.conftest import ORDERS
from tests.paimon import commit, open_table
from tests.table.branches import create_branch, fast_forward
from tests.tui.conftest import act
from tests.tui.driving import at_events, at_orders, sitting
from tests.wording import about

MAIN, FIX = Mark(RequestedVersion()), Mark(RequestedVersion("fix"))
OLD, NEW = Mark(RequestedVersion(None, "savepoint.1"), 3), Mark(RequestedVersion(None, "snapshot.5"), 5)
TABLE = TablePath("shop", "orders")


@pytest.mark.parametrize(
    ("marks", "here", "pair"),
    [
        ([NEW, OLD], None, (OLD, NEW)),
        ([FIX, MAIN], None, (MAIN, FIX)),
        ([MAIN, OLD], None, (OLD, MAIN)),
        ([FIX], OLD, (FIX, OLD)),
        ([FIX], FIX, None),
        ([], FIX, (MAIN, FIX)),
        ([], MAIN, None),
        ([], OLD, (OLD, MAIN)),
        ([], None, None),
        ([OLD, NEW, FIX], None, None),
        ([OLD, NEW, FIX], MAIN, None),
    ],
)
def test_which_two_are_compared(marks: list[Mark], here: Mark | None, pair: tuple[Mark, Mark] | None) -> None:
    assert pair_to_compare(marks, here) == pair


def test_what_a_snapshot_changed_is_told_by_the_one_before_it() -> None:
    on_fix = Mark(RequestedVersion("fix", "snapshot.12"), 12)
    assert pair_of_change(on_fix) == (Mark(RequestedVersion("fix", "snapshot.11"), 11), on_fix)
    assert pair_of_change(OLD) == (Mark(RequestedVersion(None, "snapshot.2"), 2), OLD)
    for none in (None, FIX, Mark(RequestedVersion(None, "snapshot.1"), 1)):
        assert pair_of_change(none) is None


def test_a_mark_stays_until_it_is_taken_away() -> None:
    assert toggled(toggled([OLD, NEW], FIX), NEW) == [OLD, FIX]


def test_the_way_back_is_forgotten_where_another_is_taken() -> None:
    history, target = LocationHistory(), Target(TABLE)
    for tab in (Tab.SNAPSHOTS, Tab.SAVEPOINTS, Tab.SAVEPOINTS, Tab.BRANCHES):
        history.add(target, tab)
    assert [history.step(-1) for _ in range(3)] == [(target, 1), (target, 0), None]
    assert history.step(1) == (target, 1)
    history.add(target, Tab.SCHEMA)
    assert history.step(1) is None
    assert history.step(-1) == (target, 1)


async def test_marked_rows_are_compared_and_the_way_leads_back(warehouse: Path) -> None:
    act(warehouse, "create-savepoint", snapshot=2)
    async with at_events(warehouse) as console:
        await console.press("j")
        await console.sees("● orders", "snapshot 5")
        await console.press("l", "j", "space")
        await console.sees("▌*", "Marked snapshot.4")
        await console.press("2")
        await console.sees("savepoint 1 ", "of snapshot 2")
        await console.press("space")
        await console.sees("Marked snapshot.4 and savepoint.1")
        await console.press("D")
        await console.sees("Difference of shop.orders: from savepoint.1 to snapshot.4")
        await console.until(lambda: console.app.browse.marks == [], "unmark")
        await console.press("escape")
        await console.sees("[2 Savepoints]")
        await console.press("[")
        await console.sees("[1 Snapshots]")
        await console.press("]")
        await console.sees("[2 Savepoints]")


async def test_only_keys_that_act_on_what_is_marked_are_told(warehouse: Path) -> None:
    async with at_orders(warehouse, (120, 40)) as console:
        await console.press("space", "j", "space")
        await console.sees("Marked snapshot.5 and snapshot.4: D shows the difference, s t act on both")


async def test_what_one_snapshot_changed_is_a_key_away(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.press("j", "equals_sign")
        await console.sees("Difference of shop.orders: from snapshot.3 to snapshot.4")
        await console.press("escape", "G", "equals_sign")
        await console.sees("snapshot.1 is the first", "p shows some")
        await console.press("3", "equals_sign")
        await console.sees(about("=", "changed", "not on 3 Branches"))


async def test_the_keys_of_branches_are_told_before_those_of_every_row(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.sees("D diff  = changes  s savepoint  b branch  t tag  ? keys  ^q quit")
        await console.press("3")
        await console.sees("m merge  R make main  x delete", "? keys")


async def test_what_acts_on_one_row_says_so_while_others_are_marked(warehouse: Path) -> None:
    for snapshot in (2, 3, 4):
        act(warehouse, "create-savepoint", snapshot=snapshot)
    async with at_events(warehouse, (120, 40)) as console:
        await console.press("j", "enter", "2")
        await console.sees("savepoint 3 ", "1 of 3")
        await console.press("space", "j", "space", "j", "space")
        await console.sees(about("3 rows", "marked", "s t x", "D"))
        assert [mark.label for mark in console.app.browse.marks] == [
            "savepoint.3",
            "savepoint.2",
            "savepoint.1",
        ]
        await console.press("D")
        await console.sees(about("3 rows", "marked", "D", "two", "space"))
        for key in ("b", "B"):
            console.app.browse.key_bar.hush()
            await console.press(key)
            await console.sees(about("3 rows", "marked", "one", "esc"))
            assert console.app.screen is console.app.browse
        await console.press("space", "k", "space")
        # The only mark is on another row.
        console.app.browse.key_bar.hush()
        await console.press("x")
        await console.sees(about("1 row", "marked", "another", "esc"))
        await console.press("k", "x")
        await console.sees("delete-savepoint · shop.orders", "savepoint 3")
        await console.press("escape")
        await console.until(lambda: console.app.screen is console.app.browse)
        await console.press("escape")
        assert console.app.browse.marks == []
        await console.press("G", "x")
        await console.sees("delete-savepoint · shop.orders", "savepoint 1")


async def test_a_mark_is_of_its_commit_and_not_of_another_with_its_number(warehouse: Path) -> None:
    """As after a truncation: what was marked is no more what its name reads."""
    path = warehouse / "shop.db/orders/snapshot/snapshot-4"
    async with at_orders(warehouse, (120, 40)) as console:
        await console.press("j", "space", "G", "space")
        record = json.loads(path.read_bytes())
        path.write_text(json.dumps({**record, "timeMillis": record["timeMillis"] + 1}))
        await console.press("D")
        await console.sees(about("snapshot.4", "another commit"))
        assert console.app.browse.tabs.current == 0


async def test_a_peek_shows_merged_rows_without_spark(warehouse: Path) -> None:
    """The newest of each key, and as it was then; a hostile cell is harmless."""
    hostile = "\N{ESCAPE}]52;c;eA==\N{BELL}[red]x[/]"
    rows = {"order_id": [1, 2], "customer": ["again", hostile], "price": [1.5, None]}
    commit(warehouse, "shop.orders", pa.table(rows, schema=ORDERS))
    async with at_events(warehouse, (100, 30)) as console:
        await console.press("j")
        await console.sees("● orders", "snapshot 6")
        await console.press("p")
        await console.sees("shop.orders at snapshot 6: 8 rows", "again", "[red]x[/]", "null")
        assert "\N{ESCAPE}" not in console.text
        await console.press("escape", "l", "G", "p")
        await console.sees("shop.orders snapshot.1 at snapshot 1: 4 rows", "13.0")
        await console.press("i")
        await console.sees("row 1", "customer")


async def test_a_peek_that_fails_says_why(warehouse: Path) -> None:
    for path in (warehouse / "shop.db/events").rglob("data-*"):
        path.unlink()
    async with sitting(warehouse) as console:
        await console.sees("● events", "snapshot 2")
        await console.press("p")
        await console.sees(about("rows", "not be read"), about("enter", "row"))


async def test_health_is_said_in_words(warehouse: Path) -> None:
    """Savepoints: unprotected, unverified, foreign, kept by a branch. Branches: exposed, and its fix."""
    for snapshot in (2, 3, 4):
        act(warehouse, "create-savepoint", snapshot=snapshot)
    act(warehouse, "create-branch", name="made", tag="savepoint.3")
    orders = warehouse / "shop.db/orders"
    (orders / "tag/tag-savepoint.1").unlink()
    path = orders / "savepoint/savepoint-2"
    path.write_text(json.dumps({**json.loads(path.read_text()), "verifiedAt": None}))
    open_table(warehouse, "shop.orders").create_tag("savepoint.9", 5)
    create_branch(warehouse, "shop.orders", "elsewhere", "v2")
    async with at_events(warehouse, (160, 40)) as console:
        await console.press("j", "2")
        await console.sees(
            "! foreign tag", "kept by", "made   ", "! unverified", "! unprotected", "auto-savepoint off"
        )
        await console.press("3")
        await console.sees("! exposed", "elsewhere")
        await console.press("j")
        await console.sees(about("stock expiry", "savepoints", "P"), "3 behind since snapshot 2")
        await console.press("P")
        await console.sees("alter-branch-schema · shop.orders", "[ Apply ]", "elsewhere")
        await console.press("a")
        await console.sees("✓ done")
        await console.press("escape", "r")
        await console.loses("! exposed")
    written = msgspec.json.decode((orders / "branch/branch-elsewhere/schema/schema-1").read_bytes())
    assert written["options"]["snapshot.num-retained.min"] == "2147483647"


async def test_what_a_fast_forward_of_another_engine_leaves_is_mended_by_a_key(warehouse: Path) -> None:
    """First what both have by then is tagged, then main expires again."""
    act(warehouse, "create-branch", name="b", tag="v2")
    orders = warehouse / "shop.db/orders"
    fast_forward(orders, "b")
    async with at_events(warehouse, (160, 40)) as console:
        await console.press("j", "3")
        await console.sees("! endless", "nothing expires: P takes them out")
        await console.press("P")
        await console.sees("alter-branch-schema · shop.orders", "[ Apply ]", "unset")
        await console.press("a")
        await console.sees("✓ done")
        await console.press("escape", "r")
        await console.loses("! endless")
        (orders / "tag/tag-v2").unlink()
        await console.press("r")
        await console.sees("! unheld")
        await console.press("j")
        await console.sees(about("stock expiry", "main", "files", "P"))
        await console.press("P")
        await console.sees("create-tag · shop.orders", "[ Apply ]", "v2")
        await console.press("a")
        await console.sees("✓ done")
        await console.press("escape", "r")
        await console.loses("! unheld")
    assert (orders / "tag/tag-v2").exists()


async def test_the_next_savepoint_is_announced(warehouse: Path) -> None:
    act(warehouse, "create-savepoint", snapshot=4)
    orders = warehouse / "shop.db/orders"
    schema = json.loads((orders / "schema/schema-0").read_text())
    schema["options"]["savepoint.create-interval"] = "90 min"
    (orders / "schema/schema-0").write_text(json.dumps(schema))
    async with at_events(warehouse) as console:
        await console.press("j", "2")
        await console.sees("auto-savepoint every 1 h 30 min, next due in 1 h")
        path = orders / "savepoint/savepoint-1"
        saved = json.loads(path.read_text())
        path.write_text(json.dumps({**saved, "saveTime": int(time.time() * 1000) - 7_200_000}))
        await console.press("r")
        await console.sees("every 1 h 30 min, due now")


NAMES = ("savepoint_id", "saved_snapshot_id", "schema_id", "save_time", "record_count")


async def test_savepoints_show_the_columns_of_their_table_first_at_80_columns(warehouse: Path) -> None:
    for snapshot in (2, 3):
        act(warehouse, "create-savepoint", snapshot=snapshot)
    orders = warehouse / "shop.db/orders"
    (orders / "tag/tag-savepoint.2").unlink()
    saved = json.loads((orders / "savepoint/savepoint-1").read_bytes())
    saved |= {"saveTime": saved["saveTime"] + 3_600_000, "recordCount": 123_456_789}
    (orders / "savepoint/savepoint-1").write_text(json.dumps(saved))
    async with at_events(warehouse) as console:
        await console.press("j", "2")
        await console.sees("[2 Savepoints", "1 of 2", "savepoint 2 ")
        lines = console.text.splitlines()
        head = next(place for place, line in enumerate(lines) if "savepoint_id" in line)
        assert lines[head].replace("›", " ").split()[: len(NAMES)] == list(NAMES)
        # Its tag is gone: said beside the row, as its health is out of sight.
        assert lines[head + 1].startswith("▌!")
        one = lines[head + 2].split()
        assert one[:2] == ["1", "2"]
        assert " ".join(one[2:]) == f"{saved['schemaId']} {clock_time(saved['saveTime'])} 123,456,789"
        assert "▾ shop" not in console.text
        # Escape goes to the tables, wherever they are.
        await console.press("escape")
        await console.sees("▾ shop", "● orders")
        await console.press("k")
        await console.sees("● events", "No savepoints. s makes one")
        await console.press("2")
        await console.loses("▾ shop")
        await console.press("3")
        await console.sees("▾ shop")


async def test_savepoints_show_the_rest_behind_where_there_is_room(warehouse: Path) -> None:
    act(warehouse, "create-savepoint", snapshot=2, comment="before")
    async with at_events(warehouse, (160, 40)) as console:
        await console.press("j", "2")
        await console.sees("health", "kept by", "comment", "snapshot_time", "▾ shop")
        assert [column.title for column in console.app.browse.pane.grid.columns][:5] == list(NAMES)


async def test_what_was_said_of_the_rows_is_not_said_below_the_dialog_that_opens(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.press("space")
        await console.sees("Marked snapshot.5")
        await console.press("s")
        await console.sees("create-savepoint", "Save main of")
        assert "Marked" not in str(console.app.browse.key_bar.lines(80))

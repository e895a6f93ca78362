"""Tab 7: the history as lanes, and what a row of it is good for."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.actions.merge.history import MergeEvent, record
from paimark.core.storage.files import Denied
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import point_of
from paimark.core.table.timeline.lane_data import LaneData, read_lane_data
from paimark.tui.panes.timeline import timeline_pane
from paimark.tui.panes.timeline.timeline_pane import TimelinePane
from paimark.tui.panes.timeline.timeline_rows import bar
from paimark.tui.widgets.clean_input import AskLine
from tests.conftest import ORDERS
from tests.paimon import commit, create_table, open_table
from tests.table.branches import create_branch
from tests.table.lineages import write_lineage
from tests.tui.conftest import act
from tests.tui.driving import Shown, Sitting, at_orders, sitting
from tests.tui.test_hostile_text import MARKUP, assert_harmless
from tests.wording import about

HOUR = 3_600_000
# 2023-11-14 22:00 in UTC.
BEGUN = 1_699_999_200_000
ROOT = TablePath("shop", "orders").root()


@pytest.fixture
def forked(warehouse: Path) -> Path:
    """Branch `fix` of `shop.orders` from tag `v2`, with a commit; tag `old`, whose snapshot expired."""
    open_table(warehouse, "shop.orders").create_tag("old", 1)
    (warehouse / ROOT.snapshot(1)).unlink()
    create_branch(warehouse, "shop.orders", "fix", "v2")
    row = {"order_id": [1], "customer": ["fixed"], "price": [0.5]}
    commit(warehouse, "shop.orders$branch_fix", pa.table(row, schema=ORDERS))
    return warehouse


@pytest.fixture
def hourly(tmp_path: Path) -> Path:
    """`shop.t` alone: 300 commits, an hour apart."""
    write_lineage(tmp_path, {each: BEGUN + each * HOUR for each in range(1, 301)})
    return tmp_path


async def open_timeline(console: Sitting, table: str = "orders") -> TimelinePane:
    if table == "orders":
        await console.sees("● events")
        await console.press("j")
    await console.sees(f"● {table}")
    await console.press("enter", "7")
    pane = console.app.browse.tabs.pane
    assert isinstance(pane, TimelinePane)
    await console.until(lambda: pane.loaded is not None and pane.loaded.fingerprint is not None, "all lanes")
    return pane


async def test_branches_tags_and_what_expired_are_on_one_page(forked: Path) -> None:
    async with sitting(forked) as console:
        await open_timeline(console)
        await console.sees(
            "[7 Timeline]", " ●   3  fix", "◇─╯   2  main    v2", "○     1  main    old (expired, kept)"
        )
        assert "▾ shop" not in console.text


async def test_keys_act_on_the_commit_and_on_its_branch(forked: Path) -> None:
    async with sitting(forked, (120, 40)) as console:
        await open_timeline(console)
        await console.press("g")
        await console.sees("snapshot 3", "branch fix")
        await console.press("y")
        await console.sees("Sent to terminal: snapshot.3")
        await console.press("space", "j", "space")
        await console.sees("Marked fix:snapshot.3 and snapshot.5")
        await console.press("escape", "g", "s")
        await console.sees("Save fix of shop.orders as savepoint 1 (snapshot 3")
        await console.press("escape", "g", "j", "b")
        await console.sees("create-branch", "snapshot      5", "Fill in: name.")
        await console.press("escape", "G", "b")
        await console.sees("create-branch", "old     ", "Fill in: name")
        await console.press("escape", "enter")
        await console.sees("FROM shop.orders VERSION AS OF 'old'")
        await console.press("escape", "7", "g", "enter")
        await console.sees("FROM shop.`orders$branch_fix` VERSION AS OF 'snapshot.3'")


async def test_what_knows_versions_of_main_alone_takes_none_of_a_branch(forked: Path) -> None:
    async with sitting(forked, (120, 40)) as console:
        await open_timeline(console)
        await console.press("g", "B")
        await console.sees("rollback · shop.orders")
        assert "snapshot.3" not in console.text.split("rollback · shop.orders")[1].split("──")[0]


async def test_a_long_run_folds_unfolds_and_no_key_takes_it_for_a_commit(hourly: Path) -> None:
    async with sitting(hourly, (100, 40)) as console:
        pane = await open_timeline(console, "t")
        await console.press("G")
        await console.sees("┊", "… 290 commits, 12 d …", "snapshots 1 to 290")
        for key in ("s", "t", "space", "p", "y"):
            console.app.browse.key_bar.hush()
            await console.press(key)
            await console.sees("These are 290 commits: enter shows them")
        await console.press("enter")
        await console.sees("snapshot 290 ", "11 of 61")
        await console.press("G")
        await console.sees("… 240 commits, 9 d …")
        await console.press("k", "f")
        await console.sees("… 290 commits, 12 d …", "11 of 11")
        assert pane.grid.count == 11


async def test_older_rows_are_read_where_one_asks(hourly: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paimark.tui.panes.timeline.timeline_pane._ROWS", 8)
    async with sitting(hourly, (100, 40)) as console:
        await open_timeline(console, "t")
        await console.press("G")
        await console.sees("… 3 older rows …", "9 of 9")
        await console.press("s")
        await console.sees(about("older rows", "enter"))
        await console.press("enter")
        await console.sees("… 290 commits, 12 d …", "9 of 11")


async def test_a_time_leads_to_the_commit_that_was_newest_then(hourly: Path) -> None:
    async with sitting(hourly, (100, 40)) as console:
        await open_timeline(console, "t")
        await console.press("at")
        await console.type("soon")
        await console.press("enter")
        await console.sees(about("'soon'", "not", "time"), "2 h ago")
        console.app.query_one(AskLine).input.value = "2023-11-18 02:10Z"
        await console.press("enter")
        await console.sees("snapshot 76 ", "Snapshot 76 of main, committed", "… 210 commits", "… 71 commits")
        await console.press("at", *"2020", "enter")
        await console.sees(about("nothing", "old", "2020-01-01"))
        await console.press("at", "escape", "j")
        await console.sees("snapshot 75 ")


async def test_a_new_commit_and_a_new_tag_appear_without_a_key(forked: Path) -> None:
    async with sitting(forked, (120, 40)) as console:
        await open_timeline(console)
        open_table(forked, "shop.orders").create_tag("later", 4)
        row = {"order_id": [1], "customer": ["fixed"], "price": [0.5]}
        commit(forked, "shop.orders", pa.table(row, schema=ORDERS))
        console.app.browse.follow()
        await console.sees("6  main", "later")


async def test_a_table_without_commits_says_what_to_do(tmp_path: Path) -> None:
    create_table(tmp_path, "shop.empty", ORDERS)
    async with sitting(tmp_path) as console:
        await open_timeline(console, "empty")
        await console.sees(about("no commits", "6", "INSERT"))
        # Of all keys of rows, the one that no action has the name of; twice, as people do.
        await console.press("x", "x")
        await console.sees(about("no row"))
        await console.press("8", "h", "x")
        await console.sees("[8 Space")


async def test_hostile_names_of_branches_and_tags_have_no_effect(forked: Path) -> None:
    table = forked / ROOT.directory
    name = MARKUP.replace("/", "") + "\u202e"
    (table / "branch" / "branch-fix").rename(table / "branch" / f"branch-{name}")
    shutil.copy(table / "tag" / "tag-v2", table / "tag" / "tag-[b]x[")
    async with sitting(forked, (120, 40)) as console:
        await open_timeline(console)
        await console.press("g")
        await console.sees("a[b][red]x[li", "[b]x[, v2", f"branch {MARKUP.replace('/', '')}�")
        assert_harmless(console)


def test_a_bar_says_added_and_removed_without_colour() -> None:
    assert [bar(each, 600) for each in (600, 150, 1, -600, -1, 0, None)] == [
        "+━━━━━━",
        "+━━━",
        "+╸",
        "-┄┄┄┄┄┄",
        "-┄",
        None,
        None,
    ]


async def test_merges_and_replacements_are_said_at_their_commits(warehouse: Path) -> None:
    """As the actions record them; an undone replacement is no longer said."""
    files, table = LocalFiles(str(warehouse)), ROOT.table
    act(warehouse, "create-branch", name="fix", tag="v2")
    row = {"order_id": [1], "customer": ["fixed"], "price": [0.5]}
    commit(warehouse, "shop.orders$branch_fix", pa.table(row, schema=ORDERS))
    main, head = Lineage(files, ROOT).snapshot(5), Lineage(files, table.root("fix")).snapshot(3)
    merge = MergeEvent(kind="merge", main=point_of(main), branch="fix", head=point_of(head))
    record(files, table, merge)
    async with sitting(warehouse, (120, 40)) as console:
        await open_timeline(console)
        await console.sees("●─╮   5  main    merge of fix", "│ ●   3  fix", "◇─╯   2")
        act(warehouse, "replace-main-branch", name="fix")
        await console.press("r")
        await console.sees("MAIN fix", about("fix", "became main", "main-*"))
        act(warehouse, "undo")
        await console.press("r")
        await console.loses("became main")


async def test_a_broken_merge_record_is_said_and_hides_nothing(forked: Path) -> None:
    (forked / ROOT.table.merges).write_text("{\n")
    async with sitting(forked, (120, 40)) as console:
        await open_timeline(console)
        await console.sees("◇─╯", "! 1 file unreadable: L says which")


async def test_keys_act_on_what_a_row_stands_for(forked: Path) -> None:
    """Tags, the savepoint and branches of the row itself, and never one of the same name elsewhere."""
    act(forked, "create-savepoint")
    act(forked, "create-tag", name="old", snapshot=3, branch="fix")
    act(forked, "create-branch", name="newborn", tag="v2")
    row = {"order_id": [1], "customer": ["fixed"], "price": [0.5]}
    commit(forked, "shop.orders$branch_fix", pa.table(row, schema=ORDERS))
    async with sitting(forked, (120, 40)) as console:
        pane = await open_timeline(console)

        async def at(snapshot: int, branch: str) -> None:
            rows = pane.rows.records
            pane.grid.move_to(
                next(
                    i
                    for i, r in enumerate(rows)
                    if r and (r.run.newest, r.lane.root.label) == (snapshot, branch)
                )
            )
            await console.sees(f"snapshot {snapshot} ")

        async def leads_to(key: str, *words: Shown) -> None:
            await console.press(key)
            await console.sees(*words)
            await console.press("escape")
            await console.until(lambda: console.app.screen is console.app.browse, "it closes")

        await at(5, "main")
        await leads_to("x", "delete-savepoint · shop.orders", "Delete savepoint 1 of shop.orders")
        await at(1, "main")
        await leads_to("x", "delete-tag · shop.orders", "Delete tag old of shop.orders")
        await leads_to("T", "rename-tag · shop.orders", "old", "Fill in: to")
        await at(3, "fix")
        await leads_to("m", "merge-branch · shop.orders", "branch fix into main", "[ Apply ]")
        await leads_to("R", "replace-main-branch · shop.orders", about("refused:", "tags", "one name"))
        await leads_to("P", "alter-branch-schema · shop.orders", "snapshot.num-retained.max")
        await leads_to("T", "rename-tag · shop.orders", "old ", "branch        fix")
        await leads_to("x", "delete-tag · shop.orders", "name old · branch fix")
        await at(4, "fix")
        await leads_to("x", "delete-branch · shop.orders", "Delete branch fix of shop.orders")
        await at(2, "main")
        await leads_to("m", "merge-branch · shop.orders", "all of branch newborn already")
        await leads_to("x", "delete: which one?", "tag v2 of main", "branch newborn")
        await console.press("x", *"new", "enter")
        await console.sees("delete-branch · shop.orders", "Delete branch newborn of shop.orders")
        await console.press("escape")
        # In a burst: the last key is for the plan, which is open by then.
        await console.burst("x", *"new", "enter", "escape")
        await console.until(lambda: console.app.screen is console.app.browse, "it closes")
        assert pane.grid.has_focus
        await at(3, "main")
        await console.press("x")
        await console.sees(about("no tag", "savepoint", "no branch"))
        await console.press("P")
        await console.sees(about("branch", "main", "expired", "options"))


async def test_a_commit_is_followed_to_the_archive_when_main_is_replaced(forked: Path) -> None:
    """The archive has the same commit: it is not gone. On a long lane it would be folded away."""
    for _ in range(12):
        row = {"order_id": [1], "customer": ["more"], "price": [0.5]}
        commit(forked, "shop.orders", pa.table(row, schema=ORDERS))
    async with sitting(forked, (120, 40)) as console:
        pane = await open_timeline(console)
        for snapshot in (7, 2):
            index = next(i for i, row in enumerate(pane.rows.records) if row and row.run.newest == snapshot)
            pane.grid.move_to(index)
            await console.sees(f"snapshot {snapshot} ")
            act(forked, "replace-main-branch", name="fix")
            await console.press("r")
            await console.sees("MAIN fix", f"snapshot {snapshot} ")
            row_now = pane.rows.records[pane.grid.index or 0]
            assert row_now is not None and row_now.run.newest == snapshot
            assert row_now.lane.root.label.startswith("main-" if snapshot == 7 else "fix")
            act(forked, "undo")
            await console.press("r")
            await console.loses("MAIN fix")
            await console.sees(f"snapshot {snapshot} ")
            row_now = pane.rows.records[pane.grid.index or 0]
            assert row_now is not None and (row_now.run.newest, row_now.is_main) == (snapshot, True)


async def test_a_filter_finds_every_branch_by_its_name(forked: Path) -> None:
    """Also the fourth branch at a commit, which is not named there, and main by its own name."""
    for letter in "abcd":
        act(forked, "create-branch", name=f"newborn-{letter}", tag="v2")
    async with sitting(forked, (120, 40)) as console:
        await open_timeline(console)
        await console.sees("branches newborn-a")
        for text in ("newborn-d", "what~newborn-d"):
            await console.press("slash", *text, "enter")
            await console.sees("1 of 1", "snapshot 2 ")
            await console.press("escape")
        act(forked, "replace-main-branch", name="fix")
        await console.press("r")
        await console.sees("MAIN fix")
        await console.press("slash", *"branch=fix", "enter")
        await console.sees("snapshot 2 ", "2 of 3 (6 in all)")


async def test_a_jump_to_a_commit_that_the_filter_hides_says_so(hourly: Path) -> None:
    async with sitting(hourly, (100, 40)) as console:
        pane = await open_timeline(console, "t")
        await console.press("slash", *"id>295", "enter")
        await console.sees("1 of 5")
        await console.press("at", *"2023-11-26 18:10Z", "enter")
        await console.sees(about("/id>295", "esc", "filter"))
        assert pane.grid.index == 0
        await console.press("at", *"2023-11-27 08:10Z", "enter")
        await console.sees("Snapshot 298 of main", "snapshot 298 ", "3 of 5")


async def test_keys_that_need_the_branches_wait_for_them_in_the_timeline(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Main's rows come first, and for these keys no row of theirs is missing."""
    may_go_on = threading.Event()

    def read_late(*of: Any) -> LaneData:
        assert may_go_on.wait(60)
        return read_lane_data(*of)

    monkeypatch.setattr(timeline_pane, "read_lane_data", read_late)
    async with at_orders(warehouse, (100, 24)) as console:
        await console.press("7")
        await console.sees("[7 Timeline]", "●   5  main")
        await console.press("j", "R")
        await console.sees(about("1 key", "branches"), "snapshot 4")
        may_go_on.set()
        await console.sees(about("branch", "main", "already"))


async def test_keys_that_need_branches_that_could_not_be_read_say_so(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*of: Any) -> LaneData:
        raise Denied("The store denies access to the branches", "Ask for it.")

    monkeypatch.setattr(timeline_pane, "read_lane_data", fail)
    async with at_orders(warehouse, (100, 24)) as console:
        await console.press("7")
        await console.sees("[7 Timeline]", "not refreshed: The store denies access to")
        await console.press("j", "R")
        await console.sees(about("branches", "not be read", "r"))
        monkeypatch.setattr(timeline_pane, "read_lane_data", read_lane_data)
        await console.press("r")
        await console.sees("2 of 5")
        assert "denies" not in console.text

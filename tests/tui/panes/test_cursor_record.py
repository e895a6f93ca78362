"""Figures and actions are of the record under the cursor: of no other with its number, of no neighbour."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.figures import clock_time
from paimark.tui.panes.pane import PaneRows
from paimark.tui.panes.tags import TagRows, TagsPane
from paimark.tui.session import Opened
from paimark.tui.work.background import ThreadReport
from tests.conftest import ORDERS
from tests.paimon import commit
from tests.table.branches import create_branch
from tests.tui.driving import Sitting, at_orders, sitting
from tests.wording import about


def a_row(order_id: int) -> pa.Table:
    return pa.table({"order_id": [order_id], "customer": ["c9"], "price": [1.0]}, schema=ORDERS)


def snapshot_file(warehouse: Path, table: str, snapshot_id: int, branch: str = "") -> Path:
    root = warehouse / "shop.db" / table / (f"branch/branch-{branch}" if branch else "")
    return root / "snapshot" / f"snapshot-{snapshot_id}"


def said_of(path: Path) -> tuple[str, str]:
    """The commit time of a snapshot as the strip shows it, and the beginning of its commit user."""
    record = json.loads(path.read_bytes())
    time_ms = int(record["timeMillis"])
    return f"{clock_time(time_ms)}.{time_ms % 1000:03d}", str(record["commitUser"])[:8]


async def to_orders(console: Sitting, *keys: str) -> None:
    await console.sees("● events", "1 of 2")
    await console.press("j", "enter")
    await console.sees("● orders", "1 of 5", "user ")
    await console.press(*keys)


async def test_the_strip_shows_this_tables_snapshot_of_the_same_number(warehouse: Path) -> None:
    async with sitting(warehouse, (120, 40)) as console:
        await to_orders(console, "G", "k")
        await console.sees("snapshot 2 ", *said_of(snapshot_file(warehouse, "orders", 2)))
        await console.press("escape", "k")
        await console.sees("● events", "snapshot 2 ", *said_of(snapshot_file(warehouse, "events", 2)))


async def test_the_strip_shows_this_branchs_snapshot_of_the_same_number(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[str] = []
    monkeypatch.setattr(
        "paimark.tui.terminal.clipboard.copy_sequence", lambda text, environment: copied.append(text)
    )
    create_branch(warehouse, "shop.orders", "fix", "v2")
    commit(warehouse, "shop.orders$branch_fix", a_row(99))
    theirs = snapshot_file(warehouse, "orders", 3, "fix")
    async with sitting(warehouse, (120, 40)) as console:
        await to_orders(console, "j", "j")
        await console.sees("snapshot 3 ", *said_of(snapshot_file(warehouse, "orders", 3)))
        await console.press("3", "j")
        await console.sees("branch fix")
        await console.press("v")
        await console.sees("orders › fix", "snapshot 3 ", *said_of(theirs))
        await console.press("i")
        await console.sees("base manifest list", *said_of(theirs))
        await console.press("escape", "Y")
        record = json.loads(copied[-1])
        in_file = json.loads(theirs.read_bytes())
        assert (record["user"], record["delta manifest list"]) == (
            in_file["commitUser"],
            in_file["deltaManifestList"],
        )


async def test_what_only_programs_read_is_in_the_record_and_not_in_the_strip(warehouse: Path) -> None:
    user = str(json.loads(snapshot_file(warehouse, "orders", 5).read_bytes())["commitUser"])
    async with at_orders(warehouse, (120, 40)) as console:
        await console.sees(f"user {user[:8]}… ")
        assert "manifest list" not in console.text and user not in console.text
        # A filter finds all of it.
        await console.press("slash")
        await console.type(user)
        await console.sees(f"/{user[:8]}", "snapshot 5 ")
        await console.press("escape", "i")
        await console.sees("base manifest list", user)


async def test_a_number_given_again_is_another_snapshot(warehouse: Path) -> None:
    """As after a truncation: the same id, the same root, another commit."""
    path = snapshot_file(warehouse, "orders", 5)
    async with at_orders(warehouse, (120, 40)) as console:
        await console.sees(*said_of(path))
        record = json.loads(path.read_bytes())
        again = {**record, "timeMillis": record["timeMillis"] + 60_000, "commitUser": "somebody-else"}
        path.write_text(json.dumps(again))
        console.app.browse.pane.follow()
        await console.sees("snapshot.5 is gone")
        await console.press("k")
        await console.sees("snapshot 5 ", *said_of(path))


async def test_a_tag_marks_only_the_commit_that_it_holds(warehouse: Path) -> None:
    """A tag of a snapshot whose number was given again does not keep the new one."""
    path = snapshot_file(warehouse, "orders", 2)
    record = json.loads(path.read_bytes())
    path.write_text(json.dumps({**record, "timeMillis": record["timeMillis"] + 1, "commitUser": "other"}))
    async with sitting(warehouse, (120, 40)) as console:
        await to_orders(console, "G", "k")
        await console.sees("snapshot 2 ", "user other")
        await console.until(lambda: not console.app.browse.snapshots._reading_marks.busy)
        assert "◇" not in console.text


@pytest.mark.parametrize("keys", [["o"], ["o", "O"], ["o", "o", "o"], ["slash", "A", "P", "P", "enter"]])
async def test_new_commits_leave_the_cursor_on_its_snapshot(warehouse: Path, keys: list[str]) -> None:
    """Sorted by the id, either way, by the time, and filtered."""
    async with sitting(warehouse, (120, 40)) as console:
        await to_orders(console, "j", "j", *keys)
        await console.sees("snapshot 3 ")
        for number in range(3):
            commit(warehouse, "shop.orders", a_row(100 + number))
        console.app.browse.pane.follow()
        await console.sees("Snapshots 8", "snapshot 3 ")
        await console.press("s")
        await console.sees("(snapshot 3")


async def test_taking_a_filter_away_leaves_the_cursor_on_its_snapshot(warehouse: Path) -> None:
    async with sitting(warehouse, (120, 40)) as console:
        # The tag's name is read after the snapshots.
        await to_orders(console)
        await console.sees("◇")
        await console.press("slash")
        await console.type("v2")
        await console.sees("snapshot 2 ", "1 of 1")
        await console.press("escape")
        await console.sees("4 of 5", "snapshot 2 ")


async def test_an_action_does_not_slip_from_a_record_that_went_away(warehouse: Path) -> None:
    async with sitting(warehouse, (120, 40)) as console:
        await to_orders(console, "G")
        await console.sees("snapshot 1 ", "5 of 5")
        snapshot_file(warehouse, "orders", 1).unlink()
        console.app.browse.pane.follow()
        await console.sees("snapshot.1 is gone", "– of 4")
        for key in ("s", "t", "B", "enter", "p", "space", "y", "Y", "i"):
            await console.press(key)
            await console.sees(about("snapshot.1", "gone", "row"))
            assert console.app.screen is console.app.browse
            assert console.app.browse.marks == []
            console.app.browse.key_bar.hush()
        await console.press("k")
        await console.sees("4 of 4", "snapshot 2 ")
        await console.press("s")
        await console.sees("(snapshot 2")


async def test_rows_deleted_above_leave_the_cursor_on_its_tag(warehouse: Path) -> None:
    tags = warehouse / "shop.db/orders/tag"
    for name in ("a", "b", "c"):
        (tags / f"tag-{name}").write_bytes((tags / "tag-v2").read_bytes())
    async with sitting(warehouse, (120, 40)) as console:
        await to_orders(console, "4")
        await console.sees("tag a", "1 of 4")
        await console.press("j", "j")
        await console.sees("tag c", "3 of 4")
        (tags / "tag-a").unlink()
        console.app.browse.pane.follow()
        await console.sees("tag c", "2 of 3")
        (tags / "tag-c").unlink()
        console.app.browse.pane.follow()
        await console.sees("c is gone", "– of 2")
        await console.press("x")
        await console.sees(about("c", "gone", "row"))
        await console.press("j", "x")
        await console.sees("delete-tag · shop.orders", "type v2 to go on")


async def test_a_savepoint_is_of_the_row_under_the_cursor_though_a_commit_came_meanwhile(
    warehouse: Path,
) -> None:
    async with at_orders(warehouse, (120, 40)) as console:
        commit(warehouse, "shop.orders", a_row(100))
        await console.press("s")
        await console.sees("(snapshot 5")


@pytest.mark.parametrize("name", ["restore", "recover", "auto-savepoint", "rescue-commits"])
async def test_an_action_on_the_table_needs_no_row(warehouse: Path, name: str) -> None:
    """As the keys of undo and redo."""
    async with sitting(warehouse, (120, 40)) as console:
        await to_orders(console, "G")
        await console.sees("snapshot 1 ", "5 of 5")
        snapshot_file(warehouse, "orders", 1).unlink()
        console.app.browse.pane.follow()
        await console.sees("snapshot.1 is gone", "– of 4")
        await console.press("colon", *name, "enter")
        await console.sees(f"{name} · shop.orders")


async def test_a_late_answer_of_a_table_left_behind_counts_for_nothing(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tab that still reads when it is left, and whose table is left too."""
    answer = threading.Event()
    async with sitting(warehouse, (120, 40)) as console:
        await to_orders(console, "4")
        await console.sees("Tags 1", "tag v2")
        tags = console.app.query_one(TagsPane)
        read = tags.read

        def late(opened: Opened, report: ThreadReport[PaneRows[TagRows]]) -> None:
            answer.wait(10)
            read(opened, report)

        monkeypatch.setattr(tags, "read", late)
        tags.reload()
        await console.press("1", "escape", "k")
        await console.sees("● events", "─ 1 branch ─")
        answer.set()
        await console.until(lambda: not any("paimark-tags" in each.name for each in threading.enumerate()))
        await console.pilot.pause(0.1)
        assert "tag" not in console.text.splitlines()[2]

"""Several rows marked, and one action on all of them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from textual import events

from paimark.core.actions.change.operations import stacks
from paimark.core.config import Settings
from paimark.core.storage.known_options import VERIFY_WAIT_OPTION
from paimark.tui.panes.pane import PaneRows
from paimark.tui.panes.snapshots import SnapshotRows, SnapshotsPane
from paimark.tui.session import Session
from tests.actions.acting import ORDERS, context_on
from tests.table.lineages import write_lineage
from tests.tui.conftest import act
from tests.tui.driving import Sitting, at_orders, sitting
from tests.wording import about


def hasty(warehouse: Path) -> Session:
    """Does not wait to prove that nothing of a snapshot is being deleted."""
    return Session(Settings(str(warehouse), options={VERIFY_WAIT_OPTION: "0 s"}))


def labels(console: Sitting) -> list[str]:
    return [mark.label for mark in console.app.browse.marks]


def tags(warehouse: Path) -> set[str]:
    return {path.name.removeprefix("tag-") for path in (warehouse / ORDERS.root().tags).iterdir()}


async def test_a_range_is_tagged_deleted_and_brought_back_at_once(warehouse: Path) -> None:
    async with at_orders(warehouse, (100, 40), session=hasty(warehouse)) as console:
        await console.press("j", "V")
        await console.sees("Marking from here", "2 of 5, 1 marked")
        await console.press("j", "j", "j", "k")
        assert labels(console) == ["snapshot.4", "snapshot.3", "snapshot.2"]
        await console.sees("▌* 2", " * 4", "4 of 5, 3 marked")
        await console.press("V", "k", "k", "k")
        assert labels(console) == ["snapshot.4", "snapshot.3", "snapshot.2"]
        await console.press("t")
        await console.sees("create-tag · shop.orders", "Fill in: name.")
        await console.type("n-{id}")
        await console.sees("Make tags n-2, n-3 and n-4 of shop.orders.", "[ Apply ]")
        await console.press("enter", "a")
        await console.sees("Made tags n-2, n-3 and n-4 of shop.orders")
        assert tags(warehouse) == {"v2", "n-2", "n-3", "n-4"}
        await console.press("escape")
        assert labels(console) == []
        await console.press("4")
        await console.sees("n-4", "1 of 4")
        # From below upwards, and the tag that is not ours stays out.
        await console.press("j", "j", "V", "g", "V", "x")
        await console.sees("Delete tags n-4, n-3 and n-2 of shop.orders", "type 3 to go on")
        await console.press("a", "enter")
        await console.until(lambda: console.app.screen is console.app.browse)
        assert "n-4" in tags(warehouse) and len(labels(console)) == 3
        await console.press("x")
        await console.sees("Delete tags n-4, n-3 and n-2 of shop.orders")
        await console.press("c", "3", "enter", "a")
        await console.sees("Deleted tags n-4, n-3 and n-2 of shop.orders")
        assert tags(warehouse) == {"v2"}


async def test_one_key_takes_back_what_was_made_of_several(warehouse: Path) -> None:
    async with at_orders(warehouse, (100, 40), session=hasty(warehouse)) as console:
        await console.press("space", "j", "space", "s")
        await console.sees("Make 2 savepoints of shop.orders")
        await console.press("a")
        await console.sees("Made 2 savepoints")
        await console.press("escape", "u")
        await console.sees(": delete savepoints ", "loses    ", "[ Apply ]")
        await console.press("a")
        await console.sees("Deleted savepoints ")
        assert len(stacks(context_on(warehouse), ORDERS).redo) == 2


async def test_what_can_not_be_done_to_all_marked_rows_is_said(warehouse: Path) -> None:
    act(warehouse, "create-branch", name="b", tag="v2")
    act(warehouse, "create-tag", name="n", snapshot=3)
    async with at_orders(warehouse, (100, 40), session=hasty(warehouse)) as console:
        await console.press("space", "4")
        await console.sees("1 of 2, 1 marked")
        await console.press("space", "x")
        await console.sees("2 rows are marked, 1 of them here")
        await console.press("j", "space", "x")
        await console.sees("delete-tag · shop.orders", about("refused:", "branch b", "tag v2"))
        await console.press("escape", "escape", "3")
        await console.sees("1 of 2")
        await console.press("V", "j", "V", "x")
        await console.sees(about("delete-branch", "can't", "main"))
        await console.press("escape", "V", "escape", "j")
        assert console.app.browse.marks == []


async def test_a_range_longer_than_is_allowed_ends_before_the_cursor(tmp_path: Path) -> None:
    write_lineage(tmp_path, {each: 1_699_999_200_000 + each for each in range(1, 602)})
    async with sitting(tmp_path) as console:
        await console.sees("● t")
        await console.press("enter")
        await console.sees("1 of 601")
        await console.press("j", "V", "G")
        await console.sees("A range has 500 rows at most", "601 of 601, 500 marked")
        assert (labels(console)[0], labels(console)[-1]) == ("snapshot.600", "snapshot.101")
        await console.press("g", "k")
        assert labels(console) == ["snapshot.601", "snapshot.600"]
        await console.press("V", "escape", "G", "V", "g")
        await console.sees("A range has 500 rows at most", "1 of 601, 500 marked")
        assert (labels(console)[0], labels(console)[-1]) == ("snapshot.500", "snapshot.1")


async def test_all_rows_are_read_though_the_focus_comes_when_the_reading_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_lineage(tmp_path, {each: 1_699_999_200_000 + each for each in range(1, 302)})
    take = SnapshotsPane.take

    def late_take(pane: SnapshotsPane, loaded: PaneRows[SnapshotRows]) -> None:
        if loaded.total is not None and loaded.total > len(loaded.rows):
            _wait_for_threads("paimark-snapshots")
            pane.on_descendant_focus(events.DescendantFocus(pane.grid))
        take(pane, loaded)

    monkeypatch.setattr(SnapshotsPane, "take", late_take)
    async with sitting(tmp_path) as console:
        await console.sees("1 of 301")


def _wait_for_threads(name: str) -> None:
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join()

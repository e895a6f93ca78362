"""The conflicts of a merge, looked at and chosen in before it is applied and after it was refused."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from paimark.core.config import state_directory
from paimark.core.spark.client.client import Engine
from paimark.core.table.layout import TablePath
from paimark.tui.dialogs.conflicts import screen
from paimark.tui.dialogs.conflicts.choosing import Choosing, kept_file
from tests.paimon import commit, read_rows
from tests.table.branches import create_branch
from tests.tui.driving import planning_merge, with_engine
from tests.tui.test_hostile_text import COPIES, MARKUP, assert_harmless
from tests.tui.work.test_running_change import orders
from tests.wording import about


def in_conflict(warehouse: Path, table: str) -> Path:
    """Branch fix and main changed the prices of keys 1 and 2 to others; main's directory of snapshots."""
    create_branch(warehouse, table, "fix", "v2")
    commit(warehouse, f"{table}$branch_fix", orders((1, MARKUP + COPIES, 1.5), (2, "c2", 2.5)))
    commit(warehouse, table, orders((1, "c1", 7.5), (2, "c2", 8.5)))
    database, _, name = table.partition(".")
    return warehouse / f"{database}.db" / name / "snapshot"


def hold_saving(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Choices are written once it is set."""
    may_save, save = threading.Event(), Choosing.save

    def save_then(choosing: Choosing) -> None:
        assert may_save.wait(60)
        save(choosing)

    monkeypatch.setattr(Choosing, "save", save_then)
    return may_save


async def test_what_the_looking_waits_for_is_said_and_it_can_be_cancelled(warehouse: Path) -> None:
    in_conflict(warehouse, "shop.orders")
    async with planning_merge("shop.orders", warehouse) as console:
        await console.press("v")
        await console.sees("Spark is starting, 1 s", "ctrl+c cancels")
        await console.press("ctrl+c")
        await console.sees(about("statement", "cancelled"))
        await console.press("escape")
        await console.sees("branch fix into main", "▸[ Cancel ]")


async def test_the_key_of_the_conflicts_waits_for_the_plan(warehouse: Path) -> None:
    in_conflict(warehouse, "shop.orders")
    async with planning_merge("shop.orders", warehouse) as console:
        await console.press("escape")
        await console.loses("[ Apply ]")
        await console.burst("m", "v")
        await console.sees("conflicts of branch fix with main")
        # Else it writes its choices into the next test's directory.
        await console.press("escape")
        await console.until(lambda: "paimark-conflicts" not in {t.name for t in threading.enumerate()})


async def test_conflicts_are_chosen_before_the_merge_is_planned_anew_and_applied(
    engine_warehouse: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(engine_warehouse / "shop.db/orders", engine_warehouse / "beside.db/orders")
    snapshots = in_conflict(engine_warehouse, "beside.orders")
    session = with_engine(engine_warehouse, engine)
    monkeypatch.setattr(screen, "SAVE_SECONDS", 0.05)
    async with planning_merge("beside.orders", engine_warehouse, session=session) as console:
        await console.press("a")
        await console.sees("✗ failed", "2 keys changed in main and in branch fix", "v conflicts")
        await console.press("v")
        await console.sees("0 of 2 keys decided", "order_id", "base", "main", "branch", "7.5", "1.5")
        await console.sees("[red]x", "undecided", "A all  ", "m b n main, branch, neither", "? keys  ^q quit")
        assert_harmless(console)
        await console.press("i")
        await console.sees("key 1", "price in base", "11.0", "price in main", "price in branch", "1.5")
        assert_harmless(console)
        # On to the cell that both changed: nobody has to choose what the branch alone did.
        await console.press("escape", "u", "m", "n", "b", "u")
        await console.sees("1 of 2 keys decided")
        # The console may be killed while it is open.
        choices = Path(kept_file(str(engine_warehouse), TablePath("beside", "orders"), "fix"))
        await console.until(lambda: '"price":"branch"' in choices.read_text(), "the choice is kept")
        # A slow disk: the row that was opened meanwhile is closed first, and this then.
        with monkeypatch.context() as patched:
            written = hold_saving(patched)
            await console.press("escape", "i")
            await console.sees("price in base")
            written.set()
            await console.until(lambda: "paimark-choices" not in {t.name for t in threading.enumerate()})
            await console.press("escape")
            await console.sees("1 of 2 keys decided")
        # Twice in quick succession: what is open below stays open.
        await console.burst("escape", "escape")
        await console.sees(about("1 of 2 keys", "undecided"), "Refused:", "`v`")
        assert "Apply" not in console.text
        await console.press("v")
        await console.sees("1 of 2 keys decided")
        await console.press("A")
        await console.sees(about("main", "undecided", "1 key"), about("branch", "all 2 keys"))
        await console.press("enter")
        await console.sees("2 of 2 keys decided", about("1 key", "main"))
        await console.press("G", "C")
        await console.sees("Choose column price", "price undecided again")
        await console.press("escape", "escape")
        await console.sees(about("chosen", "1"), "type fix")
        await console.press("c", *"fix", "enter")
        await console.sees("[ Apply ]")
        assert not (snapshots / "snapshot-7").exists()
        await console.press("a")
        await console.sees("✓ done", "1 as in main, 1 column by column")
        assert (snapshots / "snapshot-7").exists()
    prices = {row["order_id"]: row["price"] for row in read_rows(engine_warehouse, "beside.orders")}
    assert (prices[1], prices[2]) == (1.5, 8.5)
    kept = [*(state_directory() / "conflicts").iterdir()]
    assert [each.name.partition("-")[0] for each in kept] == ["beside.orders"]


def test_what_was_chosen_long_ago_for_other_branches_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such files hold rows of tables."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    old, young = (Path(kept_file("w", TablePath("a", "b/../c"), branch)) for branch in ("old", "young"))
    for path in (old, young):
        assert path.parent == state_directory() / "conflicts"
        path.touch()
    os.utime(old, (0, 0))
    kept_file("w", TablePath("a", "other"), "fix")
    assert (old.exists(), young.exists()) == (False, True)

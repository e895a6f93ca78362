"""The conflicts of a merge, looked at before it is applied and after it was refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.actions.merge import conflicts as merge_conflicts
from core.spark.client.client import Engine
from tests.paimon import commit
from tests.table.branches import create_branch
from tests.tui.driving import planning_merge, with_engine
from tests.tui.test_hostile_text import COPIES, MARKUP, assert_harmless
from tests.tui.work.test_running_change import orders


def in_conflict(warehouse: Path, table: str) -> Path:
    """Branch fix and main changed the prices of keys 1 and 2 to others; main's directory of snapshots."""
    create_branch(warehouse, table, "fix", "v2")
    commit(warehouse, f"{table}$branch_fix", orders((1, MARKUP + COPIES, 1.5), (2, "c2", 2.5)))
    commit(warehouse, table, orders((1, "c1", 7.5), (2, "c2", 8.5)))
    database, _, name = table.partition(".")
    return warehouse / f"{database}.db" / name / "snapshot"


async def test_what_the_looking_waits_for_is_said_and_it_can_be_cancelled(warehouse: Path) -> None:
    in_conflict(warehouse, "shop.orders")
    async with planning_merge("shop.orders", warehouse) as console:
        await console.press("v")
        await console.sees("Spark is starting, 1 s", "ctrl+c cancels")
        await console.press("ctrl+c")
        await console.sees("The statement was cancelled")
        await console.press("escape")
        await console.sees("Merge what branch fix", "▸[ Cancel ]")


@pytest.mark.parametrize("shown", [1000, 1])
async def test_conflicts_are_shown_before_the_merge_and_after_it_was_refused(
    engine_warehouse: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch, shown: int
) -> None:
    monkeypatch.setattr(merge_conflicts, "SHOWN", shown)
    database = f"beside{shown}"
    shutil.copytree(engine_warehouse / "shop.db/orders", engine_warehouse / f"{database}.db/orders")
    snapshots = in_conflict(engine_warehouse, f"{database}.orders")
    session = with_engine(engine_warehouse, engine)
    async with planning_merge(f"{database}.orders", engine_warehouse, (120, 36), session=session) as console:
        await console.press("v")
        if shown == 1:
            await console.sees("the first 1 of 2 keys in conflict")
            return
        await console.sees("2 keys in conflict", "order_id", "base", "main", "branch", "7.5", "2.5")
        await console.sees("[red]x")
        assert_harmless(console)
        await console.press("i")
        await console.sees("key 1", "price in base", "11.0", "price in main", "price in branch", "1.5")
        assert_harmless(console)
        await console.press("escape", "escape")
        await console.sees("Merge what branch fix", "v conflicts")
        await console.press("c")
        await console.type("fix")
        await console.press("enter", "a")
        await console.sees("✗ failed", "2 keys changed in main and in branch fix", "v conflicts")
        await console.press("v")
        await console.sees("2 keys in conflict", "8.5")
        assert not (snapshots / "snapshot-7").exists()

"""A change that takes long: what it waits for is said, it can be left to itself, and cancelled."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pyarrow as pa

from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.tui.session import Session
from paimark.tui.work.engine_room import EngineRoom
from paimark.tui.work.spark_work import PATIENCE, SparkCaller
from tests.conftest import ORDERS
from tests.paimon import commit
from tests.table.branches import create_branch
from tests.tui.driving import Sitting, planning_merge, with_engine
from tests.wording import about


def orders(*rows: tuple[int, str, float]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(ORDERS.names, row, strict=True)) for row in rows], schema=ORDERS)


def parted(warehouse: Path, table: str = "shop.orders") -> Path:
    """Branch fix of a table, which changed other keys than main did since; main's directory of snapshots."""
    create_branch(warehouse, table, "fix", "v2")
    commit(warehouse, f"{table}$branch_fix", orders((50, "new", 1.0)))
    database, _, name = table.partition(".")
    return warehouse / f"{database}.db" / name / "snapshot"


@asynccontextmanager
async def merging(
    warehouse: Path, session: Session | None = None, table: str = "shop.orders"
) -> AsyncIterator[Sitting]:
    """The merge was begun; Spark is not started yet, unless the session has one."""
    async with planning_merge(table, warehouse, (110, 36), session=session) as console:
        await console.press("a")
        yield console


async def test_what_a_merge_waits_for_is_said_and_it_can_be_cancelled(warehouse: Path) -> None:
    snapshots = parted(warehouse)
    async with merging(warehouse) as console:
        await console.sees("Spark is starting, 1 s", "▸[ To the background ]", "[ Cancel it ]")
        await console.press("ctrl+c")
        await console.sees("! stopped", "Nothing was changed.")
        assert not (snapshots / "snapshot-6").exists()
        assert not (snapshots.parent / "branch/ACTION").exists()
        assert not console.app.session.changes
        await console.press("escape")
        await console.sees("[3 Branches")


@contextmanager
def starting_slowly(console: Sitting) -> Iterator[None]:
    """Stop the engine's process, which is starting: else it may be ready before all keys are typed."""
    process = console.app.session.room.engine._process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        # A stopped process would not see that the test's has ended.
        os.kill(process.pid, signal.SIGCONT)


async def test_a_merge_goes_on_in_the_background_and_is_found_again(warehouse: Path) -> None:
    snapshots = parted(warehouse)
    async with merging(warehouse) as console:
        await console.sees("Spark is starting", "esc to the background")
        with starting_slowly(console):
            await console.press("escape")
            await console.sees("goes on: J finds it again", "[3 Branches", "1 job: J")
            await console.press("ctrl+q")
            await console.sees(about("change", "being written"))
            await console.press("colon")
            await console.type("merge-branch shop.orders")
            await console.sees("running, ")
            await console.press("enter")
            await console.sees("Spark is starting", "branch fix into main")
            await console.press("right", "enter")
        await console.sees("! stopped", "Nothing was changed.")
        assert not (snapshots / "snapshot-6").exists()


async def test_what_ends_in_the_background_is_told_and_its_rows_are_shown(
    engine_warehouse: Path, engine: Engine
) -> None:
    # A copy: the warehouse is the whole suite's.
    shutil.copytree(engine_warehouse / "shop.db" / "orders", engine_warehouse / "left.db" / "orders")
    snapshots = parted(engine_warehouse, "left.orders")
    session = with_engine(engine_warehouse, engine)
    async with merging(engine_warehouse, session, "left.orders") as console:
        await console.sees("To the background")
        await console.press("escape")
        await console.sees("✓ Merged branch fix into main of left.orders")
        assert (snapshots / "snapshot-6").exists()
        await console.press("1")
        await console.sees("of 6", "6  ◇")


class Room(EngineRoom):
    """Counts what it is asked for."""

    def __init__(self) -> None:
        super().__init__(Settings("nowhere"))
        self.asked: list[str] = []

    def cancel(self, of: int | None = None) -> None:
        self.asked.append("cancel")

    def kill(self, of: int | None = None) -> None:
        self.asked.append("kill")


def test_a_warm_spark_is_ended_only_by_who_was_told() -> None:
    room, now = Room(), 100.0
    caller = SparkCaller(clock=lambda: now)
    caller.press_cancel(room)
    now += PATIENCE - 1
    caller.press_cancel(room)
    assert "".join(text for text, _ in caller.cancel_line) == "cancelling  4 s"
    assert room.asked == ["cancel"]
    now += 3
    assert about("ctrl+c", "ends Spark", "temporary views").search(caller.cancel_line[-1][0])
    caller.press_cancel(room)
    caller.press_cancel(room)
    assert room.asked == ["cancel", "kill"]
    assert caller.cancel_line[0][0].strip() == "ending Spark"

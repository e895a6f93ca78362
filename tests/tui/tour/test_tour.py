"""The tour of the demo, on a smaller table: snapshot 5 is the last good one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.config import Settings
from paimark.core.demo.directory import MARKER
from paimark.core.spark.client.client import Engine
from paimark.core.storage.known_options import VERIFY_WAIT_OPTION
from paimark.tui.panes.query import QueryPane
from paimark.tui.session import Session
from paimark.tui.tour import steps
from tests.conftest import ORDERS
from tests.paimon import commit
from tests.tui.driving import Sitting, sitting, with_engine
from tests.wording import about

BAD = {"order_id": [2, 3], "customer": ["c1", "c2"], "price": [-3.0, -4.0]}


@pytest.fixture
def demo(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (warehouse / MARKER).touch()
    commit(warehouse, "shop.orders", pa.table(BAD, schema=ORDERS))
    _hasty(monkeypatch, good=5, faulty=6)
    first = "UPDATE {this} SET price = abs(price) WHERE price < 0 AND customer = 'c1'"
    monkeypatch.setitem(steps._SCRIPTS, "try", first)
    return warehouse


def _hasty(monkeypatch: pytest.MonkeyPatch, good: int, faulty: int) -> None:
    """The tour is of these loads, and of a person who presses keys fast."""
    monkeypatch.setattr("paimark.tui.tour.steps.GOOD", good)
    monkeypatch.setattr("paimark.tui.tour.steps.FAULTY", faulty)
    # Each escape here is meant, also one right after that which closed a dialog.
    monkeypatch.setattr("paimark.tui.keys.early_keys._SECONDS", 0.0)
    # However slow the machine is, two presses in a row are one; `later` is for what comes after.
    monkeypatch.setattr("paimark.tui.tour.tour._TWICE_SECONDS", 600.0)


@asynccontextmanager
async def offered(warehouse: Path, engine: Engine | None = None) -> AsyncIterator[Sitting]:
    settings = Settings(
        str(warehouse), start="shop.orders", offers_tour=True, options={VERIFY_WAIT_OPTION: "1 ms"}
    )
    room = None if engine is None else with_engine(warehouse, engine).room
    async with sitting(warehouse, session=Session(settings, room)) as console:
        await console.sees("● orders", "A tour?", "enter begins it   esc looks around")
        yield console


def later(console: Sitting) -> None:
    """A while after the last f9."""
    console.app.tour._asked_at = float("-inf")


async def written(console: Sitting, words: str) -> None:
    """Let the tour write the statement of its step; a second press at once skips nothing."""
    later(console)
    await console.burst("f9", "f9")
    await console.sees("f9 skips")
    # With the paths of files it can have more lines than the editor shows.
    pane = console.app.browse.pane
    assert isinstance(pane, QueryPane)
    assert words in pane.editor.text


async def done(console: Sitting) -> None:
    await console.sees("✓ done")
    await console.press("escape")


async def skipped(console: Sitting, *words: str) -> None:
    later(console)
    await console.press("f9")
    await console.sees(*words)


async def compared(console: Sitting) -> None:
    """From the snapshots: the last good load and the faulty one."""
    await console.sees("[1 Snapshots]")
    await console.press("g", "space", "j", "space", "D")
    await console.sees("2 changed")
    await console.press("escape")


async def published_and_back(console: Sitting) -> None:
    """From the branches, at the seventh step."""
    await console.sees("Tour 7 of 9: publish it", "On repair press R")
    await console.press("R")
    await console.sees("Make branch repair main")
    await console.applies()
    await console.press("escape")
    await console.sees("Tour 8 of 9: and back", "MAIN = repair")
    await console.press("u")
    await console.sees("undo · shop.orders")
    await console.applies()
    await console.press("escape")
    await console.sees("Tour 9 of 9: that was it", "MAIN = main", "f8 closes it")
    await console.press("f8")
    await console.loses("Tour 9")


# It starts a Spark of its own: that of the other tests has another warehouse.
@pytest.mark.long
async def test_each_step_waits_for_what_one_really_does(demo: Path) -> None:
    async with offered(demo) as console:
        await console.press("enter")
        await console.sees("Tour 1 of 9: since when?", "f9 writes it")
        await written(console, "CALL sys.when")
        await console.press("ctrl+r")
        await console.sees(about("began", "snapshot 6"), "Tour 2 of 9")
        await written(console, "WHERE price < 0")
        await console.press("ctrl+r")
        await console.sees("2 rows")
        await console.press("escape", "H")
        await console.sees("order_id=2", "ctrl+r asks it")
        await console.press("ctrl+r")
        await console.sees("Tour 3 of 9")
        await console.press("escape", "1")
        await compared(console)
        await console.sees("Tour 4 of 9: try a repair")
        await written(console, "CALL sys.try")
        await console.press("ctrl+r")
        await console.sees("[ Apply ]")
        await console.press("a")
        await console.sees(about("check no price below zero", "fails"), "1 row")
        await console.press("escape")
        await console.sees("Tour 5 of 9: a check failed")
        await written(console, "check =>")
        await console.press("ctrl+r")
        await console.sees("[ Apply ]")
        await console.press("a")
        await console.sees("2 checks pass")
        await console.press("escape")
        await console.sees("Tour 6 of 9: look at it")
        await console.press("escape", "3")
        await console.sees("[3 Branch", "▌ main")
        await console.press("g", "j", "D")
        await console.sees("2 changed")
        await console.press("escape")
        await published_and_back(console)


async def test_only_the_difference_of_both_loads_ends_its_step(
    engine_warehouse: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the suite's Spark, on a table that stays as it is."""
    _hasty(monkeypatch, good=3, faulty=4)
    marker = engine_warehouse / MARKER
    marker.touch()
    try:
        async with offered(engine_warehouse, engine) as console:
            await console.press("enter")
            await console.sees("Tour 1 of 9: since when?")
            await written(console, "CALL sys.when")
            await skipped(console, "Tour 2 of 9")
            await written(console, "WHERE price < 0")
            await skipped(console, "Tour 3 of 9")
            await console.press("escape", "1")
            await console.sees("[1 Snapshots]")
            # Another pair of snapshots, and the right one.
            await console.press("g", "=")
            await console.sees("from snapshot.4 to snapshot.5", "all ")
            await console.press("escape")
            await console.sees("[1 Snapshots]", "Tour 3 of 9")
            await console.press("j", "=")
            await console.sees("from snapshot.3 to snapshot.4", "all ")
            await console.press("escape")
            await console.sees("Tour 4 of 9: try a repair")
    finally:
        marker.unlink()


async def test_a_step_is_skipped_and_each_that_needs_no_spark_waits_for_what_one_does(demo: Path) -> None:
    async with offered(demo) as console:
        await console.press("enter")
        await console.sees("Tour 1 of 9: since when?")
        await console.press("4")
        await console.sees("[4 Tags]", "Tour 1 of 9")
        await written(console, "CALL sys.when")
        await skipped(console, "Tour 2 of 9")
        await written(console, "WHERE price < 0")
        await skipped(console, "Tour 3 of 9")
        await skipped(console, "Tour 4 of 9: try a repair")
        await written(console, "CALL sys.try")
        assert "customer = 'c1'" in (demo / "tour-repair.sql").read_text()
        await skipped(console, "Tour 5 of 9: a check failed")
        await written(console, "check =>")
        assert "customer" not in (demo / "tour-repair.sql").read_text()
        await skipped(console, "Tour 6 of 9: look at it")
        await console.press("escape", "1")
        await console.sees("[1 Snapshots]")
        await console.press("g", "b")
        await console.sees("create-branch")
        await console.type("repair")
        await console.press("enter")
        await console.applies()
        right = {**BAD, "price": [3.0, 4.0]}
        commit(demo, "shop.orders$branch_repair", pa.table(right, schema=ORDERS))
        await console.press("escape", "3")
        # The tour's text names the branch, too, before the rows are there.
        await console.sees("[3 Branch", "▌ main")
        await console.press("g", "j")
        await skipped(console, "Tour 7 of 9: publish it")
        await published_and_back(console)


async def test_who_looks_around_is_not_asked_again_and_loses_no_key(demo: Path) -> None:
    async with offered(demo) as console:
        await console.press("k")
        await console.sees("● events", "tour begins it")
        assert "A tour?" not in console.text
        assert console.app.browse.tables.grid.has_focus
    async with offered(demo) as console:
        await console.press("4")
        await console.sees("[4 Tags]")
        await console.loses("A tour?")
        assert console.app.browse.pane.grid.has_focus
    async with offered(demo) as console:
        await console.press("escape")
        await console.loses("A tour?")
        await console.sees("● orders")


async def test_the_tour_is_left_at_any_time_and_goes_on_where_it_was(demo: Path) -> None:
    async with offered(demo) as console:
        await console.press("enter")
        await console.sees("Tour 1 of 9")
        await written(console, "CALL sys.when")
        later(console)
        await console.press("f9")
        await console.sees("Tour 2 of 9")
        await console.press("f8")
        await console.sees(about(": tour", "goes on"))
        # Once more, by a key that is held down or pressed twice: that is still so.
        console.app.browse.key_bar.hush()
        await console.press("f8")
        await console.sees(about(": tour", "goes on"))
        later(console)
        await console.press("f9")
        await console.sees(about(": tour", "goes on"))
        console.app.session.memory.save()
    async with sitting(demo) as console:
        await console.sees("shop › orders › main")
        await console.press("colon")
        await console.type("tour")
        await console.press("enter")
        await console.sees("Tour 2 of 9")


@pytest.mark.parametrize("read_only", [True, False])
async def test_the_tour_is_of_a_demo_that_can_be_written(demo: Path, read_only: bool) -> None:
    if not read_only:
        (demo / MARKER).unlink()
    async with sitting(demo, (120, 30), read_only=read_only) as console:
        await console.sees("● events")
        await console.press("colon")
        await console.type("tour")
        await console.press("enter")
        await console.sees(about("tour", "demo"), "paimark demo")

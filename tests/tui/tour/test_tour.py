"""The tour of the demo, on a smaller table: snapshot 2 is the last good one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.config import Settings
from paimark.core.demo.directory import MARKER
from paimark.core.storage.known_options import VERIFY_WAIT_OPTION
from paimark.tui.panes.query import QueryPane
from paimark.tui.session import Session
from tests.conftest import ORDERS
from tests.paimon import commit
from tests.tui.driving import Sitting, sitting


@pytest.fixture
def demo(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (warehouse / MARKER).touch()
    for module in ("paimark.tui.tour.steps", "paimark.tui.tour.tour"):
        monkeypatch.setattr(f"{module}.GOOD", 2)
        monkeypatch.setattr(f"{module}.FAULTY", 3)
    # However slow the machine is, two presses in a row are one; `later` is for what comes after.
    monkeypatch.setattr("paimark.tui.tour.tour._TWICE_SECONDS", 600.0)
    return warehouse


@asynccontextmanager
async def offered(warehouse: Path) -> AsyncIterator[Sitting]:
    settings = Settings(
        str(warehouse), start="shop.orders", offers_tour=True, options={VERIFY_WAIT_OPTION: "1 ms"}
    )
    async with sitting(warehouse, session=Session(settings)) as console:
        await console.sees("● orders", "A tour?", "enter begins it   esc looks around")
        yield console


def later(console: Sitting) -> None:
    """A while after the last f9."""
    console.app.tour._asked_at = float("-inf")


async def test_each_step_waits_for_what_one_really_does_from_the_offer_to_a_replaced_main_and_back(
    demo: Path,
) -> None:
    async with offered(demo) as console:
        await console.press("enter")
        await console.sees("Tour 1 of 9: bad prices", "Press 7")
        await console.press("4")
        await console.sees("[4 Tags]", "Tour 1 of 9")
        await console.press("7")
        await console.sees("Tour 2 of 9: find when", "Press @")
        # Snapshots of the tests are of one minute: no time that one types is between them.
        await console.press("G", "k")
        await console.sees("Tour 3 of 9: look at the difference")
        later(console)
        await console.press("f9", "1")
        await console.sees("Tour 4 of 9: a branch", "On the newest", "press b, type repair", "[1 Snapshots]")
        await console.press("g", "b")
        await console.sees("create-branch")
        await console.type("mine")
        await console.press("enter")
        await console.sees("[ Apply ]")
        await console.press("a")
        await console.sees("✓ done")
        await console.press("escape")
        await console.sees("Tour 5 of 9: repair", "mine has the rows of main", "f9 writes it")
        later(console)
        await console.burst("f9", "f9")
        await console.sees("f9 skips", "The UPDATE changes only the prices below zero")
        written = console.app.query_one(QueryPane).editor.text
        assert written.startswith("UPDATE shop.`orders$branch_mine`\n")
        fixed = {"order_id": [1], "customer": ["c1"], "price": [1.0]}
        commit(demo, "shop.orders$branch_mine", pa.table(fixed, schema=ORDERS))
        await console.sees("Tour 6 of 9: check it")
        later(console)
        await console.press("escape", "f9", "3")
        await console.sees("Tour 7 of 9: replace main", "On mine press R", "[3 Branch")
        await console.press("j", "R")
        await console.sees("Make branch mine main")
        await console.sees("[ Apply ]")
        await console.press("a")
        await console.sees("✓ done")
        await console.press("escape")
        await console.sees("Tour 8 of 9: and back", "MAIN = mine")
        await console.press("u")
        await console.sees("what it was before", "[ Apply ]")
        await console.press("a")
        await console.sees("✓ done")
        await console.press("escape")
        await console.sees("Tour 9 of 9: that was it", "MAIN = main", "f8 closes it")
        await console.press("f8")
        await console.loses("Tour 9")


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
        await console.press("7")
        await console.sees("Tour 2 of 9")
        await console.press("f8")
        await console.sees(": tour goes on with it")
        # Once more, by a key that is held down or pressed twice: that is still so.
        console.app.browse.key_bar.hush()
        await console.press("f8")
        await console.sees(": tour goes on with it")
        later(console)
        await console.press("f9")
        await console.sees(": tour goes on with the tour")
        console.app.session.memory.save()
    async with sitting(demo) as console:
        await console.sees("shop › orders › main", "[7 Time")
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
        await console.sees("The tour leads over the demo", "paimark demo")

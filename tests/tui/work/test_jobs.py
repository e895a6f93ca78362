"""What runs in the background: it is listed, gone back to, cancelled, and told of when it ends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.tui.console import Console
from paimark.tui.screens import jobs as tui_jobs
from paimark.tui.session import Session
from paimark.tui.work.jobs import Job, Jobs
from tests.tui.driving import at_orders, querying, run, with_engine
from tests.tui.work.test_cancelling_changes import HeldStore
from tests.wording import about


def test_the_end_of_a_job_is_reported_once_and_only_if_nobody_watched_it() -> None:
    jobs, unwatched = Jobs(), list[str]()
    jobs.on_unwatched_end = lambda job: unwatched.append(job.title)
    watched = {"a"}

    def job(title: str) -> Job:
        return jobs.begin(Job(title, str, bool, str, lambda: title in watched))

    a, b, c = job("a"), job("b"), job("c")
    assert jobs.in_background == 2
    for each in (a, b, b):
        jobs.end(each, "done", "good")
    assert unwatched == ["b"] and jobs.running == [c]
    assert [each.title for each in jobs.ended] == ["b", "a"]
    watched.add("c")
    assert jobs.in_background == 0
    assert a.elapsed == a.seconds


async def test_a_change_is_left_found_again_and_rings_when_it_ends(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung: list[str] = []
    monkeypatch.setattr(tui_jobs, "BELL_SECONDS", 0.0)
    monkeypatch.setattr(Console, "bell", lambda self: rung.append("bell"))
    session = Session(Settings(str(warehouse)))
    store = HeldStore(session.context.files)
    session.room.__dict__["context"] = replace(session.context, files=store, verify_wait=0.0)
    async with at_orders(warehouse, (100, 32), session=session) as console:
        await console.press("J")
        await console.sees("Nothing runs.")
        held = session.jobs.begin(Job("a deletion", lambda: "deleting", bool, str, bool))
        await console.sees("● runs", "deleting")
        # Out of a filter first, as it says.
        await console.press("slash", *"nothing", "enter")
        await console.sees(about("no row", "/nothing"), about("esc", "filter"))
        await console.press("escape")
        await console.sees("● runs", "deleting")
        await console.press("x")
        await console.sees(about("past", "no return"))
        session.jobs.end(held, "a deletion: done", "good")
        rung.clear()
        await console.press("escape", "j", "s")
        await console.sees("(snapshot 4", "Cancel")
        await console.press("a")
        await console.sees("To the background")
        await console.press("escape")
        await console.sees("create-savepoint shop.orders goes on: J finds it again", "1 job: J")
        await console.press("J")
        await console.sees("● runs", "create-savepoint shop.orders", "at work, ")
        await console.press("enter")
        await console.sees("▸[ To the background ]")
        await console.press("escape")
        await console.burst("J", "enter", "escape")
        await console.until(lambda: console.app.screen is console.app.browse, "it closes")
        assert console.app.browse.pane.grid.has_focus
        await console.press("J")
        await console.sees("● runs")
        assert not rung
        store.open()
        await console.sees("✓ done", "Saved snapshot 4 of shop.orders as savepoint 1")
        assert rung == ["bell"]
        # Nothing runs any more: there is nothing to cancel.
        await console.press("x", "ctrl+c", "enter")
        await console.sees("✓ done   Saved snapshot 4", "Close")
        await console.press("escape")
        await console.loses("1 job: J")


async def test_a_change_is_cancelled_from_the_list(warehouse: Path) -> None:
    session = Session(Settings(str(warehouse)))
    store = HeldStore(session.context.files)
    session.room.__dict__["context"] = replace(session.context, files=store, verify_wait=0.0)
    async with at_orders(warehouse, (100, 32), session=session) as console:
        await console.press("space", "j", "space", "s")
        await console.sees("Make 2 savepoints")
        await console.press("a")
        await console.sees("To the background")
        await console.press("escape", "J")
        await console.sees("● runs")
        await console.press("x")
        await console.sees("cancelling, ")
        store.open()
        await console.sees("! stopped", "create-savepoint shop.orders", "Cancelled")
        assert {path.name for path in (warehouse / "shop.db/orders/tag").iterdir()} == {"tag-v2"}


async def test_a_statement_that_ends_on_another_tab_is_told_of(
    engine_warehouse: Path, engine: Engine
) -> None:
    session = with_engine(engine_warehouse, engine)
    async with querying(engine_warehouse, (100, 32), session=session) as (console, pane):
        # Long enough to go elsewhere before it ends: what ends on its own tab is not told of.
        await run(console, pane, "SELECT reflect('java.lang.Thread', 'sleep', 2000L) AS n")
        await console.press("escape", "1")
        await console.sees("[1 Snapshots", "✓ SELECT reflect('java", ": 1 row")
        await console.press("J")
        await console.sees("✓ done", "SELECT reflect('", "1 row, ")
        assert ": 1 row" not in console.text.partition("─ Jobs ")[2].partition("╰")[0]
        await console.press("enter")
        await console.sees("[6 ", "1 row")

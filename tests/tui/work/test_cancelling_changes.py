"""A deletion that takes long, in the dialog: how far it is, and that it can be cancelled while it counts."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.actions import context
from paimark.core.actions.registry import action
from paimark.core.config import Settings
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.tui.session import Session
from paimark.tui.work import running_change
from paimark.tui.work.running_change import RunningChange, end_changes
from tests.actions.acting import contents, context_on, done
from tests.storage.wrapped import Wrapped
from tests.tui.driving import at_events
from tests.wording import about


class HeldStore(Wrapped):
    """A store that gives no list or manifest before it is let."""

    def __init__(self, inner: Files) -> None:
        super().__init__(inner)
        self.let = threading.Semaphore(0)
        self.is_asked = False

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        asked = list(paths)
        for path, data in zip(asked, super().read_many(asked), strict=True):
            if "/manifest/" in path:
                self.is_asked = True
                assert self.let.acquire(timeout=240)
            yield data

    def open(self) -> None:
        self.let.release(10_000)

    def close(self) -> None:
        self.let = threading.Semaphore(0)


class HeldDeletions(HeldStore):
    """A store that deletes nothing of a savepoint before it is let."""

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        return self.inner.read_many(paths)

    def delete(self, path: str) -> None:
        if "/savepoint/" in path:
            self.is_asked = True
            assert self.let.acquire(timeout=240)
        super().delete(path)


async def test_ctrl_c_past_the_point_of_no_return_says_so(warehouse: Path) -> None:
    """It offered to quit, which nobody should do in the middle of a change."""
    done(context_on(warehouse), "create-savepoint", snapshot=3)
    session = Session(Settings(str(warehouse)))
    store = HeldDeletions(session.context.files)
    session.room.__dict__["context"] = replace(session.context, files=store, verify_wait=0.0)
    async with at_events(warehouse, (100, 36), session=session) as console:
        await console.press("j", "enter")
        await console.sees("● orders", "1 of 5")
        await console.press("2")
        await console.sees("savepoint 1")
        await console.press("x")
        await console.sees("Delete savepoint 1", "[ Cancel ]")
        await console.press("c")
        await console.type("savepoint 1")
        await console.press("enter")
        await console.sees("[ Apply ]")
        await console.press("a")
        await console.until(lambda: store.is_asked)
        await console.press("ctrl+c")
        await console.sees(about("past", "no return"))
        store.open()
        await console.sees("✓ done")


async def test_a_deletion_says_how_far_it_is_and_is_cancelled_while_it_counts(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "_EVERY_SECONDS", 0.0)
    done(context_on(warehouse), "create-savepoint", snapshot=3)
    for number in (1, 2, 3):
        (warehouse / "shop.db/orders/snapshot" / f"snapshot-{number}").unlink()
    session = Session(Settings(str(warehouse)))
    store = HeldStore(session.context.files)
    session.room.__dict__["context"] = replace(session.context, files=store)
    async with at_events(warehouse, (100, 36), session=session) as console:
        await console.press("j", "enter")
        await console.sees("● orders", "1 of 2")
        await console.press("2")
        await console.sees("savepoint 1")
        before = contents(warehouse)
        await console.press("x")
        await console.sees(about("reading", "…"))
        store.let.release(2)
        await console.sees("read 1 of ")
        store.open()
        await console.sees("Delete savepoint 1", "frees")
        store.close()
        await console.press("c")
        await console.type("savepoint 1")
        await console.press("enter")
        await console.sees("[ Apply ]")
        await console.press("a")
        await console.sees("at work, ", "▸[ To the background ]", "[ Cancel it ]")
        store.let.release(2)
        await console.sees("read 1 of ")
        await console.press("ctrl+c")
        await console.sees("cancelling, ")
        store.open()
        await console.sees("! stopped", "Cancelled", "Nothing was changed.")
        assert "failed" not in console.text
        assert contents(warehouse) == before
        assert not session.changes


async def test_a_plan_that_is_made_again_slowly_takes_the_old_one_off_the_screen(
    warehouse: Path,
) -> None:
    """Nobody may take it for the new one."""
    done(context_on(warehouse), "create-savepoint", snapshot=3)
    (warehouse / "shop.db/orders/snapshot/snapshot-3").unlink()
    session = Session(Settings(str(warehouse)))
    store = HeldStore(session.context.files)
    session.room.__dict__["context"] = replace(session.context, files=store)
    async with at_events(warehouse, (100, 36), session=session) as console:
        await console.press("j", "enter")
        await console.sees("● orders", "1 of 4")
        await console.press("2")
        await console.sees("savepoint 1")
        store.open()
        await console.press("x")
        await console.sees("Delete savepoint 1", "[ Cancel ]")
        store.close()
        await console.press("r")
        await console.sees(about("reading", "…"))
        assert "Delete savepoint 1" not in console.text
        store.open()
        await console.sees("Delete savepoint 1", "[ Cancel ]")


async def test_leaving_takes_a_change_back_and_does_not_wait_for_ever(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the line drops: a change that was left in the middle would hold its table."""
    monkeypatch.setattr(running_change, "_LEAVING_SECONDS", 0.5)
    done(context_on(warehouse), "create-savepoint", snapshot=3)
    (warehouse / "shop.db/orders/snapshot/snapshot-3").unlink()
    session = Session(Settings(str(warehouse)))
    context, table = session.context, TablePath("shop", "orders")
    before = contents(warehouse)
    chosen = action("delete-savepoint")
    plan = chosen.plan(context, table, {"id": 1})
    store = HeldStore(context.files)
    held = replace(context, files=store)
    async with at_events(warehouse, session=session) as console:
        change = RunningChange(
            console.app,
            lambda: held,
            session.room,
            session.changes,
            session.jobs,
            lambda change: None,
            chosen,
            plan,
        )
        # Before that, a change that is cancelled ends at once.
        await console.until(lambda: store.is_asked)
        assert (warehouse / "shop.db/orders/branch/ACTION").exists()
        change.leave()
        [said] = end_changes([change], threading.Event())
        assert not change.has_ended(0.0)
        assert about("delete-savepoint shop.orders", "interrupted", "`paimark recover shop.orders`").search(
            said
        )
        store.open()
        [said] = end_changes([change], threading.Event())
        assert about("delete-savepoint shop.orders", "stopped", "nothing").search(said)
        assert change.has_ended(0.0)
        assert contents(warehouse) == before


async def test_a_plan_that_nobody_waits_for_is_not_made(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(Settings(str(warehouse)))
    store = HeldStore(session.context.files)
    session.room.__dict__["context"] = replace(session.context, files=store)
    done(context_on(warehouse), "create-savepoint", snapshot=3)
    (warehouse / "shop.db/orders/snapshot/snapshot-3").unlink()
    async with at_events(warehouse, (100, 36), session=session) as console:
        await console.press("j", "enter")
        await console.sees("● orders", "1 of 4")
        await console.press("2")
        await console.sees("savepoint 1")
        await console.press("x")
        await console.sees(about("reading", "…"))
        planning = [each for each in threading.enumerate() if each.name == "paimark-plan"]
        await console.press("ctrl+c")
        await console.loses(about("reading", "…"))
        # One list of many: it asks after each whether it is wanted still.
        store.let.release(1)
        for each in planning:
            each.join(10)
            assert not each.is_alive()

"""What the shell shows after the console was left while a change ran: what became of the change."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.registry import action
from paimark.core.config import Settings
from paimark.core.errors import Unavailable
from paimark.core.storage.files import Files, Unanswered
from paimark.tui.session import Session
from paimark.tui.work.running_change import End, RunningChange, end_changes, last_words
from tests.actions.acting import ORDERS, context_on, done, planned
from tests.actions.taking_over import add, branched
from tests.cli.query.test_sql import below
from tests.storage.wrapped import Wrapped
from tests.tui.driving import Sitting, at_events
from tests.tui.terminal.test_terminal import Tmux, terminal_in


class Failing(Wrapped):
    """A store that refuses to delete once a tag of a branch is there; the rest of it works."""

    def __init__(self, inner: Files) -> None:
        super().__init__(inner)
        self.fails = False

    def delete(self, path: str) -> None:
        if self.fails and "/tag/" in path:
            raise Unavailable("The store does not answer")
        self.inner.delete(path)


def begin(
    console: Sitting, context: Callable[[], Context], action_name: str, /, **arguments: str
) -> RunningChange:
    session = console.app.session
    chosen, plan = action(action_name), planned(session.context, action_name, ORDERS, **arguments)
    return RunningChange(
        console.app,
        context,
        session.room,
        session.changes,
        session.jobs,
        lambda change: None,
        chosen,
        plan,
    )


def end_of(change: RunningChange) -> str:
    [end] = end_changes([change], threading.Event())
    return end


async def test_a_change_that_failed_past_its_point_of_no_return_is_for_recover(warehouse: Path) -> None:
    async with at_events(warehouse, session=Session(Settings(str(warehouse)))) as console:
        store = Failing(console.app.session.context.files)
        store.fails = True
        acting = context_on(warehouse, store)
        change = begin(console, lambda: acting, "delete-tag", name="v2")
        assert end_of(change) == (
            "delete-tag shop.orders was interrupted: The store does not answer. What was begun is half done. "
            "Run `paimark recover shop.orders` to go on."
        )
        assert not planned(context_on(warehouse), "recover").empty


def test_a_commit_that_got_no_answer_may_be_done() -> None:
    end = End(error=Unanswered("The engine ended", "Look at the rows."))
    said = last_words("compact shop.orders", "shop.orders", end)
    assert said == "compact shop.orders failed: The engine ended. Look at the rows."


async def test_a_change_that_was_refused_left_nothing_to_recover(warehouse: Path) -> None:
    context = context_on(warehouse)
    async with at_events(warehouse) as console:
        branched(context)

        def moved() -> Context:
            add(context, "shop.orders$branch_fix", 101)
            return context

        end = end_of(begin(console, moved, "merge-branch", name="fix"))
        assert end.startswith("merge-branch shop.orders failed, and nothing was changed: ")
        assert "recover" not in end


async def test_a_change_whose_store_can_not_be_opened_had_not_begun(warehouse: Path) -> None:
    async with at_events(warehouse) as console:

        def failing() -> Context:
            raise Unavailable("The store does not answer", "Try again.")

        end = end_of(begin(console, failing, "delete-tag", name="v2"))
        assert end == (
            "delete-tag shop.orders failed, and nothing was changed: The store does not answer. Try again."
        )


async def test_what_others_left_is_not_this_changes(warehouse: Path) -> None:
    """An interrupted change of a dead process holds the table."""
    lock = warehouse / "shop.db/orders/branch/ACTION"
    async with at_events(warehouse) as console:
        store = Failing(console.app.session.context.files)
        store.fails = True
        change = begin(console, lambda: context_on(warehouse, store), "delete-tag", name="v2")
        end_of(change)
        session = console.app.session
        written = lock.read_bytes()
        lock.unlink()

        def another() -> Context:
            lock.write_bytes(written.replace(str(os.getpid()).encode(), b"999999999"))
            return session.context

        end = end_of(begin(console, another, "delete-tag", name="v2"))
        assert end.startswith("delete-tag shop.orders failed, and nothing was changed: shop.orders has an ")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Tmux]:
    yield from terminal_in(tmp_path, with_spark=True)


@pytest.mark.parametrize("how", ["keys", "SIGTERM"])
def test_a_merge_that_waits_for_spark_is_stopped_and_says_so(
    warehouse: Path, terminal: Tmux, how: str
) -> None:
    context = context_on(warehouse)
    branched(context)
    add(context, "shop.orders", 102)
    command = [sys.executable, "-c", "from paimark.core.cli.main import main; main()", f"{warehouse}/"]
    terminal.start("sh", "-c", f"{shlex.join(command)}; echo left; sleep 100")
    terminal.sees("● events", "snapshot 2", "MAIN = main")
    terminal.keys("j", "l")
    terminal.sees("● orders", "1 of ")
    terminal.keys("3")
    terminal.sees("fix")
    terminal.keys("j", "m")
    terminal.sees("branch fix into main")
    terminal.sees("[ Apply ]")
    terminal.keys("a")
    terminal.sees("Cancel it")
    if how == "keys":
        terminal.keys("C-q", "C-q")
    else:
        pane = int(terminal.run("display-message", "-p", "-t", "console", "#{pane_pid}"))
        os.kill(min(below(pane)), signal.SIGTERM)
    terminal.sees("merge-branch shop.orders was stopped: nothing was changed")
    assert not (warehouse / "shop.db/orders/branch/ACTION").exists()
    assert planned(context, "recover").empty
    done(context, "create-tag", name="free")

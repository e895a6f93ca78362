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
from tests.wording import about

SILENT = "The store says no word"


class Failing(Wrapped):
    """A store that refuses to delete once a tag of a branch is there; the rest of it works."""

    def __init__(self, inner: Files) -> None:
        super().__init__(inner)
        self.fails = False

    def delete(self, path: str) -> None:
        if self.fails and "/tag/" in path:
            raise Unavailable(SILENT)
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
        end = end_of(change)
        assert about("delete-tag shop.orders", "interrupted", SILENT, "half done").search(end)
        assert end.count("`paimark recover shop.orders`") == 1
        assert not planned(context_on(warehouse), "recover").empty


def test_a_commit_that_got_no_answer_may_be_done() -> None:
    end = End(error=Unanswered("The engine ended", "Look at the rows."))
    said = last_words("compact shop.orders", "shop.orders", end)
    assert about("compact shop.orders", "failed", "The engine ended. Look at the rows.").search(said)
    assert not about("nothing").search(said)


async def test_a_change_that_was_refused_left_nothing_to_recover(warehouse: Path) -> None:
    context = context_on(warehouse)
    async with at_events(warehouse) as console:
        branched(context)

        def moved() -> Context:
            add(context, "shop.orders$branch_fix", 101)
            return context

        end = end_of(begin(console, moved, "merge-branch", name="fix"))
        assert about("merge-branch shop.orders", "failed", "nothing", "changed").search(end)
        assert "recover" not in end


async def test_a_change_whose_store_can_not_be_opened_had_not_begun(warehouse: Path) -> None:
    async with at_events(warehouse) as console:

        def failing() -> Context:
            raise Unavailable(SILENT, "Try again.")

        end = end_of(begin(console, failing, "delete-tag", name="v2"))
        assert about("delete-tag shop.orders", "failed", "nothing", f"{SILENT}. Try again.").search(end)
        assert "recover" not in end


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
        assert about("delete-tag shop.orders", "failed", "nothing", "shop.orders has").search(end)


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
    terminal.sees(about("merge-branch shop.orders", "stopped", "nothing"))
    assert not (warehouse / "shop.db/orders/branch/ACTION").exists()
    assert planned(context, "recover").empty
    done(context, "create-tag", name="free")

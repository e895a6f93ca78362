"""Threads that read: the newest answer wins, a fault is a sentence, and nobody waits for the dead."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot

from paimark.core.errors import NotFound, PaimarkError
from paimark.tui.work.background import Slot, ThreadReport, ThreadResult


class Listener(App[None]):
    def on_thread_result(self, event: ThreadResult) -> None:
        event.deliver()


async def wait_for(pilot: Pilot[None], is_so: Callable[[], bool]) -> None:
    for _ in range(1000):
        if is_so():
            return
        await pilot.pause(0.01)
    raise AssertionError("It did not happen")


async def test_a_stale_answer_never_replaces_a_newer_one() -> None:
    app = Listener()
    async with app.run_test() as pilot:
        answers: list[str] = []
        slot: Slot[str] = Slot(app, "test", answers.append, lambda error: None)
        gate, first_done = threading.Event(), threading.Event()

        def slow(report: ThreadReport[str]) -> None:
            gate.wait(10)
            assert not report.wanted
            report("old")
            first_done.set()

        slot.ask(slow)
        slot.ask(lambda report: report("new"))
        await wait_for(pilot, lambda: answers == ["new"])
        gate.set()
        assert first_done.wait(10)
        await pilot.pause(0.05)
        assert answers == ["new"]
        assert not slot.busy


async def test_only_what_takes_long_is_said_to_be_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # Longer than a busy machine takes to begin a thread.
    monkeypatch.setattr("paimark.tui.work.background._SLOW", 1.0)
    app = Listener()
    async with app.run_test() as pilot:
        said: list[str] = []
        slot: Slot[str] = Slot(app, "test", said.append, lambda error: None)
        gate = threading.Event()

        def in_pieces(report: ThreadReport[str]) -> None:
            report("first")
            gate.wait(10)

        def late(report: ThreadReport[str]) -> None:
            gate.wait(10)

        slot.ask(in_pieces, lambda: said.append("in pieces is slow"))
        await wait_for(pilot, lambda: said == ["first"])
        await pilot.pause(1.3)
        slot.ask(lambda report: None, lambda: said.append("forgotten is slow"))
        slot.ask(late, lambda: said.append("late is slow"))
        await wait_for(pilot, lambda: len(said) > 1)
        await pilot.pause(1.3)
        gate.set()
        assert said == ["first", "late is slow"]


async def test_what_is_foreseen_and_what_is_not_both_end_as_sentences() -> None:
    app = Listener()
    async with app.run_test() as pilot:
        failed: list[PaimarkError] = []
        slot: Slot[str] = Slot(app, "test", lambda answer: None, failed.append)

        def missing(report: ThreadReport[str]) -> None:
            raise NotFound("There is no table t", "Look again.")

        def broken(report: ThreadReport[str]) -> None:
            raise ZeroDivisionError("by zero")

        slot.ask(missing)
        await wait_for(pilot, lambda: len(failed) == 1)
        slot.ask(broken)
        await wait_for(pilot, lambda: len(failed) == 2)
        assert failed[0].message == "There is no table t"
        assert failed[1].message == "ZeroDivisionError: by zero"
        assert "test_background.py" in failed[1].hint


# A warehouse whose files never answer, and a console that is left all the same.
_STUCK = """
import sys, threading, time
from paimark.core.config import Settings
from paimark.tui.console import Console
from paimark.tui.opening import Opening
from paimark.tui.session import Session

class Stuck:
    uri = "stuck"
    def entries(self, directory):
        time.sleep(3600)

session = Session(Settings(sys.argv[1]))
session.files = Stuck()
opening = Opening(session)
opening.start()
console = Console(session, opening, start_engine=False)

async def leave(pilot):
    await pilot.press("r", "j", "2", "ctrl+q")

console.run(headless=True, auto_pilot=leave)
print("left")
"""


def test_leaving_waits_for_no_store(tmp_path: Path) -> None:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", _STUCK, str(tmp_path)], capture_output=True, text=True, timeout=240, check=True
    )
    assert done.stdout.endswith("left\n")
    assert time.monotonic() - began < 240

"""Schedules of Paimark's actions beside stock engines: fixed seeds, and with `--long` many new ones.

They run in a separate process with a fixed hash seed, which fixes the order of sets. A failure prints the
command that replays it.
"""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from paimark.core.actions.registry import ACTIONS
from tests.actions.declared.catalogue import ALONE
from tests.long import long_but
from tests.simulation.actors.statements import STATEMENTS
from tests.simulation.schedules.cases import CASES

_SEEDS = 100
_BATCHES = 8
_SESSIONS, _FEW_SESSIONS = 30, 8
# An hour of seeds, and half an hour each of sessions and of crash points.
_SEED_MINUTES, _SESSION_MINUTES, _POINT_MINUTES = 60, 30, 30


def simulated(*arguments: str, seconds: float) -> None:
    """Run the simulation, and fail with what it prints."""
    command = [sys.executable, "-m", "tests.simulation", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    if done.returncode:
        pytest.fail(f"{done.stdout}{done.stderr[-3000:]}", pytrace=False)


@pytest.mark.parametrize("batch", long_but(range(_BATCHES), "0"))
def test_the_promise_holds_for_a_hundred_seeds(batch: int) -> None:
    count = _SEEDS // _BATCHES
    simulated("--seeds", f"{batch * count}-{(batch + 1) * count - 1}", seconds=280)


def test_the_promise_holds_for_sessions_that_stay_open(is_long: bool) -> None:
    simulated("--sessions", "--seeds", f"0-{(_SESSIONS if is_long else _FEW_SESSIONS) - 1}", seconds=280)


def test_every_action_is_killed_in_some_way() -> None:
    """`recover` follows each case; `redo` and `restore` plan and run other actions.

    `delete-dropped` goes on when it is done again: `tests.actions.tables`.
    """
    again = {"recover", "redo", "restore", "delete-dropped"}
    others = {*again, *ALONE} - {"protect"}
    assert {case.action for case in CASES} == {*ACTIONS, *STATEMENTS, "try"} - others


def test_a_crash_at_some_writes_of_every_action_can_be_recovered() -> None:
    """Every 1000th crash point, and one of each case; in most of them others act before the recovery."""
    simulated("--crashes", "--every", "1000", seconds=280)


@pytest.mark.long
@pytest.mark.timeout(0)
@pytest.mark.parametrize(("kind", "minutes"), [("", _SEED_MINUTES), ("--sessions", _SESSION_MINUTES)])
def test_the_promise_holds_for_new_seeds(kind: str, minutes: int) -> None:
    first = int(time.time())
    print(f"seeds from {first}")
    which = [each for each in (kind, "--seeds", f"{first}-{first + 1_000_000}") if each]
    simulated(*which, "--minutes", str(minutes), seconds=minutes * 90)


@pytest.mark.long
@pytest.mark.timeout(0)
def test_a_crash_at_every_write_of_every_action_can_be_recovered() -> None:
    simulated("--crashes", "--minutes", str(_POINT_MINUTES), seconds=_POINT_MINUTES * 90)

"""An engine that stands still goes on: for an order, after its time, and when whoever stopped it has died."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from paimark.core.spark.client.child import Pause
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Finished

# Longer than any test: what goes on before has another reason.
EVER = 600.0
# It answers each line that it gets.
ECHO = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"
DIES = """
import os, signal, sys
from paimark.core.spark.client.child import Pause
Pause(int(sys.argv[1])).begin({seconds})
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def group() -> Iterator[subprocess.Popen[str]]:
    echo = subprocess.Popen(
        [sys.executable, "-c", ECHO],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with echo:
        assert answers(echo)
        yield echo
        echo.kill()


def answers(echo: subprocess.Popen[str]) -> bool:
    assert echo.stdin is not None and echo.stdout is not None
    print("word", file=echo.stdin, flush=True)
    return echo.stdout.readline() == "word\n"


def state(pid: int) -> str:
    """T while it is stopped."""
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return listed.stdout.strip()[:1]


def test_a_group_stands_still_until_its_pause_ends(group: subprocess.Popen[str]) -> None:
    pause = Pause(group.pid)
    pause.begin(EVER)
    assert state(group.pid) == "T"
    pause.end()
    assert answers(group)


def test_it_goes_on_by_itself_when_its_time_is_over(group: subprocess.Popen[str]) -> None:
    pause = Pause(group.pid)
    pause.begin(0.1)
    assert answers(group)
    pause.end()


def test_it_goes_on_when_whoever_stopped_it_was_killed(group: subprocess.Popen[str]) -> None:
    dies = subprocess.run([sys.executable, "-c", DIES.format(seconds=0.1), str(group.pid)], check=False)
    assert dies.returncode == -signal.SIGKILL
    assert answers(group)


def test_a_statement_is_not_held_up_by_a_pause(engine: Engine) -> None:
    engine.wait_ready()
    with engine.paused(EVER):
        assert engine._process is not None and state(engine._process.pid) == "T"
        *_, end = engine.run("SELECT 1 AS one")
        assert isinstance(end, Finished)


def test_no_statement_that_runs_is_paused(engine: Engine) -> None:
    running = engine.run("SELECT id FROM range(100000)")
    next(running)
    with engine.paused(EVER):
        assert engine._process is not None and state(engine._process.pid) != "T"
        *_, end = running
        assert isinstance(end, Finished)

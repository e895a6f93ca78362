"""The sentence about Spark below a query that has not run, and Spark's priority."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest

from core.config import Settings
from core.spark.client.client import Engine, EngineState
from tui.work.engine_room import EngineRoom, engine_line


class _Room(EngineRoom):
    """A room whose Spark is in a given state."""

    def __init__(self, state: EngineState) -> None:
        super().__init__(Settings("/nowhere"))
        self._state = state

    @property
    def state(self) -> EngineState:
        return self._state


@pytest.mark.parametrize("state", get_args(EngineState))
def test_spark_is_not_started_only_when_it_is_not(state: EngineState) -> None:
    line = "".join(text for text, _ in engine_line(_Room(state)))
    assert ("Spark is not started" in line) == (state == "stopped")


def test_a_busy_spark_is_busy() -> None:
    assert engine_line(_Room("running"))[1][0] == "Spark is busy"


@pytest.mark.parametrize(("is_console", "niceness"), [(True, 5), (False, 0)])
def test_in_the_console_java_lets_other_processes_run_first(
    tmp_path: Path, *, is_console: bool, niceness: int
) -> None:
    settings = Settings(str(tmp_path))
    engine = EngineRoom(settings).engine if is_console else Engine(settings, tmp_path / "engine.log")
    # A fixture may have started others.
    before = {pid for pid, *_ in _children(os.getpid())}
    with closing(engine):
        engine.start()
        assert _niceness_of_java(before) - os.nice(0) == niceness


def _niceness_of_java(before: set[int]) -> int:
    """The niceness of the Java process that a new child of this process starts."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        for child, *_ in _children(os.getpid()):
            for _, niceness, name in _children(child) if child not in before else ():
                if name == "java":
                    return niceness
        time.sleep(0.1)
    raise TimeoutError("no Java process came")


def _children(pid: int) -> list[tuple[int, int, str]]:
    """The number, niceness and name of each child."""
    listed = subprocess.check_output(["ps", "-eo", "pid=,ppid=,ni=,comm="], text=True)
    processes = (line.split(None, 3) for line in listed.splitlines())
    return [
        (int(child), int(niceness), name) for child, parent, niceness, name in processes if int(parent) == pid
    ]

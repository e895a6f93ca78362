"""Which process of a run takes which tests: a file at a time, those that need Spark in one process each.

A start of Spark takes seconds of CPU, and the first query of each kind as much again. So one process starts
the suite's engine, one what else runs Spark, and one the engine that tests kill. Tests that need none of them
are for all, and so are those of a process that is not there. A file of both kinds comes in two parts. The
first process has the most to do: the others leave it the CPU if it wants it.
"""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xdist.workermanage import WorkerController

# The fixtures that start Spark for all tests of a process, and who has them.
_SPARKS = {"engine": "gw0", "spark_here": "gw1", "foreign_spark": "gw1", "mortal": "gw2"}
_FIRST, _POLITE = "gw0", 5
_NEEDS = "needs"


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput") and config.workerinput["workerid"] != _FIRST:
        os.nice(_POLITE)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    node.workerinput[_NEEDS] = str(_needs())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Only who collects knows the fixtures of a test: the first process tells the one that schedules."""
    told = getattr(session.config, "workerinput", None)
    if told is not None and told["workerid"] == _FIRST:
        fixtures = {item.nodeid: getattr(item, "fixturenames", ()) for item in session.items}
        needs = {test: process for test, names in fixtures.items() if (process := process_for(names))}
        Path(told[_NEEDS]).write_text(json.dumps(needs))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    return SparkApart(config, log) if config.getoption("dist") == "loadfile" else None


def process_for(fixtures: Iterable[str]) -> str | None:
    """The process that has the Spark of these fixtures, directly or not; None if they need none."""
    return next((process for name, process in _SPARKS.items() if name in fixtures), None)


class SparkApart(LoadScopeScheduling):  # type: ignore[misc]
    """The files with the fewest tests come first: those start much, and at the end nobody waits for one."""

    @cached_property
    def _process_for(self) -> dict[str, str]:
        needs: dict[str, str] = json.loads(_needs().read_text())
        return needs

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return f"{self._process_for.get(nodeid, '')}::{file}"

    def _assign_work_unit(self, node: WorkerController) -> None:
        own = [unit for unit in self.workqueue if _process_of(unit) == node.gateway.id]
        there = {each.gateway.id for each in self.nodes}
        units = own or [unit for unit in self.workqueue if _process_of(unit) not in there]
        if not units:
            # It runs what it was given last.
            node.shutdown()
            return
        unit = min(units, key=lambda name: len(self.workqueue[name]))
        self.workqueue.move_to_end(unit, last=False)
        super()._assign_work_unit(node)


def _process_of(unit: str) -> str:
    return unit.partition("::")[0]


def _needs() -> Path:
    """In the home of the process that schedules, which goes with it."""
    return Path(os.environ["HOME"], "needs.json")

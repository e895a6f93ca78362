"""Which process of a run takes which tests: a file at a time, those that need Spark in few processes.

A start of Spark takes seconds of CPU, and the first query of each kind as much again. So two processes start
the suite's engine, one for what actions change and one for the rest, and a third one what else runs Spark.
The others take what needs none. Who is done with its own helps.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.workermanage import WorkerController

# Fewer files of them than this are not worth another start.
_WORTH_A_START = 20
ACTIONS, QUERIES = "the suite's engine, for actions", "the suite's engine, for the rest"
ANOTHER_SPARK, NO_SPARK = "another Spark", "no Spark"
_ROLES = (ACTIONS, QUERIES, ANOTHER_SPARK, NO_SPARK)
# What a process takes when nothing of its own is left.
_THEN = {ACTIONS: QUERIES, QUERIES: ACTIONS}
_OF_ACTIONS = re.compile(r"tests/(actions|cli|faults|interop/actions|spark/repair|statements)/")
# The fixtures that start Spark for all tests of a process. A wrong guess costs time, and nothing else.
_ANOTHER = re.compile(
    r"\b(spark_of_library|spark_here|foreign_spark|streaming|on_s3|cluster|remote|spark_judge)\b(?:[:,)]|\"\))"
    r"|library\.ways|streaming\.sink"
)
_ENGINE = re.compile(r"\bengine\b[:,)]|with_engine")
# The engine that tests kill is one more to start.
_MORTAL = re.compile(r"\bmortal\b[:,)]")
# There the context of an action has the engine.
_WITH_CONTEXT = re.compile(r"tests/interop/")
_CONTEXT = re.compile(r"\bcontext\b[:,)]")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    return SparkApart(config, log) if config.getoption("dist") == "loadfile" else None


class SparkApart(LoadScopeScheduling):  # type: ignore[misc]
    """The files with the fewest tests come first: those start much, and at the end nobody waits for one."""

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        super().__init__(config, log)
        self.roles: dict[WorkerController, str] = {}
        self._kinds: dict[str, str] = {}

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0]

    def _assign_work_unit(self, node: WorkerController) -> None:
        files = list(self.workqueue)
        role = self.roles.setdefault(node, self._next_role())
        near: list[str] = []
        for kind in (role, _THEN.get(role), NO_SPARK):
            near = near or [file for file in files if self._kind(file) == kind]
        if not near and role not in _THEN:
            if len(files) < _WORTH_A_START:
                # It runs what it was given last.
                node.shutdown()
                return
            self.roles[node] = QUERIES
        file = min(near or files, key=lambda name: len(self.workqueue[name]))
        self.workqueue.move_to_end(file, last=False)
        super()._assign_work_unit(node)

    def _next_role(self) -> str:
        return next((role for role in _ROLES if role not in self.roles.values()), NO_SPARK)

    def _kind(self, file: str) -> str:
        if file not in self._kinds:
            self._kinds[file] = kind_of(file, Path(self.config.rootpath, file).read_text())
        return self._kinds[file]


def kind_of(file: str, text: str) -> str:
    """The role of the processes that a file of this text is for."""
    if _ANOTHER.search(text):
        return ANOTHER_SPARK
    if _MORTAL.search(text):
        return QUERIES
    if _ENGINE.search(text) or (_WITH_CONTEXT.match(file) and _CONTEXT.search(text)):
        return ACTIONS if _OF_ACTIONS.match(file) else QUERIES
    return NO_SPARK

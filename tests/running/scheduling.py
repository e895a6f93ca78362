"""Which process of a run takes which tests: a file at a time, those that need Spark in few processes.

A start of Spark takes seconds of CPU, and the first query of each kind as much again. So two processes start
the suite's engine, and a third one what else runs Spark. The others take what needs none, and then help.
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

_WITH_ENGINE = 2
# Fewer files of them than this are not worth another start.
_WORTH_A_START = 20
ENGINE, ANOTHER_SPARK, NO_SPARK = "the suite's engine", "another Spark", "no Spark"
# The fixtures that start Java for all tests of a process. A wrong guess costs time, and nothing else.
_NEEDS = {
    ANOTHER_SPARK: re.compile(
        r"\b(spark_of_library|spark_here|foreign_spark|streaming|on_s3|cluster|remote|spark_judge)\b[:,)]|library\.ways"
    ),
    ENGINE: re.compile(r"\b(engine|judge)\b[:,)]|with_engine"),
}


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
        own = [file for file in files if self._kind(file) == role]
        plain = [file for file in files if self._kind(file) == NO_SPARK]
        if not (own or plain) and role != ENGINE:
            if len(files) < _WORTH_A_START:
                # It runs what it was given last.
                node.shutdown()
                return
            self.roles[node] = ENGINE
        file = min(own or plain or files, key=lambda name: len(self.workqueue[name]))
        self.workqueue.move_to_end(file, last=False)
        super()._assign_work_unit(node)

    def _next_role(self) -> str:
        taken = [*self.roles.values()]
        if taken.count(ENGINE) < _WITH_ENGINE:
            return ENGINE
        return NO_SPARK if ANOTHER_SPARK in taken else ANOTHER_SPARK

    def _kind(self, file: str) -> str:
        if file not in self._kinds:
            text = Path(self.config.rootpath, file).read_text()
            kinds = (kind for kind, needs in _NEEDS.items() if needs.search(text))
            self._kinds[file] = next(kinds, NO_SPARK)
        return self._kinds[file]

"""Which process of a run takes which tests: a file at a time, those that need Spark in few processes.

A start of Spark takes seconds of CPU, and the first query of each kind as much again. So two processes start
one. The others take what needs none, and then help with the rest.
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

_WITH_SPARK = 2
# Fewer files of them than this are not worth another start.
_WORTH_A_START = 20
# The fixtures that start Java for all tests of a process. A wrong guess costs time, and nothing else.
_NEEDS_SPARK = re.compile(
    r"\b(engine|judge|spark_of_library|spark_here|streaming|on_s3)\b[:,)]|with_engine|library\.ways"
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    return SparkApart(config, log) if config.getoption("dist") == "loadfile" else None


class SparkApart(LoadScopeScheduling):  # type: ignore[misc]
    """The files with the fewest tests come first: those start much, and at the end nobody waits for one."""

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        super().__init__(config, log)
        self.with_spark: set[WorkerController] = set()
        self._needs: dict[str, bool] = {}

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0]

    def _assign_work_unit(self, node: WorkerController) -> None:
        if len(self.with_spark) < _WITH_SPARK:
            self.with_spark.add(node)
        files = list(self.workqueue)
        of_its_kind = [file for file in files if self._needs_spark(file) == (node in self.with_spark)]
        if not of_its_kind and node not in self.with_spark:
            if len(files) < _WORTH_A_START:
                # It runs what it was given last.
                node.shutdown()
                return
            self.with_spark.add(node)
        file = min(of_its_kind or files, key=lambda name: len(self.workqueue[name]))
        self.workqueue.move_to_end(file, last=False)
        super()._assign_work_unit(node)

    def _needs_spark(self, file: str) -> bool:
        if file not in self._needs:
            text = Path(self.config.rootpath, file).read_text()
            self._needs[file] = bool(_NEEDS_SPARK.search(text))
        return self._needs[file]

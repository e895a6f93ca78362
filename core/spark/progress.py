"""How far a statement's tasks are, asked of Spark a few times a second."""

from __future__ import annotations

import threading
from collections.abc import Callable

from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from core.spark.protocol import StageProgress

_EVERY_SECONDS = 0.3


class ProgressWatch:
    """Calls `report` from a thread of its own while the `with` block runs, whenever something moved."""

    def __init__(self, session: SparkSession, tag: str, report: Callable[[StageProgress], None]) -> None:
        self._tracker = session.sparkContext._jsc.sc().statusTracker()
        self._tag = tag
        self._report = report
        self._over = threading.Event()
        self._thread = InheritableThread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _watch(self) -> None:
        last = None
        while not self._over.wait(_EVERY_SECONDS):
            try:
                seen = self._look()
            except (Py4JError, PySparkException, OSError):
                # The Java process is going away: whoever runs the statement says so.
                return
            if seen is not None and seen != last and not self._over.is_set():
                self._report(seen)
                last = seen

    def _look(self) -> StageProgress | None:
        done = total = stages = stages_done = 0
        for job in self._tracker.getJobIdsForTag(self._tag):
            info = self._tracker.getJobInfo(job)
            if not info.isDefined():
                continue
            for stage in info.get().stageIds():
                stages += 1
                seen = self._tracker.getStageInfo(stage)
                if seen.isDefined():
                    tasks, completed = seen.get().numTasks(), seen.get().numCompletedTasks()
                    total += tasks
                    done += completed
                    stages_done += tasks == completed
        if not stages:
            return None
        return StageProgress(done, total, f"stage {min(stages_done + 1, stages)} of {stages}")

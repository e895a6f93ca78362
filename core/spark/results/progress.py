"""Report the progress of a statement's tasks, which is polled from Spark a few times a second."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors.exceptions.base import PySparkException

from paimark.core.spark.protocol import StageProgress

_EVERY_SECONDS = 0.3

ReportStage = Callable[[StageProgress], None]


class ProgressWatch:
    """`look` returns the progress of the jobs with a tag."""

    def __init__(self, look: Callable[[str], StageProgress | None]) -> None:
        self._look = look
        # Threads are reused for all statements, because each has a thread in Java and a connection.
        self._threads = ThreadPoolExecutor(thread_name_prefix="progress")

    @contextmanager
    def reporting(self, tag: str, report: ReportStage) -> Iterator[None]:
        """Within the context, another thread calls `report` for each progress of the tag's jobs."""
        over = threading.Event()
        self._threads.submit(self._watch, tag, report, over)
        try:
            yield
        finally:
            over.set()

    def _watch(self, tag: str, report: ReportStage, over: threading.Event) -> None:
        last = None
        while not over.wait(_EVERY_SECONDS):
            try:
                seen = self._look(tag)
            except (Py4JError, PySparkException, OSError):
                # The Java process is ending; the caller reports that.
                return
            if seen is not None and seen != last and not over.is_set():
                report(seen)
                last = seen

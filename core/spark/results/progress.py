"""How far a statement's tasks are, asked of Spark a few times a second."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors.exceptions.base import PySparkException

from core.spark.protocol import StageProgress

_EVERY_SECONDS = 0.3

ReportStage = Callable[[StageProgress], None]


class ProgressWatch:
    """`look` tells how far the jobs of a tag are."""

    def __init__(self, look: Callable[[str], StageProgress | None]) -> None:
        self._look = look
        # Kept for all statements: a thread that asks Spark has one in Java and a connection.
        self._threads = ThreadPoolExecutor(thread_name_prefix="progress")

    @contextmanager
    def reporting(self, tag: str, report: ReportStage) -> Iterator[None]:
        """Call `report` from another thread, while inside, whenever something of the tag's jobs moved."""
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
                # The Java process is going away: the caller reports it.
                return
            if seen is not None and seen != last and not over.is_set():
                report(seen)
                last = seen

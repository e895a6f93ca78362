"""Streaming queries: in the Spark of the fixture, or in one of their own, which a test may kill."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import msgspec
import pytest

from paimark.core.spark.launch.jvm import kill_descendants
from tests.spark.streaming_child import QUIET, RETAINED, Dying, Pump, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from paimark.core.spark.launch.session import Spark

# Spark gives a Python process ten seconds to start, however busy the machine is.
_SLOW = "Python worker failed to connect back"


class Streaming:
    """Runs queries one after the other. `java` is the process id of its Java."""

    def __init__(self, scratch: Path) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self.log = scratch / "log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.streaming_child", str(scratch)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        ready, java = self.answer().split()
        assert ready == "ready"
        self.java = int(java)

    def run(self, pump: Pump) -> str:
        """How the query ended: empty for well."""
        ended = _SLOW
        while _SLOW in ended:
            self.tell(pump)
            ended = self.answer()
        return ended

    def tell(self, pump: Pump) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode(pump).decode() + "\n")
        self.process.stdin.flush()

    def has_answered(self) -> bool:
        assert self.process.stdout is not None
        return bool(select.select([self.process.stdout], [], [], 0)[0])

    def close(self) -> None:
        """`kill -9` of all of it."""
        kill_descendants(self.process.pid)
        self.process.kill()
        self.process.communicate()

    def answer(self) -> str:
        """How the query ended that was told last."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log.read_text(errors="replace")[-3000:]
        said: str = json.loads(line)
        return said


class InThisProcess:
    """The same with the Spark of the fixture, which others use too."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        session.conf.set(RETAINED, QUIET[RETAINED])
        # For all others it is the source that it stands for.
        session.dataSource.register(Dying)
        self._running: Thread | None = None
        self._ended = ""

    def run(self, pump: Pump) -> str:
        """How the query ended: empty for well."""
        self.tell(pump)
        while _SLOW in (ended := self.answer()):
            self.tell(pump)
        return ended

    def tell(self, pump: Pump) -> None:
        self._running = Thread(target=self._run, args=(pump,))
        self._running.start()

    def answer(self) -> str:
        """How the query ended that was told last."""
        assert self._running is not None
        self._running.join()
        return self._ended

    def _run(self, pump: Pump) -> None:
        self._ended = run(self._session, pump)


@pytest.fixture(scope="session")
def streaming(spark_here: Spark) -> InThisProcess:
    return InThisProcess(spark_here.session)

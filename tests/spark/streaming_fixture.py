"""One Spark for the streaming tests, in a process of its own."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from paimark.core.spark.launch.jvm import kill_descendants
from tests.spark.streaming_child import Pump

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


@pytest.fixture(scope="session")
def streaming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streaming]:
    running = Streaming(tmp_path_factory.mktemp("streaming"))
    yield running
    running.close()

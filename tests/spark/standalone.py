"""A real Spark cluster on this machine: a master and two workers, each a process of its own on loopback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from paimark.core.spark.launch.home import find_spark
from paimark.core.spark.launch.java import find_java

_MASTER_AT = r"Starting Spark master at (spark://\S+)"
_PATIENCE_SECONDS = 120
# Short lives: what the second compiler and parallel collectors cost would never come back. Spark's classes
# need no check. With one compiler Java has so little room for code that it sweeps all the time; to find room
# for so many classes it would look for garbage five times, a second of CPU.
SPARING = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m -XX:MetaspaceSize=300m "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)


@dataclass(frozen=True, slots=True)
class Standalone:
    """`workers` lead process groups that their executors are in."""

    master: str
    workers: tuple[subprocess.Popen[bytes], ...]
    place: Path
    head: subprocess.Popen[bytes]

    def kill_executors(self, number: int) -> None:
        """Those of one worker, which starts others."""
        from paimark.core.spark.launch.jvm import kill_descendants

        kill_descendants(self.workers[number].pid)

    def kill_worker(self, number: int) -> None:
        """With its executors, as when a machine dies."""
        worker = self.workers[number]
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()


@contextmanager
def standalone(
    place: Path, settings: Mapping[str, str] = MappingProxyType({}), *, workers: int = 2
) -> Iterator[Standalone]:
    """`settings` are Spark's, of the master and the workers."""
    place.mkdir(parents=True)
    start = partial(_start, settings)
    processes = []
    try:
        log = place / "master.log"
        processes.append(start("master.Master", log, "--port", "0"))
        master = wait_for_log(_MASTER_AT, log, processes[0])
        for number in range(1, workers + 1):
            # Of a host each: Spark tries a slow task again on another one only.
            words = ("--cores", "1", "--memory", "1g", "--work-dir", str(place / f"worker-{number}"), master)
            host = f"127.0.0.{number}" if sys.platform == "linux" else "127.0.0.1"
            processes.append(start("worker.Worker", place / f"worker-{number}.log", *words, host=host))
        for number in range(1, workers + 1):
            wait_for_log("(Successfully registered)", place / f"worker-{number}.log", processes[number])
        yield Standalone(master, tuple(processes[1:]), place, processes[0])
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _start(
    settings: Mapping[str, str], name: str, log: Path, *words: str, host: str = "127.0.0.1"
) -> subprocess.Popen[bytes]:
    spark = find_spark({})
    home = spark.home
    command = [
        *(str(find_java().executable), "-cp", str(home / "jars" / "*"), "-Xmx192m", *SPARING.split()),
        *(f"-D{setting}={value}" for setting, value in settings.items()),
        *(f"org.apache.spark.deploy.{name}", "--host", host, "--webui-port", "0", *words),
    ]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYTHON"))},
        "SPARK_HOME": str(home),
        "SPARK_SCALA_VERSION": spark.scala,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with open(log, "wb") as out:
        return subprocess.Popen(
            command, stdout=out, stderr=out, env=environment, cwd=log.parent, start_new_session=True
        )


def wait_for_log(words: str, log: Path, process: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(words, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.05)
    raise AssertionError(f"{log} never said {words}:\n{log.read_text(errors='replace')}")

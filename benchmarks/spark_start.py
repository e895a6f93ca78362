"""Spark's start beside the stock one (P7): from process start to the rows of a first query, in the same run.

`python -m benchmarks.spark_start [--rounds R]`. Our first start makes the archive of Java's classes, in a
cache of this run's own; the program waits for it, and does not count this start. Rounds are interleaved. JVM
CPU is all that Java used: for the stock start, including the launcher's Java. Ratios are to a stock start
with our collector and compiler thresholds; the program prints the Java options that still differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.measuring.words import parser_of

_CHECKOUT = Path(__file__).parent.parent
_MASTER = "local[2]"
_QUERY = "SELECT id % 7 AS k, count(*) AS c FROM range(100000) GROUP BY 1 ORDER BY 1"
_ARCHIVE_SECONDS = 900
_TICKS = os.sysconf("SC_CLK_TCK")
_PEER = "stock, same options"


class Started(NamedTuple):
    """Wall and JVM CPU seconds until the rows were there, and Java's options."""

    wall: float
    jvm: float
    flags: frozenset[str]


def ours() -> int:
    """Answer the query with this project's engine, and print the figures of its Java process."""
    from paimark.core.config import Settings
    from paimark.core.spark.client.client import Engine
    from paimark.core.spark.protocol import Finished

    place = Path(os.environ["PAIMARK_BENCHMARK"])
    settings = Settings(
        str(place),
        spark_master=_MASTER,
        spark_conf=_settings(),
        read_only=True,
    )
    with closing(Engine(settings, place / "engine.log")) as engine:
        # With the console's limit.
        *_, end = engine.run(_QUERY, limit=500)
        assert isinstance(end, Finished), end
        assert engine._process is not None
        from benchmarks.measuring.processes import java_below

        _tell(java_below(engine._process.pid))
    return 0


def stock() -> int:
    """Answer it in the way of PySpark's documentation."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master(_MASTER).config(map=_settings()).getOrCreate()
    assert len(session.sql(_QUERY).collect()) == 7
    gateway = SparkContext._gateway
    assert gateway is not None
    _tell(gateway.proc.pid)
    session.stop()
    return 0


SUBJECTS = {"ours": ours, _PEER: stock, "stock as it is": stock}


def _settings() -> dict[str, Any]:
    settings: dict[str, Any] = json.loads(os.environ["PAIMARK_BENCHMARK_SETTINGS"])
    return settings


def _tell(java: int) -> None:
    fields = Path(f"/proc/{java}/stat").read_text().rpartition(")")[2].split()
    # Includes ended children: the stock start's script becomes Java, and the launcher was its child.
    print(json.dumps(sum(map(int, fields[11:15])) / _TICKS), flush=True)
    # The measured figure is printed, so imports no longer matter.
    from benchmarks.measuring.java import flags

    print(json.dumps(sorted(flags(java))), flush=True)


def _once(subject: str, place: str) -> Started:
    from benchmarks.measuring.java import JAVA_OPTIONS, MEMORY

    settings = {"spark.driver.memory": MEMORY}
    if subject == _PEER:
        settings["spark.driver.extraJavaOptions"] = " ".join(JAVA_OPTIONS)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))
    }
    environment |= {
        "XDG_CACHE_HOME": place,
        "PAIMARK_BENCHMARK": place,
        "PAIMARK_BENCHMARK_SETTINGS": json.dumps(settings),
        "PYSPARK_PYTHON": sys.executable,
    }
    began = time.monotonic()
    command = [sys.executable, "-m", "benchmarks.spark_start", "--subject", subject]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=_CHECKOUT, env=environment, text=True
    ) as process:
        assert process.stdout is not None
        jvm = process.stdout.readline()
        wall = time.monotonic() - began
        options = process.stdout.read()
    return Started(wall, float(json.loads(jvm)), frozenset(json.loads(options)))


def compare(rounds: int) -> None:
    from benchmarks.measuring.java import print_flags

    with tempfile.TemporaryDirectory() as place:
        _once("ours", place)
        until = time.monotonic() + _ARCHIVE_SECONDS
        while not (archives := list(Path(place).glob("paimark/java/*.jsa"))):
            assert time.monotonic() < until, "no archive was made"
            time.sleep(0.5)
        size = archives[0].stat().st_size
        found: dict[str, list[Started]] = {subject: [] for subject in SUBJECTS}
        for _ in range(rounds):
            for subject, starts in found.items():
                starts.append(_once(subject, place))
    middles = {
        name: (median(each.wall for each in starts), median(each.jvm for each in starts))
        for name, starts in found.items()
    }
    print(f"\nP7 process start -> rows of a first query (median of {rounds}); archive {size / 1e6:.0f} MB")
    print(f"  {'':24}{'wall s':>10}{'jvm cpu s':>12}{'wall ratio':>12}{'cpu ratio':>12}")
    for name, (wall, cpu) in middles.items():
        ratios = f"{wall / middles[_PEER][0]:12.2f}{cpu / middles[_PEER][1]:12.2f}"
        print(f"  {name:24}{wall:10.2f}{cpu:12.2f}{ratios}")
    print_flags(found["ours"][0].flags, _PEER, found[_PEER][0].flags)


def parser() -> argparse.ArgumentParser:
    words = parser_of(__doc__)
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--subject", choices=SUBJECTS, help=argparse.SUPPRESS)
    return words


def main() -> int:
    chosen = parser().parse_args()
    if chosen.subject is not None:
        return SUBJECTS[chosen.subject]()
    compare(chosen.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The first query after Spark's start: with the work done in idle time, and without it.

`python -m benchmarks.spark_first [--rows N] [--rounds R] [--rest S]`. Each round starts an engine for each
question and way, lets it rest, and asks the question, then another one. Ways and questions are interleaved.
CPU is that of all its processes: from the question to its end and, as `rest`, from ready to the question.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa

from benchmarks.measuring.asking import run
from benchmarks.measuring.java import MEMORY
from benchmarks.measuring.processes import cpu_ms
from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import WARM_UP
from tests.paimon import commit, create_table

QUESTIONS = {
    "rows": "SELECT * FROM bench.keyed VERSION AS OF 2",
    "aggregate": "SELECT sum(amount) FROM bench.keyed",
    "group": "SELECT region, sum(amount) FROM bench.keyed GROUP BY region",
    "point": "SELECT * FROM bench.keyed WHERE id = 4711",
}
AFTERWARDS = "SELECT max(amount), count(*) FROM bench.keyed VERSION AS OF 1 WHERE id > 100"
WAYS = {"without": "off", "with": "on"}
_SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string()),
        pa.field("amount", pa.float64()),
    ]
)


def write_table(warehouse: Path, rows: int) -> None:
    create_table(warehouse, "bench.keyed", _SCHEMA, primary_keys=["id"], options={"bucket": "2"})
    for step in (1, 10):
        ids = np.arange(0, rows, step)
        columns = [pa.array(ids), pa.array([f"r{each % 20}" for each in ids]), pa.array(ids * 0.5)]
        commit(warehouse, "bench.keyed", pa.Table.from_arrays(columns, schema=_SCHEMA))


def once(warehouse: Path, place: str, way: str, question: str, rest: float) -> dict[str, tuple[float, float]]:
    conf = {"spark.driver.memory": MEMORY, WARM_UP: WAYS[way]}
    settings = Settings(str(warehouse), spark_master="local[2]", read_only=True, spark_conf=conf)
    with closing(Engine(settings, Path(place) / "engine.log")) as engine:
        engine.wait_ready()
        process = engine._process
        assert process is not None
        before = cpu_ms(process.pid)
        time.sleep(rest)
        found = {"rest": (rest * 1000, cpu_ms(process.pid) - before)}
        for name, sql in {question: QUESTIONS[question], "afterwards": AFTERWARDS}.items():
            wall, cpu = time.perf_counter(), cpu_ms(process.pid)
            run(engine, sql)
            found[name] = (time.perf_counter() - wall) * 1000, cpu_ms(process.pid) - cpu
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rest", type=float, default=15.0, help="seconds between ready and the question")
    given = parser.parse_args()
    costs: defaultdict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as place:
        warehouse = Path(place) / "warehouse"
        write_table(warehouse, given.rows)
        for number in range(given.rounds):
            for question in QUESTIONS:
                for way in WAYS:
                    for name, cost in once(warehouse, place, way, question, given.rest).items():
                        costs[name, way].append(cost)
                        print(number, question, way, name, *map(round, cost), file=sys.stderr)
    print(f"\n{'':12}" + "".join(f"{way + ': wall ms, cpu ms':>28}" for way in WAYS))
    for name in ("rest", *QUESTIONS, "afterwards"):
        line = f"{name:12}"
        for way in WAYS:
            wall, cpu = (median(each) for each in zip(*costs[name, way], strict=True))
            line += f"{wall:19.0f}{cpu:9.0f}"
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())

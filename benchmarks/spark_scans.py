"""Queries on Spark's own readers beside the Python source, pypaimon alone and stock Paimon for Java (P8).

`python -m benchmarks.spark_scans [--rows N] [--rounds R] [--slow-rounds R] [--keep PLACE]`. Five questions,
three tables that stock Paimon writes: appended; with a key, one big run and small ones; with a key, and equal
runs that all overlap. Rounds are interleaved, times are medians, and CPU is that of all processes.
`read before` is a later query of a snapshot, `new` the first. It needs a JDK and Maven.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import NamedTuple

from core.config import Settings
from core.spark.client.client import Engine
from core.spark.protocol import Failed
from tests.interop.stock import build_command
from tests.paimon import open_table

TABLES = ("append", "big_run", "equal_runs")
QUESTIONS = {
    "aggregate": "SELECT sum(amount) FROM {table}",
    "count": "SELECT count(*) FROM {table}",
    "point": "SELECT * FROM {table} WHERE id = {key}",
    "group": "SELECT region, sum(amount) FROM {table} GROUP BY region",
    "limit": "SELECT * FROM {table} LIMIT 10",
}
WAYS = ("read before", "new", "python source", "pypaimon", "stock")
_SLOW = ("python source", "pypaimon")
_SMALL_RUNS, _EQUAL_RUNS = 4, 4
# What statements run on, by both sides.
MEMORY = "2g"


class Cost(NamedTuple):
    """Milliseconds."""

    wall: float
    cpu: float


# By table, question and way.
Costs = defaultdict[tuple[str, str, str], list[Cost]]


class Stock:
    """Stock Paimon on a warehouse, as a process."""

    def __init__(self, workspace: Path, warehouse: Path) -> None:
        source = str(Path(__file__).parent / "StockReads.java")
        command = build_command(workspace, [source], [f"-Xmx{MEMORY}"])
        self._process = subprocess.Popen(
            [*command, str(warehouse)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, *words: object) -> tuple[str, Cost]:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(*words, sep="\t", file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("stock Paimon ended")
        result, wall, cpu = line.rstrip("\n").split("\t")
        return result, Cost(float(wall), float(cpu))

    def cost(self, *words: object) -> Cost:
        return self.ask(*words)[1]

    def close(self) -> None:
        self._process.communicate()


def write_tables(stock: Stock, rows: int) -> None:
    small = max(rows // 100, 1)
    for table in TABLES:
        stock.ask("create", "bench", table, "plain" if table == "append" else "keyed")
    for part in range(4):
        stock.ask("write", "bench", "append", part * rows // 4, 1, rows // 4, "keep")
    stock.ask("write", "bench", "big_run", 0, 1, rows, "compact")
    for number in range(_SMALL_RUNS):
        # A hundredth of the keys anew, over the whole range.
        stock.ask("write", "bench", "big_run", number, rows // small, small, "keep")
    for number in range(_EQUAL_RUNS):
        stock.ask("write", "bench", "equal_runs", number, 2, rows // _EQUAL_RUNS, "keep")


def cpu_ms(pid: int) -> float:
    """CPU of a process and all below it, those that ended included."""
    ticks = 0
    children: defaultdict[int, list[int]] = defaultdict(list)
    spent: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children[int(words[1])].append(int(entry.name))
            spent[int(entry.name)] = sum(map(int, words[11:15]))
    waiting = [pid]
    while waiting:
        each = waiting.pop()
        ticks += spent.get(each, 0)
        waiting += children[each]
    return ticks * 1000 / os.sysconf("SC_CLK_TCK")


def timed(work: Callable[[], object]) -> Cost:
    wall, cpu = time.perf_counter(), cpu_ms(os.getpid())
    work()
    return Cost((time.perf_counter() - wall) * 1000, cpu_ms(os.getpid()) - cpu)


def run(engine: Engine, sql: str) -> None:
    for event in engine.run(sql):
        if isinstance(event, Failed):
            raise SystemExit(f"{sql}: {event.message}")


def with_pypaimon(warehouse: Path, table: str, question: str, key: int) -> None:
    builder = open_table(warehouse, table).new_read_builder()
    columns = {"aggregate": ["amount"], "count": ["id"], "group": ["region", "amount"]}.get(question)
    if columns:
        builder = builder.with_projection(columns)
    if question == "point":
        builder = builder.with_filter(builder.new_predicate_builder().equal("id", key))
    if question == "limit":
        builder = builder.with_limit(10)
    arrow = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    if question == "group":
        arrow.group_by("region").aggregate([("amount", "sum")])
    if question == "aggregate":
        arrow.group_by([]).aggregate([("amount", "sum")])


def new_copies(warehouse: Path, table: str) -> Generator[str]:
    """The same table under names that were never read. Its files are linked, not copied."""
    number = 0
    while True:
        number += 1
        name = f"{table}_{number}"
        database = warehouse / "bench.db"
        shutil.copytree(database / table, database / name, copy_function=os.link)
        yield f"bench.{name}"
        shutil.rmtree(database / name)


def measure(engine: Engine, stock: Stock, warehouse: Path, rows: int, rounds: int, slow: int) -> Costs:
    costs: Costs = defaultdict(list)
    for table in TABLES:
        with closing(new_copies(warehouse, table)) as copies:
            for number, (question, sql) in product(range(rounds + 1), QUESTIONS.items()):
                key = rows // 3 + number
                text = sql.format(table=f"bench.{table}", key=key)
                fresh = sql.format(table=next(copies), key=key)
                alone = partial(with_pypaimon, warehouse, f"bench.{table}", question, key)
                ways: dict[str, Callable[[], Cost]] = {
                    "read before": partial(timed, partial(run, engine, text)),
                    "new": partial(timed, partial(run, engine, fresh)),
                    "stock": partial(stock.cost, question, "bench", table, key),
                    "python source": partial(with_python, engine, text),
                    "pypaimon": partial(timed, alone),
                }
                for way, work in ways.items():
                    # The first round warms up; slow ways are asked less often.
                    if way not in _SLOW or number < slow:
                        cost = work()
                        print(f"{table} {question} {way}: {cost.wall:.0f} ms", file=sys.stderr)
                        if number or way in _SLOW:
                            costs[table, question, way].append(cost)
    return costs


def with_python(engine: Engine, text: str) -> Cost:
    run(engine, "SET spark.paimark.scan = python")
    try:
        return timed(lambda: run(engine, text))
    finally:
        run(engine, "RESET spark.paimark.scan")


def report(costs: Costs, tables: Sequence[str] = TABLES, ways: Sequence[str] = WAYS) -> None:
    ratios: defaultdict[str, list[float]] = defaultdict(list)
    print(f"{'':24}" + "".join(f"{way:>24}" for way in ways))
    print(f"{'':24}" + f"{'wall ms   cpu ms  ratio':>24}" * len(ways))
    for table in tables:
        for question in QUESTIONS:
            stock = _medians(costs[table, question, "stock"])
            line = f"{table + ' ' + question:24}"
            for way in ways:
                found = costs.get((table, question, way))
                if not found:
                    line += f"{'-':>24}"
                    continue
                cost = _medians(found)
                ratios[way].append(cost.wall / stock.wall)
                line += f"{cost.wall:10.0f}{cost.cpu:9.0f}{cost.wall / stock.wall:7.2f}".rjust(24)
            print(line)
    means = "".join(f"{_mean(ratios[way]):24.2f}" if ratios[way] else f"{'-':>24}" for way in ways)
    print(f"{'geometric mean':24}{means}")


def _medians(costs: Sequence[Cost]) -> Cost:
    return Cost(median(cost.wall for cost in costs), median(cost.cpu for cost in costs))


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def arguments(described: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=described.splitlines()[0] if described else "")
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slow-rounds", type=int, default=1, help="of the Python source and pypaimon alone")
    parser.add_argument("--keep", type=Path, help="a directory for the tables, used again if it has them")
    return parser.parse_args()


def main() -> None:
    given = arguments(__doc__)
    with tempfile.TemporaryDirectory() as place:
        warehouse = given.keep or Path(place) / "warehouse"
        (Path(place) / "stock").mkdir()
        stock = Stock(Path(place) / "stock", warehouse)
        if not (warehouse / "bench.db").exists():
            print("writing tables", file=sys.stderr)
            write_tables(stock, given.rows)
        conf = {"spark.driver.memory": MEMORY}
        engine = Engine(Settings(str(warehouse), read_only=True, spark_conf=conf), Path(place) / "log")
        try:
            report(measure(engine, stock, warehouse, given.rows, given.rounds, given.slow_rounds))
        finally:
            engine.close()
            stock.close()


if __name__ == "__main__":
    main()

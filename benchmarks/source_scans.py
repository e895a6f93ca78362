"""Queries through the Python source, with and without pypaimon-rust, beside stock Paimon for Java (P8c).

`python -m benchmarks.source_scans [--rows N] [--rounds R] [--slow-rounds R] [--keep PLACE]`. The questions
of `spark_scans` to tables that Spark's own readers don't read, which stock Paimon writes. Rounds are
interleaved, times are medians, and CPU is that of all processes. The first round of each way warms up. It
needs a JDK and Maven.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

from benchmarks.spark_scans import MEMORY, QUESTIONS, Cost, Costs, Stock, arguments, report, run, timed
from core.config import Settings
from core.spark.client.client import Engine
from core.spark.launch.session_settings import SCAN

_SUMS = ";".join(
    f"fields.{name}.aggregate-function={function}"
    for name, function in {"amount": "sum", "quantity": "max", "region": "last_non_null_value"}.items()
)
# The options of each, and what becomes of the files of a commit.
TABLES = {
    "avro": ("plain", "file.format=avro", "keep"),
    "keyed_avro": ("keyed", "file.format=avro", "keep"),
    "partial_update": ("keyed", "merge-engine=partial-update", "keep"),
    "aggregation": ("keyed", f"merge-engine=aggregation;{_SUMS}", "keep"),
    "first_row": ("keyed", "merge-engine=first-row", "merge"),
    "vectors": ("keyed", "deletion-vectors.enabled=true", "merge"),
}
WAYS = {"python source": "python", "python alone": "pypaimon"}
_SMALL_RUNS = 4


def write_tables(stock: Stock, rows: int) -> None:
    small = max(rows // 100, 1)
    for table, (kind, options, after) in TABLES.items():
        print(f"writing {table}", file=sys.stderr)
        stock.ask("create", "bench", table, kind, options)
        stock.ask("write", "bench", table, 0, 1, rows, "keep" if kind == "plain" else "compact")
        for number in range(_SMALL_RUNS):
            # A hundredth of the keys anew, over the whole range.
            stock.ask("write", "bench", table, number, rows // small, small, after)


def by(engine: Engine, reader: str, text: str) -> Cost:
    run(engine, f"SET {SCAN} = {reader}")
    try:
        return timed(lambda: run(engine, text))
    finally:
        run(engine, f"RESET {SCAN}")


def measure(engine: Engine, stock: Stock, rows: int, rounds: int, slow: int) -> Costs:
    costs: Costs = defaultdict(list)
    for table, number, (question, sql) in product(TABLES, range(rounds + 1), QUESTIONS.items()):
        key = rows // 3 + number
        text = sql.format(table=f"bench.{table}", key=key)
        ways: dict[str, Callable[[], Cost]] = {
            way: partial(by, engine, reader, text) for way, reader in WAYS.items()
        }
        ways["stock"] = partial(stock.cost, question, "bench", table, key)
        # The first to read something pays for what the others find ready.
        for way, work in sorted(ways.items(), reverse=bool(number % 2)):
            if way != "python alone" or number <= slow:
                cost = work()
                print(f"{table} {question} {way}: {cost.wall:.0f} ms", file=sys.stderr)
                if number:
                    costs[table, question, way].append(cost)
    return costs


def main() -> None:
    given = arguments(__doc__)
    with tempfile.TemporaryDirectory() as place:
        warehouse = given.keep or Path(place) / "warehouse"
        (Path(place) / "stock").mkdir()
        stock = Stock(Path(place) / "stock", warehouse)
        if not (warehouse / "bench.db").exists():
            write_tables(stock, given.rows)
        conf = {"spark.driver.memory": MEMORY}
        engine = Engine(Settings(str(warehouse), read_only=True, spark_conf=conf), Path(place) / "log")
        try:
            costs = measure(engine, stock, given.rows, given.rounds, given.slow_rounds)
            report(costs, list(TABLES), (*WAYS, "stock"))
        finally:
            engine.close()
            stock.close()


if __name__ == "__main__":
    main()

"""Queries of tables that Spark's own readers read hardly or not at all, beside stock Paimon for Java (P8c).

`python -m benchmarks.source_scans [--rows N] [--rounds R] [--tables T ...] [--questions Q ...]` asks the
questions of `benchmarks.spark_scans` to tables that stock Paimon writes. `as chosen` reads Avro, tables with
vectors and first-row tables natively, the others by Paimon's library; `by library` reads all so.
Rounds are interleaved, times are medians, and CPU is that of all processes. The first round of each way warms
up. It needs a JDK and Maven. The peer is the stock connector, or the bare library if the
connector is not available.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

from benchmarks.measuring.asking import run
from benchmarks.measuring.cells import QUESTIONS, report
from benchmarks.measuring.costs import Cost, Costs, timed
from benchmarks.peers.library import Library
from benchmarks.spark_scans import Asked, Sides, shared_arguments, sides_of
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import SCAN

_SUMS = ";".join(
    f"fields.{name}.aggregate-function={function}"
    for name, function in {"amount": "sum", "quantity": "max", "region": "last_non_null_value"}.items()
)
# The options of each, and what happens to the files of a commit.
TABLES = {
    "avro": ("plain", "file.format=avro", "keep"),
    "keyed_avro": ("keyed", "file.format=avro", "keep"),
    "partial_update": ("keyed", "merge-engine=partial-update", "keep"),
    "aggregation": ("keyed", f"merge-engine=aggregation;{_SUMS}", "keep"),
    "first_row": ("keyed", "merge-engine=first-row", "merge"),
    "vectors": ("keyed", "deletion-vectors.enabled=true", "merge"),
}
WAYS = {"as chosen": "auto", "by library": "library"}
_SMALL_RUNS = 4


def write_tables(library: Library, warehouse: Path, rows: int) -> None:
    small = max(rows // 100, 1)
    for table, (kind, options, after) in TABLES.items():
        print(f"writing {table}", file=sys.stderr)
        library.do("create", "bench", table, kind, options)
        library.do("write", "bench", table, 0, 1, rows, "keep" if kind == "plain" else "compact")
        for number in range(_SMALL_RUNS):
            # It writes a hundredth of the keys again, over the whole range.
            library.do("write", "bench", table, number, rows // small, small, after)


def by(engine: Engine, reader: str, text: str) -> Cost:
    run(engine, f"SET {SCAN} = {reader}")
    try:
        return timed(lambda: run(engine, text))
    finally:
        run(engine, f"RESET {SCAN}")


def ways_of(sides: Sides, asked: Asked) -> dict[str, Callable[[], Cost]]:
    ours = {way: partial(by, sides.engine, reader, asked.sql) for way, reader in WAYS.items()}
    library = partial(sides.library.cost, asked.question, "bench", asked.table, asked.key)
    others = {
        way: partial(timed, partial(peer.rows, asked.sql), peer.pid) for way, peer in sides.others.items()
    }
    return {**ours, "library": library, **others}


def measure(sides: Sides, given: argparse.Namespace) -> Costs:
    costs: Costs = defaultdict(list)
    for table, number, question in product(given.tables, range(given.rounds + 1), given.questions):
        key = given.rows // 3 + number
        asked = Asked(table, question, QUESTIONS[question].format(table=f"bench.{table}", key=key), key)
        # The first way to read something pays for caches that the others find ready.
        for way, work in sorted(ways_of(sides, asked).items(), reverse=bool(number % 2)):
            cost = work()
            print(f"{table} {question} {way}: {cost.wall:.0f} ms", file=sys.stderr)
            if number:
                costs[table, question, way].append(cost)
    return costs


def parser() -> argparse.ArgumentParser:
    words = shared_arguments(__doc__)
    words.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    return words


def main() -> None:
    given = parser().parse_args()
    with sides_of(given, ["connector"], write_tables) as sides:
        costs = measure(sides, given)
        peer = "connector" if sides.others else "library"
        report(costs, given.tables, given.questions, (*WAYS, "library", *sides.others), peer)


if __name__ == "__main__":
    main()

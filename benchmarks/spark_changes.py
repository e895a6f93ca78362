"""DELETE, UPDATE and MERGE of one row in a hundred, and a full compaction, beside stock Paimon (P14).

`python -m benchmarks.spark_changes [--rows N] [--rounds R] [--changes C ...]`. The table has a key and six
runs that overlap. Each change is made to a copy of its own, of which nothing was read before. The plan is a
part of ours: as after `--yes`, and as one that is `asked`, with the count of rows that a person reads.
Rounds are interleaved, times are medians, CPU is that of all processes, and the rows are compared. The peer
is the bare library: threads of its own, no SQL. At the end it prints the memory that the engine held at most.
It needs a JDK and Maven.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import product
from pathlib import Path

from benchmarks.measuring.asking import run
from benchmarks.measuring.cells import report
from benchmarks.measuring.costs import Cost, Costs, timed
from benchmarks.measuring.processes import told_memory
from benchmarks.peers.library import Library
from benchmarks.spark_scans import Sides, new_copies, shared_arguments, sides_of
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed
from paimark.core.statements.run import CallMode, context_for, run_statement

TABLE = "six_runs"
_RUNS = 6
_SOURCE = "SELECT id * 100 + {keys} AS id, CAST(id AS DOUBLE) AS amount FROM range({count})"
_MERGE = (
    f"MERGE INTO {{table}} t USING ({_SOURCE}) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET amount = s.amount "
    "WHEN NOT MATCHED THEN INSERT (id, amount) VALUES (s.id, s.amount)"
)
CHANGES = {
    "delete": "DELETE FROM {table} WHERE id % 100 = {keys}",
    "update": "UPDATE {table} SET amount = amount + 1 WHERE id % 100 = {keys}",
    "merge": _MERGE,
    "compact": "CALL sys.compact(table => '{table}', full => true)",
}
_ROWS = "SELECT count(*), sum(amount), count(note), sum(quantity) FROM {}"


def write_table(library: Library, warehouse: Path, rows: int) -> None:
    library.do("create", "bench", TABLE, "keyed")
    library.do("write", "bench", TABLE, 0, 1, rows // 2, "keep")
    for number in range(_RUNS - 1):
        # Each writes some keys of the run before again, and new ones.
        library.do("write", "bench", TABLE, rows // 4 + number, 5, rows // 7, "keep")


def change(engine: Engine, sql: str, *, asks: bool) -> None:
    for event in run_statement(context_for(engine), sql, call=CallMode(lambda action, plan: None, asks=asks)):
        if isinstance(event, Failed):
            raise SystemExit(f"{sql}: {event.message} {event.hint}")


def ours(sides: Sides, what: str, table: str, keys: int, count: int) -> Cost:
    sql = CHANGES[what].format(table=table, keys=keys, count=count)
    return timed(partial(change, sides.engine, sql, asks=False))


def asked(sides: Sides, what: str, table: str, keys: int, count: int) -> Cost:
    sql = CHANGES[what].format(table=table, keys=keys, count=count)
    return timed(partial(change, sides.engine, sql, asks=True))


def theirs(sides: Sides, what: str, table: str, keys: int, count: int) -> Cost:
    return sides.library.cost(what, *table.split("."), keys, count)


WAYS: dict[str, Callable[[Sides, str, str, int, int], Cost]] = {
    "ours": ours,
    "asked": asked,
    "library": theirs,
}


def measure(sides: Sides, given: argparse.Namespace) -> Costs:
    costs: Costs = defaultdict(list)
    with closing(new_copies(sides.warehouse, TABLE)) as copies:
        for number, what in product(range(given.rounds + 1), given.changes):
            rows = {}
            for way in sorted(WAYS, reverse=bool(number % 2)):
                table = next(copies)
                cost = WAYS[way](sides, what, table, 7 + number, given.rows // 100)
                rows[way] = [round(float(each)) for each in run(sides.engine, _ROWS.format(table))[0]]
                print(f"{what} {way}: {cost.wall:.0f} ms, cpu {cost.cpu:.0f}", file=sys.stderr, flush=True)
                # The first round warms up.
                if number:
                    costs[TABLE, what, way].append(cost)
            if any(each != rows["library"] for each in rows.values()):
                raise SystemExit(f"{what}: {rows}")
    return costs


def parser() -> argparse.ArgumentParser:
    words = shared_arguments(__doc__)
    words.add_argument("--changes", nargs="+", choices=CHANGES, default=list(CHANGES))
    return words


def main() -> None:
    given = parser().parse_args()
    with sides_of(given, [], write_table, read_only=False) as sides:
        costs = measure(sides, given)
        report(costs, [TABLE], given.changes, tuple(WAYS), "library")
        print(f"memory at most: {told_memory('VmHWM')}")


if __name__ == "__main__":
    main()

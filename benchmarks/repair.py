"""`when` on a long history, `history` of a key, and `restore-rows` of a hundred keys (P20).

`python -m benchmarks.repair [--snapshots N] [--commits C] [--rows R] [--rounds K]`. The long history has N
snapshots of two states: the rows of the second are bad. `when` is told with the number of its counts, beside
one count by SQL. The key's history has C commits, each to a hundredth of the keys, in turn. The table whose
rows are restored has R rows in one big run, and a small commit that changed a hundred keys. Times are medians
of warm rounds; CPU is that of all processes. It needs Paimon's library (`paimark jars fetch paimon`).
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from benchmarks.measuring.asking import run
from benchmarks.measuring.costs import Cost, middle, timed
from benchmarks.measuring.words import parser_of
from paimark.core.actions.context import NO_AUDIT, Context, open_context
from paimark.core.actions.registry import action
from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.statements.questions.history import History
from paimark.core.statements.questions.when import When
from paimark.core.table.layout import TablePath
from tests.paimon import commit, create_table

_SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("price", pa.float64())])
_LONG, _MANY, _BIG = (TablePath("bench", name) for name in ("long", "many", "big"))
_KEYS = 100_000
_FIRST_MS = 1_700_000_000_000


def rows(first: int, count: int, price: float, step: int = 1) -> pa.Table:
    ids = list(range(first, first + count * step, step))
    return pa.table({"id": ids, "price": [price] * count}, schema=_SCHEMA)


def write_long(warehouse: Path, snapshots: int) -> None:
    """All but the first and second of its snapshots are copies of one of these two."""
    create_table(warehouse, _LONG.full_name, _SCHEMA, primary_keys=["id"], options={"bucket": "1"})
    commit(warehouse, _LONG.full_name, rows(0, _KEYS, 1.0))
    commit(warehouse, _LONG.full_name, rows(0, _KEYS // 100, -1.0, 100))
    directory = warehouse / _LONG.root().snapshots
    states = [json.loads((directory / f"snapshot-{number}").read_text()) for number in (1, 2)]
    turn = snapshots // 3
    for number in range(1, snapshots + 1):
        record = {**states[number > turn], "id": number, "timeMillis": _FIRST_MS + number * 60_000}
        (directory / f"snapshot-{number}").write_text(json.dumps(record))
    (directory / "LATEST").write_text(str(snapshots))


def write_many(warehouse: Path, commits: int) -> None:
    create_table(warehouse, _MANY.full_name, _SCHEMA, primary_keys=["id"], options={"bucket": "1"})
    for number in range(commits):
        commit(warehouse, _MANY.full_name, rows(number % 100 * 1000, 1000, float(number)))


def write_big(warehouse: Path, count: int) -> None:
    create_table(warehouse, _BIG.full_name, _SCHEMA, primary_keys=["id"], options={"bucket": "4"})
    commit(warehouse, _BIG.full_name, rows(0, count, 1.0))


@contextmanager
def engine_of(warehouse: Path) -> Iterator[tuple[Context, Engine]]:
    engine = Engine(Settings(str(warehouse)), warehouse.parent / "engine.log")
    try:
        engine.wait_ready()
        context = replace(open_context(str(warehouse), {}, read_only=False), audit_path=NO_AUDIT)
        yield replace(context, engine=lambda: engine), engine
    finally:
        engine.close()


def measured(work: Callable[[], object], rounds: int) -> Cost:
    """The first round warms up."""
    return middle([timed(work) for _ in range(rounds + 1)][1:])


def told(name: str, cost: Cost, more: str = "") -> None:
    print(f"{name:44}{cost.wall:>10.0f} ms{cost.cpu:>10.0f} ms CPU   {more}", flush=True)


def restored(context: Context, warehouse: Path) -> Cost:
    """The cost of the plan and its commit, of keys that a new commit has changed."""
    keys = ",".join(map(str, range(0, 100_000, 1000)))
    commit(warehouse, _BIG.full_name, rows(0, 100, -1.0, 1000))
    head = int((warehouse / _BIG.root().snapshots / "LATEST").read_text())

    def restore() -> None:
        given = {"from_version": f"snapshot.{head - 1}", "keys": keys}
        plan = action("restore-rows").plan(context, _BIG, given)
        action("restore-rows").apply(context, plan, lambda line: None)

    return timed(restore)


def parser() -> argparse.ArgumentParser:
    words = parser_of(__doc__)
    words.add_argument("--snapshots", type=int, default=10_000)
    words.add_argument("--commits", type=int, default=1_000)
    words.add_argument("--rows", type=int, default=3_000_000)
    words.add_argument("--rounds", type=int, default=5)
    return words


def main() -> None:
    given = parser().parse_args()
    with tempfile.TemporaryDirectory() as place:
        warehouse = Path(place, "warehouse")
        write_long(warehouse, given.snapshots)
        write_many(warehouse, given.commits)
        write_big(warehouse, given.rows)
        with engine_of(warehouse) as (context, engine):
            counts: list[object] = []

            def when() -> None:
                counts.clear()
                found = When(context, _LONG, None, "price < 0").find(context.progress, counts.append)
                assert found.first.version.snapshot_id == given.snapshots // 3 + 1

            sql = f"SELECT count(*) FROM {_LONG.full_name} WHERE price < 0"
            told("one count by SQL", measured(lambda: run(engine, sql), given.rounds))
            cost = measured(when, given.rounds)
            most = math.ceil(math.log2(given.snapshots)) + 2
            told(f"when, {given.snapshots} snapshots", cost, f"{len(counts)} counts, at most {most}")
            search = History(context, _MANY, None, {"id": "5500"})

            def history() -> int:
                return len(list(search.find(context.progress)))

            changes = history()
            told(
                f"history, {given.commits} commits",
                measured(history, given.rounds),
                f"{changes} changes",
            )
            costs = [restored(context, warehouse) for _ in range(given.rounds + 1)][1:]
            told(f"restore-rows, 100 of {given.rows} rows", middle(costs))


if __name__ == "__main__":
    main()

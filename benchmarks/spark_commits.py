"""The first query after a commit to a large keyed table, beside stock Paimon (P12).

`python -m benchmarks.spark_commits [--rows N] [--commit N] [--rounds R] [--snapshots S] [--questions Q ...]
[--keep PLACE]`. The table is one big run of generated files; stock Paimon commits keys over the whole range
to it. Each question is the first after a commit of its own: with knowledge of the state before, without it
(`spark.paimark.reuse` off), to the bare library, and to the stock connector if it is available. Times are
medians, CPU is that of all processes.

Then it makes `--snapshots` commits with a query each: the engine's memory must not grow. It needs a JDK and
Maven.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measuring.asking import run
from benchmarks.measuring.cells import QUESTIONS, report
from benchmarks.measuring.costs import Cost, Costs, timed
from benchmarks.measuring.data_files import BIG_LEVEL, DataFile, commit
from benchmarks.measuring.processes import told_memory
from benchmarks.measuring.words import parser_of
from benchmarks.peers.connector import add_arguments
from benchmarks.peers.library import Library
from benchmarks.spark_scans import Asked, Sides, sides_of
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import REUSE
from tests.paimon import create_table, open_table

TABLE = "bench.commits"
_SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("region", pa.string()),
        ("amount", pa.float64()),
        ("quantity", pa.int32()),
        ("note", pa.string()),
    ]
)
_FILE_ROWS = 2_500_000
_ASKED = ("aggregate", "count", "point")
_OURS = ("reuse", "none")


def write_file(place: Path, first: int, rows: int) -> DataFile:
    ids = np.arange(first, first + rows, dtype=np.int64)
    mixed = (ids * 0x9E3779B97F4A7C1) >> 20
    region = pa.DictionaryArray.from_arrays(
        pa.array(mixed % 16, pa.int32()), pa.array([f"region-{number}" for number in range(16)])
    )
    note = pa.DictionaryArray.from_arrays(
        pa.array(mixed % 1000, pa.int32()), pa.array([f"note {number}" for number in range(1000)])
    )
    columns = {
        "_KEY_id": ids,
        "_SEQUENCE_NUMBER": ids,
        "_VALUE_KIND": np.zeros(rows, np.int8),
        "id": ids,
        "region": region.cast(pa.string()),
        "amount": (mixed % 100_000) / 4,
        "quantity": (mixed % 1000).astype(np.int32),
        "note": note.cast(pa.string()),
    }
    path = place / "bench.db" / "commits" / "bucket-0" / f"data-{first}-0.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, compression="zstd")
    return DataFile(0, path, rows, first, first + rows - 1, first, BIG_LEVEL)


def write_table(library: Library, place: Path, rows: int) -> None:
    create_table(place, TABLE, _SCHEMA, primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    sizes = [(first, min(_FILE_ROWS, rows - first)) for first in range(0, rows, _FILE_ROWS)]
    with ThreadPoolExecutor(2) as pool:
        commit(open_table(place, TABLE), pool.map(lambda each: write_file(place, *each), sizes))


def measure(
    sides: Sides, new_commit: Callable[[], None], rows: int, rounds: int, questions: Sequence[str]
) -> None:
    costs: Costs = defaultdict(list)
    peer = "connector" if sides.others else "library"
    ways = (*_OURS, "library", *sides.others)
    for number, question in product(range(rounds + 1), questions):
        key = rows // 3 + number
        sql = QUESTIONS[question].format(table=TABLE, key=key)
        for way in ways:
            new_commit()
            cost = ask(sides, way, Asked(TABLE, question, sql, key))
            print(f"{question} {way}: {cost.wall:.0f} ms, cpu {cost.cpu:.0f}", file=sys.stderr, flush=True)
            # The first round warms up, and reads keys that later rounds find in memory.
            costs[TABLE, question, way if number else f"{way} at first"].append(cost)
    if rounds:
        report(costs, [TABLE], questions, (*ways, "reuse at first"), peer)


def ask(sides: Sides, way: str, asked: Asked) -> Cost:
    if way == "library":
        return sides.library.cost(asked.question, *TABLE.split("."), asked.key)
    if way in sides.others:
        other = sides.others[way]
        return timed(partial(other.rows, asked.sql), other.pid)
    run(sides.engine, f"SET {REUSE} = {'on' if way == 'reuse' else 'off'}")
    return timed(partial(run, sides.engine, asked.sql))


def stay_small(engine: Engine, new_commit: Callable[[], None], snapshots: int) -> None:
    run(engine, f"SET {REUSE} = on")
    for number in range(1, snapshots + 1):
        new_commit()
        run(engine, QUESTIONS["count" if number % 2 else "aggregate"].format(table=TABLE))
        if number % max(snapshots // 10, 1) == 0:
            print(f"after {number} snapshots: {told_memory('VmRSS')}", flush=True)


def parser() -> argparse.ArgumentParser:
    words = parser_of(__doc__)
    words.add_argument("--rows", type=int, default=10_000_000)
    words.add_argument("--commit", type=int, default=1_000, help="rows of each commit")
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--questions", nargs="+", choices=_ASKED, default=_ASKED)
    words.add_argument("--snapshots", type=int, default=200)
    words.add_argument("--keep", type=Path, help="a directory for the table, used again if it has one")
    add_arguments(words)
    return words


def main() -> None:
    given = parser().parse_args()
    step, numbers = given.rows // given.commit, count()
    with sides_of(given, ["connector"], write_table) as sides:

        def new_commit() -> None:
            first = next(numbers) * 7919 % step
            sides.library.do("write", *TABLE.split("."), first, step, given.commit, "keep")

        measure(sides, new_commit, given.rows, given.rounds, given.questions)
        stay_small(sides.engine, new_commit, given.snapshots)


if __name__ == "__main__":
    main()

"""The first query after a commit to a large keyed table, beside stock Paimon for Java (P12).

`python -m benchmarks.spark_commits [--rows N] [--commit N] [--rounds R] [--snapshots S] [--place PLACE]`. The
table is one big run of files, generated; stock Paimon commits to it, keys over the whole range. Each question
is the first after a commit of its own: with what is known of the state before, without
(`spark.paimark.reuse` off), and asked of stock Paimon. Times are medians, CPU is that of all processes.

Then `--snapshots` commits with a query each: what the engine holds must not grow. It needs a JDK and Maven.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pypaimon.data.timestamp import Timestamp
from pypaimon.manifest.schema.data_file_meta import DataFileMeta
from pypaimon.manifest.schema.simple_stats import SimpleStats
from pypaimon.table.row.generic_row import GenericRow
from pypaimon.write.commit_message import CommitMessage

from benchmarks.spark_scale import below
from benchmarks.spark_scans import QUESTIONS, Cost, Stock, run, timed
from core.config import Settings
from core.spark.client.client import Engine
from core.spark.launch.session_settings import REUSE
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
_WAYS = ("reuse", "none", "stock")
_BIG_LEVEL = 5


def write_file(place: Path, first: int, rows: int) -> tuple[int, int, str, int]:
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
    return first, rows, path.name, path.stat().st_size


def write_table(place: Path, rows: int) -> None:
    create_table(place, TABLE, _SCHEMA, primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    table = open_table(place, TABLE)
    key = table.trimmed_primary_keys_fields
    message = CommitMessage((), 0, [])
    sizes = [(first, min(_FILE_ROWS, rows - first)) for first in range(0, rows, _FILE_ROWS)]
    with ThreadPoolExecutor(2) as pool:
        for first, in_file, name, size in pool.map(lambda each: write_file(place, *each), sizes):
            message.new_files.append(
                DataFileMeta.create(
                    file_name=name,
                    file_size=size,
                    row_count=in_file,
                    min_key=GenericRow([first], key),
                    max_key=GenericRow([first + in_file - 1], key),
                    key_stats=SimpleStats.empty_stats(),
                    value_stats=SimpleStats.empty_stats(),
                    min_sequence_number=first,
                    max_sequence_number=first + in_file - 1,
                    schema_id=0,
                    level=_BIG_LEVEL,
                    extra_files=[],
                    creation_time=Timestamp.now(),
                    delete_row_count=0,
                    file_source=0,
                    value_stats_cols=[],
                )
            )
    committer = table.new_batch_write_builder().new_commit()
    committer.commit([message])
    committer.close()


def measure(engine: Engine, stock: Stock, commit: Callable[[], None], rows: int, rounds: int) -> None:
    costs: defaultdict[tuple[str, str], list[Cost]] = defaultdict(list)
    for number in range(rounds + 1):
        for question in _ASKED:
            key = rows // 3 + number
            sql = QUESTIONS[question].format(table=TABLE, key=key)
            for way in _WAYS:
                commit()
                if way == "stock":
                    cost = stock.cost(question, *TABLE.split("."), key)
                else:
                    run(engine, f"SET {REUSE} = {'on' if way == 'reuse' else 'off'}")
                    cost = timed(partial(run, engine, sql))
                print(
                    f"{question} {way}: {cost.wall:.0f} ms, cpu {cost.cpu:.0f}", file=sys.stderr, flush=True
                )
                # The first round warms up, and reads keys that are in memory later.
                costs[question, way if number else f"{way} at first"].append(cost)
    if not rounds:
        return
    print(f"{'ms':12}" + "".join(f"{way:>18}{'cpu':>9}" for way in (*_WAYS, "reuse at first")))
    for question in _ASKED:
        line = f"{question:12}"
        for way in (*_WAYS, "reuse at first"):
            found = costs[question, way]
            line += f"{median(each.wall for each in found):18.0f}{median(each.cpu for each in found):9.0f}"
        print(line, flush=True)


def stay_small(engine: Engine, commit: Callable[[], None], snapshots: int) -> None:
    run(engine, f"SET {REUSE} = on")
    for number in range(1, snapshots + 1):
        commit()
        run(engine, QUESTIONS["count" if number % 2 else "aggregate"].format(table=TABLE))
        if number % max(snapshots // 10, 1) == 0:
            held = ", ".join(f"{what} {size >> 20} MiB" for what, size in memory().items())
            print(f"after {number} snapshots: {held}", flush=True)


def memory() -> dict[str, int]:
    """Bytes that the engine's processes hold now, by what they are."""

    held: dict[str, int] = {}
    for pid in below(os.getpid()):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except OSError:
            continue
        for word, what in {b"pyspark-shell": "Java", b"core.spark.engine": "Python"}.items():
            if word in words:
                held[what] = max(held.get(what, 0), pages * os.sysconf("SC_PAGE_SIZE"))
    return held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--commit", type=int, default=1_000, help="rows of each commit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--snapshots", type=int, default=200)
    parser.add_argument("--place", type=Path, help="a directory for the table, used again if it has one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        place = given.place or scratch / "warehouse"
        if not (place / "bench.db" / "commits" / "snapshot" / "LATEST").exists():
            print(f"written: {timed(lambda: write_table(place, given.rows)).wall / 1000:.0f} s", flush=True)
        (scratch / "stock").mkdir()
        stock = Stock(scratch / "stock", place)
        step, numbers = given.rows // given.commit, count()

        def commit() -> None:
            first = next(numbers) * 7919 % step
            stock.ask("write", *TABLE.split("."), first, step, given.commit, "keep")

        conf = {"spark.driver.memory": "2g"}
        engine = Engine(Settings(str(place), read_only=True, spark_conf=conf), scratch / "log")
        try:
            measure(engine, stock, commit, given.rows, given.rounds)
            stay_small(engine, commit, given.snapshots)
        finally:
            engine.close()
            stock.close()


if __name__ == "__main__":
    main()

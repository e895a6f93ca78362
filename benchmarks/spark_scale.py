"""A keyed table of many rows in many small files, on a small cluster (P13).

`python -m benchmarks.spark_scale [--rows N] [--files F] [--buckets B] [--place DIRECTORY] [--memory M]`. Each
bucket has one big run of files and five newer ones that hide rows of it: all rows are merged. The cluster is
a master and two executors of 1 GB on this machine; the driver has as much. Each question is asked twice.

It reports times, the most memory that the driver's two processes ever held, the largest task, and the number
of stages whose part for all tasks is over 1 MiB. A `place` keeps the table for the next time.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.measuring.asking import answer
from benchmarks.measuring.data_files import BIG_LEVEL, DataFile, commit
from benchmarks.measuring.processes import told_memory
from benchmarks.measuring.words import parser_of
from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from tests.paimon import create_table, open_table
from tests.spark.standalone import standalone

TABLE = "bench.scale"
_SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("version", pa.int32())])
# For each newer run, its key out of every five consecutive ones: two keys are written twice.
_NEWER = (0, 1, 2, 0, 1)
_STRIDE = 5
_TASK = re.compile(rb"Starting task .*?, (\d+) bytes\)")
# The log line of a stage whose part for all tasks is over 1 MB.
_LARGE = b"Broadcasting large task binary"
_LOGGED = """
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %m%n
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = info
"""


class Part(NamedTuple):
    """A file of each bucket: `rows` keys together, from `first` on, each `step` after the one before."""

    version: int
    first: int
    step: int
    rows: int


def parts(rows: int, files: int, buckets: int) -> Iterator[Part]:
    """The files to write; half of all rows are in the big runs."""
    in_part = rows // files * buckets
    of_run = files // buckets // 2
    for number in range(of_run):
        yield Part(0, number * in_part, 1, in_part)
    for version, residue in enumerate(_NEWER, 1):
        for number in range(of_run // _STRIDE):
            yield Part(version, number * in_part * _STRIDE + residue, _STRIDE, in_part)


def write_files(place: Path, buckets: int, part: Part) -> list[DataFile]:
    ids = part.first + part.step * np.arange(part.rows, dtype=np.int64)
    of_ids = _buckets(ids, buckets)
    return [write_file(place, part, bucket, ids[of_ids == bucket]) for bucket in range(buckets)]


def write_file(place: Path, part: Part, bucket: int, ids: NDArray[np.int64]) -> DataFile:
    directory = place / "bench.db" / "scale" / f"bucket-{bucket}"
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"data-{part.version}-{part.first}-0.parquet"
    # All numbers of a run are above those of older runs.
    first_number = part.version * (1 << 40) + part.first
    table = pa.table(
        {
            "_KEY_id": ids,
            "_SEQUENCE_NUMBER": first_number + np.arange(len(ids), dtype=np.int64),
            "_VALUE_KIND": np.zeros(len(ids), np.int8),
            "id": ids,
            "version": np.full(len(ids), part.version, np.int32),
        }
    )
    even = dict.fromkeys(("_KEY_id", "_SEQUENCE_NUMBER", "id"), "DELTA_BINARY_PACKED")
    dictionary = ["_VALUE_KIND", "version"]
    pq.write_table(table, path, use_dictionary=dictionary, column_encoding=even, compression="zstd")
    level = 0 if part.version else BIG_LEVEL
    return DataFile(bucket, path, len(ids), int(ids[0]), int(ids[-1]), first_number, level)


def _buckets(ids: NDArray[np.int64], buckets: int) -> NDArray[np.int64]:
    """The bucket of each BIGINT key, as Paimon's murmur hash of its row: engines look for it in no other."""
    low, high = ids.astype(np.uint32), (ids >> 32).astype(np.uint32)
    mixed = np.full(len(ids), 42, np.uint32)
    for word in (np.zeros_like(low), np.zeros_like(low), low, high):
        mixed ^= _turned(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        mixed = _turned(mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    mixed ^= np.uint32(16)
    mixed = (mixed ^ mixed >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    mixed = (mixed ^ mixed >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    mixed ^= mixed >> np.uint32(16)
    return np.abs(mixed.view(np.int32).astype(np.int64)) % buckets


def _turned(words: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    return words << np.uint32(bits) | words >> np.uint32(32 - bits)


def write_table(place: Path, rows: int, files: int, buckets: int) -> None:
    options = {"bucket": str(buckets), "write-only": "true"}
    create_table(place, TABLE, _SCHEMA, primary_keys=["id"], options=options)
    with ProcessPoolExecutor() as pool:
        written = pool.map(partial(write_files, place, buckets), parts(rows, files, buckets), chunksize=4)
        commit(open_table(place, TABLE), chain.from_iterable(written))


def questions(rows: int, files: int, buckets: int) -> dict[str, tuple[str, Any]]:
    """Each question with its answer."""
    keys = sum(part.rows for part in parts(rows, files, buckets) if not part.version)
    newest = {residue: version for version, residue in enumerate(_NEWER, 1)}
    versions = sum(newest.get(residue, 0) for residue in range(_STRIDE)) * (keys // _STRIDE)
    point = keys // 2 // _STRIDE * _STRIDE + 1
    return {
        "count": (f"SELECT count(*) FROM {TABLE}", keys),
        "aggregate": (f"SELECT sum(version) FROM {TABLE}", versions),
        "point": (f"SELECT version FROM {TABLE} WHERE id = {point}", newest[1]),
    }


def measure(place: Path, scratch: Path, asked: dict[str, tuple[str, Any]], memory: str) -> None:
    log, logged = scratch / "engine.log", scratch / "log4j2.properties"
    logged.write_text(_LOGGED)
    with standalone(scratch / "cluster") as running:
        conf = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": memory,
            "spark.executor.memory": "1g",
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logged}",
        }
        settings = Settings(str(place), read_only=True, spark_master=running.master, spark_conf=conf)
        engine = Engine(settings, log)
        try:
            engine.wait_ready(300)
            for (name, (sql, expected)), when in chain.from_iterable(
                ((each, "new"), (each, "again")) for each in asked.items()
            ):
                began = time.perf_counter()
                found = answer(engine, sql)
                seconds = time.perf_counter() - began
                if found != expected:
                    raise SystemExit(f"{sql}: {found}, not {expected}")
                print(f"{name:10}{when:6}{seconds:9.2f} s   most memory: {told_memory('VmHWM')}", flush=True)
        finally:
            engine.close()
    said = log.read_bytes()
    task = max((int(found[1]) for found in _TASK.finditer(said)), default=0)
    print(f"largest task {task >> 10} KiB, {said.count(_LARGE)} task binaries over 1 MiB")


def parser() -> argparse.ArgumentParser:
    words = parser_of(__doc__)
    words.add_argument("--rows", type=int, default=100_000_000)
    words.add_argument("--files", type=int, default=10_000)
    words.add_argument("--buckets", type=int, default=4)
    words.add_argument("--memory", default="1g", help="of the driver")
    words.add_argument("--place", type=Path, help="a directory for the table, used again if it has one")
    return words


def main() -> None:
    given = parser().parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        place = given.place or scratch / "warehouse"
        shape = given.rows, given.files, given.buckets
        if not (place / "bench.db" / "scale" / "snapshot" / "LATEST").exists():
            shutil.rmtree(place / "bench.db", ignore_errors=True)
            began = time.perf_counter()
            write_table(place, *shape)
            print(f"written in {time.perf_counter() - began:.0f} s", flush=True)
        measure(place, scratch, questions(*shape), given.memory)


if __name__ == "__main__":
    main()

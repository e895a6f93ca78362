"""`kill -9` of a streaming writer at random moments: of all of it, of its Java, of its Python processes.

Or its Java stands still, looks dead, and goes on beside the Spark that took over.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from paimark.core.errors import PaimarkError
from paimark.core.spark.launch import jvm
from paimark.core.spark.launch.jvm import kill_descendants
from paimark.core.table.layout import TablePath
from tests.actions.acting import context_on, done
from tests.paimon import commit, create_table, read_rows
from tests.spark.micro_batches import lineage
from tests.spark.streaming_child import Pump
from tests.spark.streaming_fixture import Streaming

LOG, OUT = TablePath("shop", "log"), TablePath("shop", "out")
PARTS = pa.schema([pa.field("id", pa.int64()), pa.field("part", pa.int32(), nullable=False)])
SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("said", pa.string())])
KILLS, READING_KILLS = 50, 20
ROWS = 3
# A kill can miss a query that waits for rows.
VICTIMS = ("all", "java", "paused", *["python"] * 8)


class Sparks:
    """The next one each time. At the end none is left, not even one that stands still."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.started: list[Streaming] = []

    def next(self) -> Streaming:
        self.started.append(Streaming(self._directory / f"spark-{len(self.started)}"))
        return self.started[-1]


@pytest.fixture
def sparks(tmp_path: Path) -> Iterator[Sparks]:
    sparks = Sparks(tmp_path)
    yield sparks
    for each in sparks.started:
        if each.process.poll() is None:
            each.close()


def feed(inbox: Path, numbers: range) -> None:
    """A file a batch, each with `ROWS` rows."""
    inbox.mkdir(exist_ok=True)
    for number in numbers:
        lines = [json.dumps({"id": number * ROWS + each, "said": "s"}) for each in range(ROWS)]
        path = inbox / f".{number}"
        path.write_text("\n".join(lines))
        path.rename(inbox / f"{number}.json")


def kill_workers(java: int) -> None:
    """Kill the workers that this Java process's daemons have forked; the daemons fork others on demand."""
    children = jvm._children()
    for worker in (worker for daemon in children[java] for worker in children[daemon]):
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_every_row_is_once_in_the_table(tmp_path: Path, sparks: Sparks) -> None:
    seed = time.time_ns()
    warehouse, inbox, pick = tmp_path / "warehouse", tmp_path / "inbox", Random(seed)
    print(f"seed {seed}")
    create_table(warehouse, "shop.out", SCHEMA)
    out = lineage(warehouse, "shop.out")
    pump = Pump(
        checkpoint=str(tmp_path / "checkpoint"),
        source={"path": str(inbox), "maxFilesPerTrigger": "1"},
        sink={"warehouse": str(warehouse), "table": "shop.out"},
        schema="id LONG, said STRING",
    )
    kills = fed = others = 0
    running: Streaming | None = None
    paused: Streaming | None = None
    while kills < KILLS:
        feed(inbox, range(fed, fed + 3))
        fed += 3
        if running is None:
            running = sparks.next()
        stop = tmp_path / f"stop-{fed}"
        at_work(running, replace(pump, until=str(stop)), warehouse)
        if paused is not None:
            os.kill(paused.java, signal.SIGCONT)
            time.sleep(3 * pick.random())
            paused.close()
            paused = None
        # From the moment that the snapshot is there to some batches later.
        time.sleep(pick.choice([0, 0, 0.01, 0.05, pick.random(), 3 * pick.random()]))
        victim = pick.choice(VICTIMS)
        if victim == "python":
            (kill_workers if pick.random() < 0.8 else kill_descendants)(running.java)
            stop.touch()
            ended = running.answer()
            # A process that is killed says nothing.
            assert "Traceback" not in ended, ended
            kills += bool(ended)
        elif victim == "paused":
            os.kill(running.java, signal.SIGSTOP)
            paused, running, kills = running, None, kills + 1
        else:
            if victim == "java":
                # What its Python processes were doing they may go on with for a while.
                os.kill(running.java, signal.SIGKILL)
                time.sleep(pick.random())
            running.close()
            running, kills = None, kills + 1
        if pick.random() < 0.3:
            others += 1
            commit(warehouse, "shop.out", pa.table({"id": [-others], "said": ["other"]}, schema=SCHEMA))
        if pick.random() < 0.5:
            with suppress(PaimarkError):
                done(context_on(warehouse), "expire-snapshots", OUT, retain_last=1)
        print(f"{time.strftime('%X')} {kills} kills, now of {victim}; snapshot {out.latest_id()}", flush=True)
    for each in (running, paused):
        if each is not None:
            # Spark fails once more when it finds its Python processes gone.
            each.close()
    last = sparks.next()
    assert last.run(pump) == ""
    last.close()
    ids = sorted(row["id"] for row in read_rows(warehouse, "shop.out"))
    assert ids == [*range(-others, 0), *range(fed * ROWS)], twice(warehouse, ids)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_every_row_of_a_table_is_once_in_another(tmp_path: Path, sparks: Sparks) -> None:
    """A stream in small batches with a place in its table: others commit there, and all that may expires."""
    seed = time.time_ns()
    warehouse, pick = tmp_path / "warehouse", Random(seed)
    print(f"seed {seed}")
    for name in ("log", "out"):
        create_table(warehouse, f"shop.{name}", PARTS, partition_keys=["part"])
    here = {"warehouse": str(warehouse)}
    limits = {"read.stream.maxFilesPerTrigger": "2", "consumer-id": "etl"}
    pump = Pump(
        checkpoint=str(tmp_path / "checkpoint"),
        source={**here, "table": "shop.log", **limits},
        sink={**here, "table": "shop.out"},
    )
    fed = kills = 0
    running: Streaming | None = None
    while kills < READING_KILLS:
        for _ in range(3):
            rows = {"id": range(fed, fed + 3), "part": [0, 1, 2]}
            commit(warehouse, "shop.log", pa.table(rows, schema=PARTS))
            fed += 3
        if running is None:
            running = sparks.next()
        stop = tmp_path / f"stop-{fed}"
        at_work(running, replace(pump, until=str(stop)), warehouse)
        time.sleep(pick.choice([0, 0.05, pick.random(), 3 * pick.random()]))
        if pick.random() < 0.8:
            kill_workers(running.java)
            stop.touch()
            ended = running.answer()
            assert "Traceback" not in ended, ended
            kills += bool(ended)
        else:
            running.close()
            running, kills = None, kills + 1
        for table in (LOG, OUT):
            with suppress(PaimarkError):
                done(context_on(warehouse), "expire-snapshots", table, retain_last=1)
        print(f"{time.strftime('%X')} {kills} kills", flush=True)
    if running is not None:
        running.close()
    last = sparks.next()
    assert last.run(replace(pump, to_end=True)) == ""
    last.close()
    assert sorted(row["id"] for row in read_rows(warehouse, "shop.out")) == [*range(fed)]


def twice(warehouse: Path, ids: list[int]) -> dict[int, list[str]]:
    """The data files, oldest first, of each row that is in the table more than once."""
    again = {each for each, after in pairwise(ids) if each == after}
    files = sorted(warehouse.glob("shop.db/out/bucket-*/*.parquet"), key=lambda path: path.stat().st_mtime)
    held = {path.name: {*pq.read_table(path, columns=["id"])["id"].to_pylist()} for path in files}
    return {each: [name for name, there in held.items() if each in there] for each in sorted(again)}


def at_work(running: Streaming, pump: Pump, warehouse: Path) -> None:
    """Start the query until it commits: Spark may need a failure to see which of its processes are gone.

    Paced by the query; the test's time-out is the end of patience.
    """
    out = lineage(warehouse, "shop.out")
    before = out.latest_id()
    running.tell(pump)
    while out.latest_id() == before:
        if running.has_answered():
            ended = running.answer()
            assert "Traceback" not in ended, ended
            running.tell(pump)
        time.sleep(0.005)

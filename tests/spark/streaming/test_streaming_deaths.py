"""`kill -9` of the processes that commit, at random moments, while others commit, expire and take over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from paimark.core.errors import PaimarkError
from paimark.core.table.layout import TablePath
from tests.actions.acting import context_on, done
from tests.paimon import commit, create_table, read_rows
from tests.spark.batch_writer import ROWS
from tests.spark.micro_batches import lineage

_KILLS = 1000
OUT = TablePath("shop", "out")
SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("said", pa.string())])


class Nursery:
    """Starts the query's next process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def next(self) -> int:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def nursery(warehouse: Path, checkpoint: Path) -> Iterator[Nursery]:
    scratch = warehouse.parent / "scratch"
    scratch.mkdir()
    words = [sys.executable, "-m", "tests.spark.batch_writer", *map(str, (warehouse, checkpoint, scratch))]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Nursery(process)


def strike(process: int, with_what: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, with_what)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_every_row_is_once_in_the_table(tmp_path: Path) -> None:
    """At any moment. `test_streaming` kills at each point of a commit, and waits for less."""
    warehouse, checkpoint = tmp_path / "warehouse", tmp_path / "checkpoint"
    checkpoint.mkdir()
    (checkpoint / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}))
    create_table(warehouse, "shop.out", SCHEMA)
    seed = time.time_ns()
    print(f"seed {seed}")
    pick, others, out = Random(seed), 0, lineage(warehouse, "shop.out")
    stopped: list[int] = []
    with nursery(warehouse, checkpoint) as processes:
        for _ in range(_KILLS):
            process = at_work(processes, checkpoint)
            time.sleep(0.2 * pick.random())
            if pick.random() < 0.3:
                # It looks dead, and goes on where it was when the next one has taken over.
                strike(process, signal.SIGSTOP)
                stopped.append(process)
            else:
                strike(process, signal.SIGKILL)
            if pick.random() < 0.2:
                others += 1
                commit(warehouse, "shop.out", pa.table({"id": [-others], "said": ["o"]}, schema=SCHEMA))
            if pick.random() < 0.4:
                with suppress(PaimarkError):
                    done(context_on(warehouse), "expire-snapshots", OUT, retain_last=1)
            if len(stopped) > 1:
                strike(stopped.pop(0), signal.SIGCONT)
        last = at_work(processes, checkpoint)
        for process in stopped:
            strike(process, signal.SIGCONT)
        strike(last, signal.SIGKILL)
    committed = max(int(each.name) for each in (checkpoint / "commits").iterdir())
    ids = sorted(row["id"] for row in read_rows(warehouse, "shop.out"))
    # The last one may have landed a batch that it could not log.
    assert ids[: others + (committed + 1) * ROWS] == [*range(-others, 0), *range((committed + 1) * ROWS)]
    assert len(ids) == len(set(ids)) and len(ids) - others in ((committed + 1) * ROWS, (committed + 2) * ROWS)
    assert out.latest_id() is not None


def at_work(processes: Nursery, checkpoint: Path) -> int:
    """The next process, as soon as it has done something; the test's time-out is the end of patience."""
    before = count(checkpoint)
    process = processes.next()
    while count(checkpoint) == before:
        # Its newest snapshot can expire under a commit, which Spark would start again as well.
        if is_dead(process):
            process = processes.next()
        time.sleep(0.005)
    return process


def is_dead(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def count(checkpoint: Path) -> int:
    directory = checkpoint / "commits"
    return len(os.listdir(directory)) if directory.exists() else 0

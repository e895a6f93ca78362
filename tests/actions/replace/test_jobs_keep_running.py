"""A writer and a reader of the branch notice nothing of it becoming main, and not main, again and again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.acting import context_on, done
from tests.paimon import commit, create_table, read_rows

LOG = TablePath("shop", "log")
COLUMNS = pa.schema([pa.field("number", pa.int64())])

# Both run until the file `stop` is there; they say how far they came.
WRITER = """
import sys, time
from pathlib import Path
import pyarrow as pa
from tests.actions.replace.test_jobs_keep_running import COLUMNS
from tests.paimon import open_table

warehouse, stop = Path(sys.argv[1]), Path(sys.argv[1]) / "stop"
builder = open_table(warehouse, "shop.log$branch_fix").new_batch_write_builder()
number = 0
while not stop.exists():
    number += 1
    writer, committer = builder.new_write(), builder.new_commit()
    writer.write_arrow(pa.table({"number": [number]}, schema=COLUMNS))
    committer.commit(writer.prepare_commit())
    writer.close()
    committer.close()
    print(number, flush=True)
    time.sleep(0.2)
"""
READER = """
import sys, time
from pathlib import Path
from tests.paimon import read_rows

warehouse, stop, seen = Path(sys.argv[1]), Path(sys.argv[1]) / "stop", 0
while not stop.exists():
    numbers = sorted(row["number"] for row in read_rows(warehouse, "shop.log$branch_fix"))
    assert numbers == list(range(numbers[-1] + 1)), f"lost or doubled: {numbers}"
    assert numbers[-1] >= seen, f"{numbers[-1]} after {seen}"
    seen = numbers[-1]
    print(seen, flush=True)
    time.sleep(0.05)
"""


@pytest.mark.parametrize("replacements", [4, pytest.param(200, marks=pytest.mark.long)])
def test_no_commit_is_lost_and_no_read_fails(tmp_path: Path, replacements: int) -> None:
    warehouse = tmp_path / "warehouse"
    create_table(warehouse, "shop.log", COLUMNS, options={"bucket": "-1"})
    commit(warehouse, "shop.log", pa.table({"number": [0]}, schema=COLUMNS))
    context = context_on(warehouse)
    done(context, "create-tag", table=LOG, name="start")
    done(context, "create-branch", table=LOG, name="fix", tag="start")
    with running(WRITER, warehouse) as written, running(READER, warehouse) as read:
        assert written.stdout and written.stdout.readline()
        assert read.stdout and read.stdout.readline()
        for _ in range(replacements // 2):
            # Each lands at its first try, whatever was committed between plan and change.
            done(context, "replace-main-branch", LOG, name="fix")
            # At least one commit falls into each state.
            assert written.stdout.readline()
            done(context, "undo", LOG)
            last = int(written.stdout.readline())
        (warehouse / "stop").touch()
        last = max([last, *map(int, written.communicate()[0].split())])
        assert written.returncode == 0
        assert read.communicate()[0].split()
        assert read.returncode == 0
    assert last > replacements
    rows = sorted(row["number"] for row in read_rows(warehouse, "shop.log$branch_fix"))
    assert rows == list(range(last + 1))
    assert [row["number"] for row in read_rows(warehouse, "shop.log")] == [0]
    assert Lineage(context.files, LOG.root()).snapshot_ids() == [1]


@contextmanager
def running(program: str, warehouse: Path) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-c", program, str(warehouse)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()

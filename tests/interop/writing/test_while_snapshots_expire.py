"""Row changes beside a stock job that keeps one snapshot: they land while a consumer lets expiry wait."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.spark.client.client import Engine
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.acting import done
from tests.interop.actions.test_merge_beside_stock import Job, listed
from tests.interop.judge import Judge
from tests.interop.judge_fixture import connected
from tests.interop.writing.test_row_changes import said

EXPIRES = {
    "snapshot.num-retained.min": "1",
    "snapshot.num-retained.max": "1",
    "snapshot.time-retained": "1 s",
    "num-sorted-run.compaction-trigger": "3",
}
_OF_JOB = 50


@pytest.fixture
def stock(judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """What the job works with, while the judge reads."""
    with closing(connected(tmp_path_factory)) as other:
        yield other


def test_they_land_while_a_consumer_holds_it(
    context: Context, engine: Engine, engine_warehouse: Path, judge: Judge, stock: Judge, is_long: bool
) -> None:
    """Without `--long` no rows are restored: `tests.spark.repair` does that beside others."""
    gone = [70, 80] if is_long else [80]
    table = TablePath("expiring", "t")
    name = table.full_name
    columns = {"k": "INT NOT NULL", "v": "STRING"}
    judge.create(engine_warehouse, name, columns, keys=["k"], options={"bucket": "2", **EXPIRES})
    rows = {key: "main" for key in range(1000)}
    judge.write(engine_warehouse, name, listed(rows))
    done(context, "create-savepoint", table=table)
    job = Job(stock, engine_warehouse, name, [key for key in rows if key % 100 < _OF_JOB])
    lineage = Lineage(context.files, table.root())
    with job.working():
        # As the refusal says it.
        done(context, "reset-consumer", table=table, name="hold", snapshot=1)
        held = lineage.snapshot_ids()[0]
        said(engine, f"UPDATE {name} SET v = 'fixed' WHERE k % 100 = 60")
        said(engine, f"DELETE FROM {name} WHERE k % 100 IN ({', '.join(map(str, gone))})")
        if is_long:
            done(context, "restore-rows", table=table, from_version="savepoint.1", where="k % 100 = 70")
        # However fast these statements were, the job would have expired it by then.
        while (lineage.latest_id() or 0) <= held + 5:
            time.sleep(0.1)
        assert held in lineage.snapshot_ids()
        done(context, "reset-consumer", table=table, name="hold")
        until = job.commits + 3
        while job.commits < until:
            time.sleep(0.1)
    assert lineage.snapshot_ids()[0] > held
    changed = {key: "fixed" if key % 100 == 60 else "main" for key in rows if key % 100 != 80}
    assert judge.read(engine_warehouse, name) == listed(job.upon(changed))

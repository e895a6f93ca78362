"""Real streaming queries: both ends of them, killed and started again."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pyarrow as pa
import pytest
from msgspec.structs import replace

from paimark.core.actions.context import Context
from paimark.core.errors import Refused
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.operations import read_operations
from tests.actions.acting import context_on, done
from tests.interop.judge import Judge, comparable
from tests.paimon import commit, create_table, read_rows
from tests.spark.dying import POINTS
from tests.spark.micro_batches import lineage
from tests.spark.streaming_child import Pump
from tests.spark.streaming_fixture import InThisProcess, streaming
from tests.wording import about

__all__ = ["streaming"]

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("said", pa.string())])
FILES = "read.stream.maxFilesPerTrigger"
LOG, OUT = TablePath("shop", "log"), TablePath("shop", "out")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """`shop.log` with rows 1, 2 and 3, a snapshot each; `shop.out` and, with a key, `shop.keyed`."""
    path = tmp_path / "warehouse"
    for name in ("log", "out"):
        create_table(path, f"shop.{name}", SCHEMA)
    create_table(path, "shop.keyed", SCHEMA, primary_keys=["id"], options={"bucket": "2"})
    say(path, 1, 2, 3)
    return path


def say(warehouse: Path, *numbers: int, table: str = "shop.log") -> None:
    for number in numbers:
        commit(warehouse, table, pa.table({"id": [number], "said": [f"s{number}"]}, schema=SCHEMA))


def ids(warehouse: Path, table: str = "shop.out") -> list[int]:
    return sorted(row["id"] for row in read_rows(warehouse, table))


def feed(warehouse: Path, *batches: list[dict[str, object]]) -> None:
    """A file for each batch."""
    inbox = warehouse.parent / "inbox"
    inbox.mkdir(exist_ok=True)
    for rows in batches:
        number = len(list(inbox.iterdir()))
        path = inbox / f".{number}"
        path.write_text("\n".join(map(json.dumps, rows)))
        # Spark takes them by their times.
        os.utime(path, (1_700_000_000 + number,) * 2)
        path.rename(inbox / f"{number}.json")


def row(number: int) -> dict[str, object]:
    return {"id": number, "said": f"s{number}"}


def from_table(warehouse: Path, **options: str) -> Pump:
    """From `shop.log` to `shop.out`."""
    where = {"warehouse": str(warehouse)}
    return Pump(
        checkpoint=str(warehouse.parent / "checkpoint"),
        source={**where, "table": "shop.log", **options},
        sink={**where, "table": "shop.out"},
    )


def from_files(warehouse: Path, table: str = "shop.out", **sink: str) -> Pump:
    return Pump(
        checkpoint=str(warehouse.parent / "checkpoint"),
        source={"path": str(warehouse.parent / "inbox"), "maxFilesPerTrigger": "1"},
        schema="id LONG, said STRING",
        sink={"warehouse": str(warehouse), "table": table, **sink},
    )


@pytest.mark.long
def test_both_ends_go_on_after_a_restart_and_a_replacement(streaming: InThisProcess, shop: Path) -> None:
    follows = from_table(shop, **{"follow-main": "fork"})
    assert streaming.run(follows) == ""
    assert ids(shop) == [1, 2, 3]
    context = context_on(shop)
    done(context, "create-tag", LOG, name="three", snapshot=3)
    done(context, "create-branch", LOG, name="fix", tag="three")
    say(shop, 4)
    say(shop, 30, table="shop.log$branch_fix")
    assert streaming.run(follows) == ""
    done(context, "replace-main-branch", LOG, name="fix")
    moved = about("main of shop.log", "table directory", "snapshot 4", "branch fix")
    assert moved.search(streaming.run(from_table(shop)))
    assert ids(shop) == [1, 2, 3, 4]
    assert streaming.run(follows) == ""
    assert ids(shop) == [1, 2, 3, 4, 30]
    assert [each.commit_identifier for each in lineage(shop, "shop.out").snapshots()] == [0, 1, 2]


@pytest.mark.long
def test_a_start_that_expired_is_the_savepoint_that_saved_it(streaming: InThisProcess, shop: Path) -> None:
    context = context_on(shop)
    done(context, "create-savepoint", LOG, snapshot=2)
    done(context, "expire-snapshots", LOG, retain_last=1)
    start = {"scan.mode": "from-snapshot", "scan.snapshot-id": "2", "maxSnapshotsPerTrigger": "1"}
    assert streaming.run(from_table(shop, **start)) == ""
    assert ids(shop) == [1, 2]
    assert streaming.run(from_table(shop, **start)) == ""
    assert ids(shop) == [1, 2, 3]


@pytest.mark.long
def test_a_run_of_small_batches_goes_to_the_end_and_is_held_by_its_place(
    streaming: InThisProcess, shop: Path
) -> None:
    options = {FILES: "1", "scan.bounded": "latest", "consumer-id": "etl"}
    pump = replace(from_table(shop, **options), to_end=True)
    assert streaming.run(pump) == ""
    assert ids(shop) == [1, 2, 3]
    out = lineage(shop, "shop.out")
    assert [each.commit_identifier for each in out.snapshots()] == [0, 1, 2]
    say(shop, 4, 5)
    done(context_on(shop), "expire-snapshots", LOG, retain_last=1)
    assert streaming.run(pump) == ""
    assert ids(shop) == [1, 2, 3, 4, 5]
    done(context_on(shop), "expire-snapshots", LOG, retain_last=1)
    # Spark says that a batch is committed when it plans the next.
    assert lineage(shop, "shop.log").snapshot_ids() == [5]
    anew = replace(pump, checkpoint=f"{pump.checkpoint}-anew")
    assert streaming.run(anew) == ""
    assert ids(shop) == [1, 2, 3, 4, 5, 5]


@pytest.mark.long
def test_each_run_of_a_query_is_an_operation(streaming: InThisProcess, shop: Path) -> None:
    feed(shop, [row(1)], [row(2)])
    assert streaming.run(from_files(shop)) == ""
    feed(shop, [row(3)])
    assert streaming.run(from_files(shop)) == ""
    first, second = read_operations(LocalFiles(str(shop)), OUT)
    assert first.stream is not None and second.stream is not None
    assert first.stream.run != second.stream.run and first.stream.query == second.stream.query
    assert (first.after, first.stream.is_over) == ("main at snapshot 2", True)
    assert (second.before, second.after, second.stream.is_over) == (
        "main at snapshot 2",
        "main at snapshot 3",
        False,
    )


@pytest.mark.long
def test_the_watermark_of_a_query_is_in_its_snapshots(streaming: InThisProcess, shop: Path) -> None:
    feed(shop, *([row(number) | {"at": 1_700_000_000 - number}] for number in (3, 1, 2)))
    pump = replace(from_files(shop), schema="id LONG, said STRING, at TIMESTAMP", timed_by="at")
    assert streaming.run(pump) == ""
    watermarks = [each.watermark for each in lineage(shop, "shop.out").snapshots()]
    assert watermarks == [None, 1_699_999_997_000, 1_699_999_999_000]


def test_a_commit_that_is_killed_is_made_once(streaming: InThisProcess, shop: Path) -> None:
    """Killed at each point in turn; the last commit has expired when the query goes on."""
    pump = from_files(shop)
    feed(shop, *([row(number)] for number in range(len(POINTS))))
    for number, point in enumerate(POINTS):
        assert "crashed" in (ended := streaming.run(replace(pump, dies=point))), ended
        say(shop, 10 + number, table="shop.out")
        done(context_on(shop), "expire-snapshots", OUT, retain_last=1)
    assert streaming.run(pump) == ""
    feed(shop, [row(4)])
    assert streaming.run(pump) == ""
    assert ids(shop) == [0, 1, 2, 3, 4, 10, 11, 12, 13]


@pytest.mark.long
def test_input_that_was_listed_and_not_planned_comes_once(streaming: InThisProcess, shop: Path) -> None:
    """Java dies between Spark's list of files and its offsets: the next batch has them, and one more."""
    pump, before = from_files(shop), shop.parent / "before"
    feed(shop, [row(0)])
    assert streaming.run(pump) == ""
    shutil.copytree(shop, before)
    feed(shop, [row(1)])
    assert streaming.run(pump) == ""
    for log in ("offsets", "commits"):
        for name in ("1", ".1.crc"):
            (Path(pump.checkpoint) / log / name).unlink()
    shutil.rmtree(shop)
    before.rename(shop)
    feed(shop, [row(2)])
    assert streaming.run(pump) == ""
    assert ids(shop) == [0, 1, 2]
    assert [each.commit_identifier for each in lineage(shop, "shop.out").snapshots()] == [0, 1]


def test_upserts_come_from_several_tasks(streaming: InThisProcess, shop: Path, judge: Judge) -> None:
    """Of a key that both tasks have no order is known, but all readers see the same row."""
    numbers = range(40)
    feed(shop, *([{"id": n % 20, "said": f"b{batch} {n}"} for n in numbers] for batch in range(2)))
    assert streaming.run(replace(from_files(shop, "shop.keyed"), tasks=2)) == ""
    rows = read_rows(shop, "shop.keyed")
    assert ids(shop, "shop.keyed") == list(range(20))
    assert all(row["said"].startswith("b1") for row in rows)
    assert judge.read(shop, "shop.keyed") == comparable(rows)
    assert lineage(shop, "shop.keyed").latest_id() == 2
    # A bucket's rows go to one task.
    assert len(list(shop.glob("shop.db/keyed/bucket-0/data-*"))) == 2


@pytest.mark.long
def test_a_writer_of_a_branch_notices_nothing_of_a_replacement(streaming: InThisProcess, shop: Path) -> None:
    context = context_on(shop)
    say(shop, 0, table="shop.out")
    done(context, "create-tag", OUT, name="start")
    done(context, "create-branch", OUT, name="fix", tag="start")
    stop = shop.parent / "stop"
    feed(shop, [row(1)])
    streaming.tell(replace(from_files(shop, branch="fix"), until=str(stop)))
    for number, action in enumerate(["replace-main-branch", "undo"], 2):
        until_there(shop, number)
        persist(context, action)
        feed(shop, [row(number)])
    until_there(shop, 4)
    stop.touch()
    assert streaming.answer() == ""
    assert ids(shop, "shop.out$branch_fix") == [0, 1, 2, 3]
    assert ids(shop) == [0]


def until_there(warehouse: Path, rows: int) -> None:
    """Paced by the query, whose rows come when they come; the test's time-out is the end of patience."""
    while len(ids(warehouse, "shop.out$branch_fix")) < rows:
        time.sleep(0.05)


def persist(context: Context, action: str) -> None:
    """As a person does who is told that the branch has moved: plan again."""
    name = {"name": "fix"} if action == "replace-main-branch" else {}
    while True:
        try:
            done(context, action, OUT, **name)
        except Refused as refused:
            assert about("moved", "plan").search(refused.message)
        else:
            return

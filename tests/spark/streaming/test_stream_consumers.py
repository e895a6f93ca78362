"""A stream's place kept in the table: what expiry leaves to it, and where it goes on without a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.actions.garbage.expiry_rules import smallest_consumer
from paimark.core.errors import Corrupt, NotFound, PaimarkError, Refused, UsageError
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from tests.actions.acting import context_on, done, planned
from tests.interop.judge import Judge
from tests.paimon import commit, create_table, open_table
from tests.spark.micro_batches import Query, lineage
from tests.wording import about

LOG = TablePath("shop", "log")
COLUMNS = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), pa.field("part", pa.int32(), nullable=False)]
)
ETL = {"consumer-id": "etl"}
TWO_FILES = {"read.stream.maxFilesPerTrigger": "2"}
FROM_1 = {"scan.mode": "from-snapshot", "scan.snapshot-id": "1"}


def say(warehouse: Path, *ids: int, table: str = "shop.log") -> None:
    """A commit with a file for each of the ids."""
    rows = {"id": ids, "part": [each % 10 for each in ids]}
    commit(warehouse, table, pa.table(rows, schema=COLUMNS))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """`shop.log`: 1, 2 and 3 in the first snapshot, then 11 and 12, then 21."""
    create_table(tmp_path, "shop.log", COLUMNS, partition_keys=["part"])
    for ids in ((1, 2, 3), (11, 12), (21,)):
        say(tmp_path, *ids)
    return tmp_path


def consumers(warehouse: Path, root: str = "") -> dict[str, Any]:
    """What each consumer of the root still needs."""
    paths = (warehouse / "shop.db/log" / root / "consumer").glob("consumer-*")
    return {
        path.name.removeprefix("consumer-"): json.loads(path.read_bytes())["nextSnapshot"] for path in paths
    }


def ids(rows: list[tuple[Any, ...]] | None) -> list[int]:
    return [row[0] for row in rows or []]


def test_the_place_follows_what_spark_has_committed(log: Path) -> None:
    query = Query(log, "shop.log", **ETL, **TWO_FILES, **FROM_1)
    end = query.reader.latestOffset()
    assert consumers(log) == {"etl": 1}
    query.reader.partitions({}, end)
    assert consumers(log) == {"etl": 1}
    query.start()
    needed = []
    while query.batch() is not None:
        needed.append(consumers(log)["etl"])
    assert needed == [1, 2, 3, 4]


def test_while_the_whole_state_is_read_nobody_else_can_take_over(log: Path) -> None:
    query = Query(log, "shop.log", **ETL, **TWO_FILES)
    needed = []
    while query.batch() is not None:
        needed.append(consumers(log))
    assert needed == [{"etl.full": 3}, {"etl.full": 3}, {"etl": 4}]


@pytest.mark.parametrize("start", [{}, FROM_1])
def test_without_a_checkpoint_a_query_goes_on_in_the_middle_of_a_snapshot(
    log: Path, start: dict[str, str]
) -> None:
    seen = []
    for _ in range(6):
        query = Query(log, "shop.log", **ETL, **TWO_FILES, **start)
        seen += ids(query.batch())
    assert sorted(seen) == [1, 2, 3, 11, 12, 21]
    anew = Query(log, "shop.log", **ETL, **start, **{"consumer.ignore-progress": "true"})
    assert len(anew.all()) == 6


def test_no_expiry_takes_what_comes_next(log: Path, judge: Judge) -> None:
    query = Query(log, "shop.log", **ETL, maxSnapshotsPerTrigger="1", **FROM_1)
    whole = Query(log, "shop.log", **{"consumer-id": "copy"}, **TWO_FILES)
    query.batch()
    query.batch()
    whole.batch()
    say(log, 31)
    say(log, 41)
    for expire in (
        judge.expire,
        lambda path, _: done(context_on(path), "expire-snapshots", LOG, retain_last=1),
    ):
        expire(log, "shop.log")
        assert lineage(log, "shop.log").snapshot_ids() == [3, 4, 5]
    plan = planned(context_on(log), "expire-snapshots", LOG, retain_last=1)
    assert "snapshot 3 and later ones: consumers copy.full, etl still read from it" in plan.kept
    assert ids(query.all()) == [21, 31, 41]
    judge.expire(log, "shop.log")
    assert lineage(log, "shop.log").snapshot_ids() == [3, 4, 5]
    assert len(whole.all()) == 6
    judge.expire(log, "shop.log")
    assert lineage(log, "shop.log").snapshot_ids() == [5]


def test_another_engine_puts_the_stream_back(log: Path) -> None:
    path = log / "shop.db/log/consumer/consumer-etl"
    assert len(Query(log, "shop.log", **ETL).all()) == 6
    for record in (
        b'{"nextSnapshot":2}',
        path.read_bytes().replace(b'"nextSnapshot": 4', b'"nextSnapshot": 2'),
    ):
        path.write_bytes(record)
        assert ids(Query(log, "shop.log", **ETL).all()) == [11, 12, 21]
    path.write_text('{"nextSnapshot":4,"paimarkPlace":{"branch":1}}')
    with pytest.raises(Corrupt, match="consumer-etl"):
        Query(log, "shop.log", **ETL).batch()


def test_a_restart_on_a_checkpoint_leaves_what_is_held_until_spark_says_more(log: Path) -> None:
    query = Query(log, "shop.log", **ETL, maxSnapshotsPerTrigger="1", **FROM_1)
    query.batch()
    query.offsets.append(query.reader.latestOffset())
    query.again()
    query.start()
    query.reader.latestOffset()
    assert consumers(log) == {"etl": 2}
    (log / "shop.db/log/consumer/consumer-etl").unlink()
    query.start()
    query.reader.latestOffset()
    assert consumers(log) == {"etl": 3}


def test_a_checkpoint_that_was_put_back_holds_what_it_needs(log: Path) -> None:
    query = Query(log, "shop.log", **ETL, maxSnapshotsPerTrigger="1", **FROM_1)
    query.batch()
    older = list(query.offsets)
    assert ids(query.all()) == [11, 12, 21]
    query.offsets = older
    query.start()
    query.reader.latestOffset()
    assert consumers(log) == {"etl": 2}
    done(context_on(log), "expire-snapshots", LOG, retain_last=1)
    assert ids(query.all()) == [11, 12, 21]


def test_two_queries_of_one_name_are_noticed(log: Path) -> None:
    first = Query(log, "shop.log", **ETL, maxSnapshotsPerTrigger="1", **FROM_1)
    first.batch()
    second = Query(log, "shop.log", **ETL)
    assert ids(second.batch()) == [11, 12, 21]
    with pytest.raises(Refused, match=about("consumer etl", "snapshot 4", "another query")) as refused:
        first.batch()
    assert about("consumer-id", "own").search(refused.value.hint)
    assert consumers(log) == {"etl": 4}
    # Who goes on has it back.
    first.start()
    first.reader.latestOffset()
    assert consumers(log) == {"etl": 3}
    say(log, 31)
    with pytest.raises(Refused, match=about("consumer etl", "snapshot 3")):
        second.batch()


def test_a_place_goes_with_main(log: Path) -> None:
    query = Query(log, "shop.log", **ETL, **{"follow-main": "fork"})
    query.batch()
    context = context_on(log)
    open_table(log, "shop.log").create_tag("fork", 2)
    done(context, "create-branch", LOG, name="fix", tag="fork")
    say(log, 71, table="shop.log$branch_fix")
    done(context, "replace-main-branch", LOG, name="fix")
    assert ids(query.batch()) == [71]
    assert (consumers(log), consumers(log, "branch/branch-fix")) == ({}, {"etl": 4})


@pytest.mark.parametrize("moment", ["before it looks", "before it writes"])
def test_no_place_is_written_to_a_branch_that_is_gone(
    log: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The file alone would be a branch without a schema, on which stock orphan cleaning fails."""
    context = context_on(log)
    open_table(log, "shop.log").create_tag("fork", 2)
    done(context, "create-branch", LOG, name="fix", tag="fork")
    query = Query(log, "shop.log", **ETL, branch="fix")
    query.batch()
    say(log, 71, table="shop.log$branch_fix")
    end = query.reader.latestOffset()
    replace = LocalFiles.replace

    def delete_branch() -> None:
        monkeypatch.setattr(LocalFiles, "replace", replace)
        done(context, "delete-branch", LOG, name="fix")

    def replaced(files: LocalFiles, path: str, data: bytes) -> None:
        delete_branch()
        replace(files, path, data)

    if moment == "before it looks":
        delete_branch()
    else:
        monkeypatch.setattr(LocalFiles, "replace", replaced)
    with pytest.raises(NotFound, match=about("branch fix", "deleted", "stream")) as told:
        query.reader.commit(end)
    assert "another checkpoint" in told.value.hint
    assert not (log / "shop.db/log/branch/branch-fix").exists()
    done(context, "create-branch", LOG, name="fix", tag="fork")


def test_no_place_is_written_to_a_table_that_is_gone(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = Query(log, "shop.log", **ETL)
    query.batch()
    say(log, 31)
    end = query.reader.latestOffset()
    replace = LocalFiles.replace

    def replaced(files: LocalFiles, path: str, data: bytes) -> None:
        rmtree(log / "shop.db/log")
        replace(files, path, data)

    monkeypatch.setattr(LocalFiles, "replace", replaced)
    with pytest.raises(NotFound, match=r"shop\.log does not exist"):
        query.reader.commit(end)
    assert list((log / "shop.db").rglob("consumer*")) == []


def test_a_start_that_fails_holds_nothing(log: Path) -> None:
    done(context_on(log), "create-savepoint", LOG, snapshot=1)
    done(context_on(log), "expire-snapshots", LOG, retain_last=1)
    with pytest.raises(PaimarkError, match="has expired"):
        Query(log, "shop.log", **ETL, **FROM_1).batch()
    assert smallest_consumer(LocalFiles(str(log)), LOG.root(None)) is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"consumer-id": ""}, "name consumer"),
        ({"consumer-id": "../x"}, "../x name consumer"),
        ({"consumer-id": "paimark-x"}, "begin paimark-"),
        ({"consumer-id": "x.full"}, "end .full"),
        ({**ETL, "consumer.mode": "at-least-once"}, "consumer.mode exactly-once at-least-once"),
        ({"consumer.mode": "exactly-once"}, "consumer.mode consumer-id"),
        ({"consumer.ignore-progress": "true"}, "consumer.ignore-progress consumer-id"),
        ({**ETL, "consumer.ignore-progress": "yes"}, "consumer.ignore-progress true false"),
        (
            {**ETL, "consumer.expiration-time": "1 d"},
            "no option consumer.expiration-time TBLPROPERTIES",
        ),
        ({**ETL, "consumer.changelog-only": "true"}, "no option consumer.changelog-only"),
    ],
)
def test_what_is_not_obeyed_is_refused(log: Path, options: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=about(*words.split())):
        Query(log, "shop.log", **options)


def test_in_read_only_mode_no_place_is_kept(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIMARK_READ_ONLY", "1")
    with pytest.raises(Refused, match="read-only mode"):
        Query(log, "shop.log", **ETL)
    assert len(Query(log, "shop.log").all()) == 6


@pytest.mark.parametrize("seed", range(3))
def test_every_row_comes_once_whatever_happens_between_and_within_batches(log: Path, seed: int) -> None:
    """A query is killed before and after Spark commits a batch, others commit, and snapshots expire."""
    pick = Random(seed)
    mode = pick.choice([{}, FROM_1])
    limit = {f"read.stream.max{pick.choice(['Files', 'Rows'])}PerTrigger": str(pick.randint(1, 4))}
    query = Query(log, "shop.log", **ETL, **mode, **limit)
    # The sink has each batch once, however often it is written.
    batches: dict[int, list[int]] = {}
    given = [1, 2, 3, 11, 12, 21]
    for number in range(100, 112):
        end = json.loads(json.dumps(query.reader.latestOffset()))
        if not query.offsets or end != query.offsets[-1]:
            query.offsets.append(end)
            if pick.random() < 0.5:
                # Killed before the batch was committed.
                query.again()
                query.start()
            if pick.random() < 0.5:
                done(context_on(log), "expire-snapshots", LOG, retain_last=1)
            batches[len(query.offsets)] = ids(query.again())
            if pick.random() < 0.5:
                # Killed before the source was told.
                query.start()
            else:
                query.reader.commit(query.offsets[-1])
        if pick.random() < 0.5:
            new = [10 * number + each for each in range(pick.randint(1, 4))]
            say(log, *new)
            given += new
            done(context_on(log), "expire-snapshots", LOG, retain_last=1)
    while (rows := query.batch()) is not None:
        batches[len(query.offsets)] = ids(rows)
    assert sorted(each for batch in batches.values() for each in batch) == given

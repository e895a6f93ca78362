"""Streams over snapshots that expired unread: refused, or with `scan.gap` gone over and said."""

from __future__ import annotations

import logging
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.errors import NotFound, UsageError
from paimark.core.table.layout import TablePath
from tests.actions.acting import context_on, done
from tests.paimon import commit, create_table
from tests.spark.micro_batches import Query

LOG, KEYED = TablePath("shop", "log"), TablePath("shop", "keyed")
COLUMNS = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("said", pa.string())])
EARLIEST = {"scan.gap": "earliest"}


def say(warehouse: Path, *ids: int, table: str = "shop.log", word: str = "", overwrite: bool = False) -> None:
    rows = {"id": ids, "said": [word or f"s{each}" for each in ids]}
    commit(warehouse, table, pa.table(rows, schema=COLUMNS), overwrite=overwrite)


def from_version(version: str) -> dict[str, str]:
    return {"scan.mode": "from-snapshot", "scan.snapshot-id": version}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """`shop.log`: rows 1 to 5, a snapshot each, of which a savepoint keeps the second."""
    create_table(tmp_path, "shop.log", COLUMNS)
    for number in range(1, 6):
        say(tmp_path, number)
    done(context_on(tmp_path), "create-savepoint", LOG, snapshot=2)
    return tmp_path


def expire(warehouse: Path, table: TablePath = LOG) -> None:
    """All but the last snapshot."""
    done(context_on(warehouse), "expire-snapshots", table, retain_last=1)


def batches(query: Query) -> list[list[int]]:
    """The ids of each batch, which is read again after a restart."""
    found = []
    while (rows := query.batch()) is not None:
        query.start()
        assert query.again() == rows
        found.append([row[-2] for row in rows])
    return found


def test_without_the_option_a_gap_is_refused_by_its_name(log: Path) -> None:
    expire(log)
    with pytest.raises(NotFound) as refused:
        Query(log, "shop.log", **from_version("savepoint.1")).batch()
    assert refused.value.message == (
        "Snapshot 3 of shop.log has expired before this stream, which stands behind snapshot 2, read it: "
        "snapshot 5 is the earliest left"
    )
    assert refused.value.hint == (
        "scan.gap=earliest goes on with snapshot 5 and says what is missing; "
        "or begin anew with another checkpoint and scan.mode latest-full."
    )
    assert Query(log, "shop.log").all() != []
    with pytest.raises(UsageError, match=r"scan\.gap is stop or earliest, not over"):
        Query(log, "shop.log", **{"scan.gap": "over"})


@pytest.mark.parametrize("start", ["savepoint.1", "2", "3", "snapshot.4"])
def test_nothing_is_missing_where_the_savepoints_files_are_all_left(
    log: Path, start: str, caplog: pytest.LogCaptureFixture
) -> None:
    expire(log)
    query = Query(log, "shop.log", **EARLIEST, **from_version(start))
    with caplog.at_level(logging.WARNING, "paimark"):
        assert batches(query) == [[1, 2], [3, 4, 5]]
    assert query.offsets[-1]["gap"] == {"first": 3, "last": 4, "read": "rest"}
    said = (
        "Snapshots 3 to 4 of shop.log expired before this stream read them: the rows that were added come as "
        "they are left in snapshot 5; those that were deleted again do not."
    )
    assert {record.getMessage() for record in caplog.records} == {said}
    say(log, 6)
    assert batches(query) == [[6]]
    assert "gap" not in query.offsets[-1]


def test_a_start_before_every_savepoint_is_refused(log: Path) -> None:
    expire(log)
    with pytest.raises(NotFound, match=r"no version 'snapshot\.1'"):
        Query(log, "shop.log", **EARLIEST, **from_version("1")).batch()


def test_batches_are_as_small_over_a_gap(log: Path) -> None:
    expire(log)
    limit = {"read.stream.maxFilesPerTrigger": "1"}
    query = Query(log, "shop.log", **EARLIEST, **limit, **from_version("savepoint.1"))
    assert batches(query) == [[1], [2], [3], [4], [5]]
    assert [each.get("gap", {}).get("first") for each in query.offsets] == [None, None, 3, None, None]


def test_rows_are_lost_where_nothing_tells_which_came_later(log: Path) -> None:
    say(log, 6, overwrite=True)
    say(log, 7)
    behind = Query(log, "shop.log", maxSnapshotsPerTrigger="1", **EARLIEST, **from_version("3"))
    assert behind.batch() == [(3, "s3")]
    expire(log)
    for query, first, expected in (
        # Nothing keeps the state that this one has read.
        (behind, 4, [[7]]),
        # The overwrite took the savepoint's files out.
        (Query(log, "shop.log", **EARLIEST, **from_version("savepoint.1")), 3, [[1, 2], [7]]),
    ):
        assert batches(query) == expected
        assert query.offsets[-1]["gap"] == {"first": first, "last": 6, "read": "nothing"}


def test_a_snapshot_in_the_middle_that_is_kept_is_read_before_the_gap(log: Path) -> None:
    done(context_on(log), "create-savepoint", LOG, snapshot=3)
    query = Query(log, "shop.log", maxSnapshotsPerTrigger="1", **EARLIEST, **from_version("1"))
    query.batch()
    del query.options["maxSnapshotsPerTrigger"]
    query.start()
    expire(log)
    assert batches(query) == [[2, 3], [4, 5]]


@pytest.mark.parametrize("kinds", ["false", "true"])
def test_of_a_table_with_keys_the_whole_state_comes(tmp_path: Path, kinds: str) -> None:
    create_table(tmp_path, "shop.keyed", COLUMNS, primary_keys=["id"], options={"bucket": "2"})
    for number in range(1, 6):
        say(tmp_path, 0, number, table="shop.keyed", word=f"k{number}")
    done(context_on(tmp_path), "create-savepoint", KEYED, snapshot=2)
    expire(tmp_path, KEYED)
    wanted = {**EARLIEST, **from_version("savepoint.1"), "read.changelog": kinds}
    query = Query(tmp_path, "shop.keyed", **wanted)
    kind = ("+I",) if kinds == "true" else ()
    assert query.batch() == [(*kind, 0, "k2"), (*kind, 1, "k1"), (*kind, 2, "k2")]
    query.start()
    assert query.batch() == [(*kind, 0, "k5"), *((*kind, each, f"k{each}") for each in range(1, 6))]
    assert query.offsets[-1]["gap"] == {"first": 3, "last": 4, "read": "state"}
    assert query.batch() is None


def test_of_a_table_whose_changes_come_later_the_state_does_not(tmp_path: Path) -> None:
    options = {"bucket": "1", "changelog-producer": "lookup"}
    create_table(tmp_path, "shop.keyed", COLUMNS, primary_keys=["id"], options=options)
    for number in range(1, 4):
        say(tmp_path, number, table="shop.keyed")
    query = Query(tmp_path, "shop.keyed", maxSnapshotsPerTrigger="1", **EARLIEST, **from_version("1"))
    query.batch()
    expire(tmp_path, KEYED)
    query.batch()
    assert query.offsets[-1]["gap"] == {"first": 2, "last": 2, "read": "nothing"}


def test_a_snapshot_that_is_gone_when_half_of_it_is_read(tmp_path: Path) -> None:
    schema = pa.schema([*COLUMNS, pa.field("part", pa.int32(), nullable=False)])
    create_table(tmp_path, "shop.log", schema, partition_keys=["part"])
    for number in (0, 10):
        rows = {"id": [number, number + 1], "said": ["", ""], "part": [0, 1]}
        commit(tmp_path, "shop.log", pa.table(rows, schema=schema))
    limit = {"read.stream.maxFilesPerTrigger": "1"}
    query = Query(tmp_path, "shop.log", **EARLIEST, **limit, **from_version("1"))
    assert [row[0] for row in query.batch() or []] == [0]
    expire(tmp_path)
    assert [row[0] for row in query.all()] == [10, 11]
    assert query.offsets[1]["gap"] == {"first": 1, "last": 1, "read": "nothing"}

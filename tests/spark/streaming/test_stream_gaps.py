"""Streams over snapshots that expired unread: refused, or with `scan.gap` gone over and said."""

from __future__ import annotations

import logging
import re
import shutil
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.errors import NotFound, UsageError
from paimark.core.table.layout import TablePath
from tests.actions.acting import context_on, done
from tests.long import long_but
from tests.paimon import commit, create_table
from tests.spark.micro_batches import Query, lineage
from tests.wording import about

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
    told = ("shop.log", "expired", "snapshot 2", "snapshot 5", "earliest")
    assert about("snapshot 3", *told).search(refused.value.message)
    ways = ("scan.gap=earliest", "snapshot 5", "another checkpoint", "scan.mode latest-full")
    assert about(*ways).search(refused.value.hint)
    assert Query(log, "shop.log").all() != []
    with pytest.raises(UsageError, match=about("scan.gap", "stop", "earliest", "over")):
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
    [message] = {record.getMessage() for record in caplog.records}
    assert about("snapshots 3 to 4", "shop.log", "expired", "snapshot 5", "deleted").search(message)
    say(log, 6)
    assert batches(query) == [[6]]
    assert "gap" not in query.offsets[-1]


@pytest.mark.parametrize("start", [{"scan.timestamp": "2020-01-01 00:00:00"}, from_version("1")])
def test_a_start_before_every_state_begins_with_the_earliest_that_is_left(
    log: Path, start: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    expire(log)
    query = Query(log, "shop.log", **EARLIEST, **start)
    with caplog.at_level(logging.WARNING, "paimark"):
        assert batches(query) == [[1, 2], [3, 4, 5]]
    assert query.offsets[0]["gap"] == {"first": 0, "last": 1, "read": "start"}
    begins = about("up to 1", "shop.log", "expired", "all rows", "snapshot 2")
    assert begins.search(caplog.records[0].getMessage())
    assert query.offsets[1]["gap"] == {"first": 3, "last": 4, "read": "rest"}
    say(log, 6)
    assert batches(query) == [[6]]


def test_a_time_between_two_kept_states_begins_with_the_one_before(log: Path) -> None:
    times = [each.time_millis for each in lineage(log, "shop.log").snapshots()]
    done(context_on(log), "create-tag", LOG, name="month-end", snapshot=4)
    expire(log)
    query = Query(log, "shop.log", **EARLIEST, **{"scan.timestamp-millis": str(times[2])})
    assert batches(query) == [[1, 2], [3, 4, 5]]
    # From a tag on nothing is missing, so no option is needed.
    query = Query(log, "shop.log", **{"scan.timestamp-millis": str(times[3])})
    assert batches(query) == [[1, 2, 3, 4, 5]]


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


_MODES = re.compile(r"scan\.mode ([a-z-]+)(?: with scan\.snapshot-id (\S+))?")


def hinted(hint: str) -> list[dict[str, str]]:
    """The options that a hint tells to give."""
    found = [
        {"scan.mode": mode, **({"scan.snapshot-id": version} if version else {})}
        for mode, version in _MODES.findall(hint)
    ]
    return found + [EARLIEST] * ("scan.gap=earliest" in hint)


@cache
def made(kind: str, place: Path) -> Path:
    """A table of five snapshots, to be copied."""
    options = {"bucket": "1", **({"changelog-producer": "lookup"} if kind == "lookup" else {})}
    keys = [] if kind == "append" else ["id"]
    warehouse = place / kind
    create_table(warehouse, "shop.log", COLUMNS, primary_keys=keys, options=options if keys else {})
    for number in range(1, 6):
        say(warehouse, number)
    return warehouse


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("templates")


@pytest.mark.parametrize(
    "kept", ["nothing", "savepoint of 2", "savepoint of 3", "tag of 2", "tag of 4", "tag 4"]
)
@pytest.mark.parametrize("kind", long_but(["append", "keys", "lookup"], "keys"))
def test_every_hint_of_a_refused_start_works(tmp_path: Path, templates: Path, kind: str, kept: str) -> None:
    """Only snapshots 4 and 5 are left, and sometimes 5 alone."""
    shutil.copytree(made(kind, templates), tmp_path, dirs_exist_ok=True)
    context = context_on(tmp_path)
    if kept.startswith("savepoint"):
        done(context, "create-savepoint", LOG, snapshot=int(kept[-1]))
    elif kept == "tag 4":
        # We make no tag of that name; a stock engine does.
        done(context, "create-tag", LOG, name="kept", snapshot=4)
        (tmp_path / "shop.db/log/tag/tag-kept").rename(tmp_path / "shop.db/log/tag/tag-4")
    elif kept.startswith("tag"):
        done(context, "create-tag", LOG, name="kept", snapshot=int(kept[-1]))
    done(context, "expire-snapshots", LOG, retain_last=1 if kept.startswith("tag") else 2)
    for start in ({"scan.timestamp": "2020-01-01 00:00:00"}, from_version("1"), from_version("2")):
        for gap in ({}, EARLIEST):
            assert_started_or_hinted(tmp_path, kind, start, gap)


def assert_started_or_hinted(warehouse: Path, kind: str, start: dict[str, str], gap: dict[str, str]) -> None:
    asked = f"{start} {gap}"
    try:
        rows = Query(warehouse, "shop.log", **start, **gap).all()
    except NotFound as refused:
        assert not gap, refused
        ways = hinted(refused.hint)
        assert len(ways) == 2, f"{asked}: {refused.hint}"
        for way in ways:
            left = {} if "scan.mode" in way else start
            read = Query(warehouse, "shop.log", **left, **way).all()
            # Nobody wrote a changelog.
            assert kind == "lookup" or {row[0] for row in read} == {1, 2, 3, 4, 5}, asked
    else:
        assert kind == "lookup" or 5 in {row[0] for row in rows}, asked


@pytest.mark.parametrize("producer", ["none", "lookup"])
def test_every_hint_of_a_stream_that_met_a_gap_works(tmp_path: Path, producer: str) -> None:
    options = {"bucket": "1", "changelog-producer": producer}
    create_table(tmp_path, "shop.log", COLUMNS, primary_keys=["id"], options=options)
    for number in range(1, 6):
        say(tmp_path, number)
    query = Query(tmp_path, "shop.log", maxSnapshotsPerTrigger="1", **from_version("1"))
    query.batch()
    done(context_on(tmp_path), "expire-snapshots", LOG, retain_last=1)
    with pytest.raises(NotFound) as refused:
        query.batch()
    ways = hinted(refused.value.hint)
    assert len(ways) == 2
    for way in ways:
        Query(tmp_path, "shop.log", **(from_version("1") if way == EARLIEST else {}), **way).all()

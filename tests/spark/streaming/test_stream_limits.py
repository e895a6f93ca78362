"""Micro-batches that are at most so big: `read.stream.*`, within snapshots as well."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import CaseInsensitiveDict

from paimark.core.errors import Corrupt, NotFound, Refused, UsageError
from paimark.core.spark.source import PaimarkSource
from paimark.core.table.layout import TablePath
from tests.actions.acting import context_on, done
from tests.paimon import commit, create_table, open_table
from tests.spark.micro_batches import Query
from tests.wording import about

LOG = TablePath("shop", "log")
COLUMNS = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), pa.field("part", pa.int32(), nullable=False)]
)
FILES, BYTES, ROWS = (f"read.stream.max{what}PerTrigger" for what in ("Files", "Bytes", "Rows"))
WAITING = {"read.stream.minRowsPerTrigger": "3", "read.stream.maxTriggerDelayMs": "3600000"}
FOLLOW = {"follow-main": "fork"}
FROM_1 = {"scan.mode": "from-snapshot", "scan.snapshot-id": "1"}


def say(warehouse: Path, *ids: int, table: str = "shop.log", parts: int = 4) -> None:
    """A commit with a file for each of the partitions that the ids fall into."""
    rows = {"id": ids, "part": [each % parts for each in ids]}
    commit(warehouse, table, pa.table(rows, schema=COLUMNS))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`shop.log`: two snapshots of four files, 0 to 3 and 12 to 15, then one of one: 20."""
    path = tmp_path_factory.mktemp("built") / "warehouse"
    create_table(path, "shop.log", COLUMNS, partition_keys=["part"])
    say(path, 0, 1, 2, 3)
    say(path, 12, 13, 14, 15)
    say(path, 20)
    return path


@pytest.fixture
def log(built: Path, tmp_path: Path) -> Path:
    path = tmp_path / "warehouse"
    shutil.copytree(built, path)
    return path


def all_batches(query: Query, *, restart: bool = True) -> list[list[int]]:
    """The ids of each batch, read again and the query started anew behind each."""
    batches: list[list[int]] = []
    while (rows := query.batch()) is not None:
        batches.append(sorted(row[-2] for row in rows))
        if restart:
            query.start()
            assert query.again() == rows
    return batches


def sizes(batches: list[list[int]]) -> list[int]:
    return [len(each) for each in batches]


def flat(batches: list[list[int]]) -> list[int]:
    return sorted(each for batch in batches for each in batch)


EVERY = [0, 1, 2, 3, 12, 13, 14, 15, 20]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ({FILES: "3"}, [3, 3, 3]),
        ({FILES: "4"}, [4, 4, 1]),
        ({ROWS: "2"}, [2, 2, 2, 2, 1]),
        ({BYTES: "1"}, [1] * 9),
        ({FILES: "5", ROWS: "2"}, [2, 2, 2, 2, 1]),
        ({FILES: "9"}, [9]),
    ],
)
def test_the_whole_table_comes_in_batches(log: Path, limit: dict[str, str], expected: list[int]) -> None:
    query = Query(log, "shop.log", **limit)
    batches = all_batches(query)
    assert (sizes(batches), flat(batches)) == (expected, EVERY)
    say(log, 30)
    assert all_batches(query) == [[30]]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ({FILES: "3"}, [[0, 1, 2], [3], [12, 13, 14], [15], [20]]),
        ({FILES: "5"}, [[0, 1, 2, 3], [12, 13, 14, 15, 20]]),
        ({FILES: "8"}, [[0, 1, 2, 3, 12, 13, 14, 15], [20]]),
        ({FILES: "8", "maxSnapshotsPerTrigger": "1"}, [[0, 1, 2, 3], [12, 13, 14, 15], [20]]),
        ({FILES: "3", "maxSnapshotsPerTrigger": "2"}, [[0, 1, 2], [3], [12, 13, 14], [15], [20]]),
    ],
)
def test_changes_come_as_whole_snapshots_or_as_parts_of_one(
    log: Path, limit: dict[str, str], expected: list[list[int]]
) -> None:
    query = Query(log, "shop.log", **limit, **FROM_1)
    batches = all_batches(query)
    assert flat(batches) == EVERY
    assert sizes(batches) == sizes(expected)


def test_snapshots_that_add_nothing_are_passed_on_the_way_into_the_next(log: Path) -> None:
    commit(log, "shop.log", pa.table({"id": [50], "part": [0]}, schema=COLUMNS), overwrite=True)
    say(log, 60, 61, 62, 63)
    start = {"scan.mode": "from-snapshot", "scan.snapshot-id": "4", FILES: "3"}
    query = Query(log, "shop.log", **start)
    batches = all_batches(query)
    assert (sizes(batches), flat(batches)) == ([3, 1], [60, 61, 62, 63])
    assert [(each["snapshot"], each.get("pieces")) for each in query.offsets] == [(5, 3), (5, None)]


@pytest.mark.parametrize("kinds", ["false", "true"])
@pytest.mark.parametrize("producer", ["none", "input"])
def test_each_key_comes_once_wherever_batches_end(tmp_path: Path, producer: str, kinds: str) -> None:
    options = {"bucket": "3", "changelog-producer": producer}
    create_table(tmp_path, "shop.keyed", COLUMNS, primary_keys=["id"], options=options)
    for part in (5, 6, 7):
        say(tmp_path, *range(20), table="shop.keyed", parts=part)
    limit = {FILES: "1", "read.changelog": kinds}
    query = Query(tmp_path, "shop.keyed", **limit)
    rows: list[tuple[Any, ...]] = []
    for _ in range(3):
        rows += query.batch() or []
        query.start()
    assert query.batch() is None
    if (producer, kinds) == ("none", "false"):
        # A bucket's three files overlap: they are one piece.
        assert sorted(rows) == [(each, each % 7) for each in range(20)]
    assert {row[-2:] for row in rows} == {(each, each % 7) for each in range(20)}
    changes = Query(tmp_path, "shop.keyed", **limit, **FROM_1)
    batches = all_batches(changes)
    assert len(batches) == 9
    assert flat(batches) == sorted([*range(20)] * 3)
    assert [len({*batch}) for batch in batches] == [len(batch) for batch in batches]


def test_an_offset_of_an_earlier_version_goes_on(log: Path) -> None:
    query = Query(log, "shop.log", **FROM_1, maxSnapshotsPerTrigger="1")
    query.batch()
    assert [*query.offsets[0]] == ["branch", "snapshot", "uuid", "start"]
    query.options[FILES] = "3"
    query.start()
    assert sizes(all_batches(query)) == [3, 1, 1]


def test_what_is_left_of_a_snapshot_comes_alone_where_the_limit_was_taken_away(log: Path) -> None:
    for start in ({}, FROM_1):
        query = Query(log, "shop.log", **start, **{FILES: "3"})
        first = query.batch()
        assert first is not None
        del query.options[FILES]
        query.start()
        batches = [[row[0] for row in first], *all_batches(query)]
        assert flat(batches) == EVERY
        assert sizes(batches) == ([3, 1, 5] if start else [3, 6])


def test_a_batch_waits_for_rows(log: Path) -> None:
    query = Query(log, "shop.log", **WAITING)
    assert query.all() != []
    say(log, 40, 41)
    assert query.batch() is None
    say(log, 42)
    assert query.batch() == [(40, 0), (41, 1), (42, 2)]
    # A run begins with what there is.
    say(log, 50)
    query.start()
    assert query.batch() == [(50, 2)]


def test_a_batch_waits_so_long_and_no_longer(log: Path) -> None:
    query = Query(log, "shop.log", **WAITING | {"read.stream.maxTriggerDelayMs": "1"})
    query.all()
    say(log, 40)
    time.sleep(0.002)
    assert query.batch() == [(40, 0)]


def branched(log: Path, snapshot: int) -> None:
    """Main becomes branch `fix`, which parts from it behind that snapshot and then has rows 70 to 73."""
    context = context_on(log)
    open_table(log, "shop.log").create_tag("fork", snapshot)
    done(context, "create-branch", LOG, name="fix", tag="fork")
    say(log, 70, 71, 72, 73, table="shop.log$branch_fix")
    done(context, "replace-main-branch", LOG, name="fix")


@pytest.mark.parametrize(("fork", "rest"), [(2, [15, 70, 71, 72, 73]), (1, [70, 71, 72, 73])])
def test_main_is_replaced_in_the_middle_of_a_snapshot(log: Path, fork: int, rest: list[int]) -> None:
    limit = {**FROM_1, FILES: "3"}
    queries = [Query(log, "shop.log", **limit), Query(log, "shop.log", **limit, **FOLLOW)]
    for query in queries:
        assert [len(query.batch() or []) for _ in range(3)] == [3, 1, 3]
        assert query.offsets[-1]["snapshot"] == 2
    branched(log, fork)
    stops, follows = queries
    with pytest.raises(Refused, match=r"Main of shop\.log was the table directory .* and is branch fix now"):
        stops.batch()
    assert flat(all_batches(follows)) == rest


def test_main_is_replaced_in_the_middle_of_the_whole_state(log: Path) -> None:
    queries = [Query(log, "shop.log", **{FILES: "3"}), Query(log, "shop.log", **{FILES: "3"}, **FOLLOW)]
    for query in queries:
        query.batch()
    branched(log, 2)
    for query in queries:
        with pytest.raises(Refused, match=r"Main of shop\.log was the table directory") as refused:
            query.batch()
        assert "read in part" in refused.value.hint


def test_main_is_replaced_by_a_branch_that_has_the_snapshot_that_is_read_in_part(log: Path) -> None:
    query = Query(log, "shop.log", **{FILES: "5"}, **FOLLOW)
    first = query.batch()
    branched(log, 3)
    assert first is not None
    assert flat([[row[0] for row in first], *all_batches(query)]) == [*EVERY, 70, 71, 72, 73]


def test_a_snapshot_that_expires_when_it_is_read_in_part_is_named_unless_it_is_kept(log: Path) -> None:
    whole, changes = Query(log, "shop.log", **{FILES: "3"}), Query(log, "shop.log", **FROM_1, **{FILES: "3"})
    first = whole.batch()
    changes.batch()
    done(context_on(log), "create-savepoint", LOG, snapshot=3)
    say(log, 90)
    done(context_on(log), "expire-snapshots", LOG, retain_last=1)
    assert first is not None
    assert flat([[row[0] for row in first], *all_batches(whole)]) == [*EVERY, 90]
    with pytest.raises(NotFound, match=r"Snapshot 2 of shop\.log has expired .* stands behind snapshot 1"):
        changes.batch()


def test_files_that_come_in_another_order_are_not_counted_on(log: Path) -> None:
    query = Query(log, "shop.log", **{FILES: "3"})
    query.batch()
    query.offsets[-1]["last"] = "data-other.parquet"
    query.start()
    with pytest.raises(Corrupt, match=about("data-other.parquet", "another order")):
        query.batch()


@pytest.mark.parametrize("name", [FILES, BYTES, ROWS, *WAITING])
@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", "", "1 mb"])
def test_a_limit_is_a_number_from_1_on(built: Path, name: str, value: str) -> None:
    with pytest.raises(UsageError, match=about(name, "number", "1", value)):
        Query(built, "shop.log", **WAITING | {name: value})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"read.stream.minRowsPerTrigger": "1"}, "go together"),
        ({"read.stream.maxTriggerDelayMs": "1"}, "go together"),
        ({**WAITING, ROWS: "2"}, "minRowsPerTrigger 3 is more than read.stream.maxRowsPerTrigger 2"),
        (
            {"read.stream.maxFiles": "1"},
            "no option read.stream.maxfiles here.*Did you mean read.stream.maxFilesPerTrigger",
        ),
        (
            {"maxFilesPerTrigger": "1"},
            "no option maxfilespertrigger here.*Did you mean read.stream.maxFilesPerTrigger",
        ),
    ],
)
def test_limits_that_mean_nothing_are_refused(built: Path, options: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Query(built, "shop.log", **options)


@pytest.mark.parametrize("name", [FILES, *WAITING])
def test_limits_are_for_streams_that_read(log: Path, name: str) -> None:
    schema = Query(log, "shop.log").schema
    options = {"warehouse": str(log), "table": "shop.log", name: "1"}
    source = PaimarkSource(CaseInsensitiveDict(options))  # type: ignore[arg-type]  # as Spark does
    words = rf"no option {re.escape(name.lower())} here"
    with pytest.raises(UsageError, match=words):
        source.reader(schema)
    with pytest.raises(UsageError, match=words):
        source.writer(schema, False)


def test_a_run_ends_at_what_there_was_when_it_began(log: Path) -> None:
    query = Query(log, "shop.log", **{FILES: "4", "scan.bounded": "latest"}, **WAITING)
    query.batch()
    say(log, 30)
    assert sizes(all_batches(query, restart=False)) == [4, 1]
    query.start()
    assert all_batches(query) == [[30]]
    with pytest.raises(UsageError, match=about("scan.bounded", "latest", "now")):
        Query(log, "shop.log", **{"scan.bounded": "now"})


def test_available_now_goes_to_the_end_as_later_sparks_ask_for_it(log: Path) -> None:
    reader = Query(log, "shop.log", **{FILES: "4"}).reader
    reader.prepareForTriggerAvailableNow()
    say(log, 30)
    ends: list[Any] = [reader.initialOffset()]
    while (end := reader.latestOffset(ends[-1], object())) != ends[-1]:
        reader.partitions(ends[-1], end)
        ends.append(end)
    assert [(each["snapshot"], each.get("pieces")) for each in ends[1:]] == [(3, 4), (3, 8), (3, None)]
    # Another run, on the same checkpoint.
    reader = Query(log, "shop.log", **{FILES: "4"}).reader
    reader.prepareForTriggerAvailableNow()
    assert reader.latestOffset(ends[-1], object())["snapshot"] == 4

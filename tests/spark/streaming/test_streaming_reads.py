"""Where a stream begins, what its batches hold, and what it says when it can't go on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.errors import NotFound, PaimarkError, Refused, UsageError
from paimark.core.table.layout import TablePath
from tests.actions.acting import context_on, done
from tests.interop.judge import Judge
from tests.paimon import commit, create_table, open_table
from tests.spark.micro_batches import Query, lineage
from tests.wording import about

LOG = TablePath("shop", "log")
COLUMNS = pa.schema([pa.field("id", pa.int64()), pa.field("said", pa.string())])
KEYED = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("said", pa.string())])


def say(warehouse: Path, *ids: int, table: str = "shop.log", word: str = "") -> None:
    schema = KEYED if table.startswith("shop.keyed") else COLUMNS
    commit(warehouse, table, pa.table({"id": ids, "said": [word or f"s{i}" for i in ids]}, schema=schema))


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`shop.log`: rows 1 to 5, a snapshot each; `shop.keyed`: row 0 and one more in each of three."""
    path = tmp_path_factory.mktemp("five") / "warehouse"
    create_table(path, "shop.log", COLUMNS)
    create_table(path, "shop.keyed", KEYED, primary_keys=["id"], options={"bucket": "2"})
    for number in range(1, 6):
        say(path, number)
    for number in range(1, 4):
        say(path, 0, number, table="shop.keyed", word=f"k{number}")
    return path


@pytest.fixture
def log(five: Path, tmp_path: Path) -> Path:
    path = tmp_path / "warehouse"
    shutil.copytree(five, path)
    return path


def ids(rows: list[tuple[object, ...]] | None) -> list[object] | None:
    return None if rows is None else [row[0] for row in rows]


def test_a_stream_begins_with_a_snapshot_whatever_tags_are_called(log: Path) -> None:
    open_table(log, "shop.log").create_tag("4", 1)
    assert ids(Query(log, "shop.log", **from_version("4")).all()) == [4, 5]


def from_version(version: str, mode: str = "from-snapshot") -> dict[str, str]:
    return {"scan.mode": mode, "scan.snapshot-id": version}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"scan.mode": "latest"}, []),
        (from_version("4"), [4, 5]),
        (from_version("snapshot.1"), [1, 2, 3, 4, 5]),
        (from_version("6"), []),
        (from_version("snapshot.2", "from-snapshot-full"), [1, 2, 3, 4, 5]),
    ],
)
def test_a_stream_begins_where_it_is_told_and_goes_on(
    log: Path, options: dict[str, str], expected: list[int]
) -> None:
    query = Query(log, "shop.log", **options)
    assert ids(query.batch()) == expected
    assert query.batch() is None
    say(log, 6)
    assert ids(query.batch()) == [6]
    assert query.batch() is None


def test_the_first_batch_is_read_again_from_where_it_began(log: Path) -> None:
    """Spark keeps only ends: after a crash the start is not where the options would begin now."""
    query = Query(log, "shop.log")
    query.offsets.append(query.reader.latestOffset())
    say(log, 6)
    query.start()
    assert ids(query.again()) == [1, 2, 3, 4, 5]
    assert ids(query.batch()) == [6]


def test_a_restart_goes_on_behind_the_last_batch(log: Path) -> None:
    query = Query(log, "shop.log", **{"scan.mode": "latest"})
    assert query.all() == []
    say(log, 6)
    query.start()
    assert ids(query.all()) == [6]


def test_a_table_without_rows_is_waited_for(tmp_path: Path) -> None:
    create_table(tmp_path, "shop.log", COLUMNS)
    queries = [Query(tmp_path, "shop.log", **{"scan.mode": mode}) for mode in ("latest-full", "latest")]
    queries += [Query(tmp_path, "shop.log", **from_version("1", mode)) for mode in ("from-snapshot",)]
    assert [query.all() for query in queries] == [[], [], []]
    say(tmp_path, 1)
    say(tmp_path, 2)
    assert [ids(query.all()) for query in queries] == [[1, 2]] * 3


def test_a_batch_takes_in_so_many_snapshots(log: Path) -> None:
    query = Query(log, "shop.log", maxSnapshotsPerTrigger="2", **from_version("2", "from-snapshot-full"))
    assert [ids(query.batch()) for _ in range(3)] == [[1, 2, 3], [4, 5], None]
    query = Query(log, "shop.log", maxSnapshotsPerTrigger="1", **from_version("2", "from-snapshot-full"))
    assert [ids(query.batch()) for _ in range(2)] == [[1, 2], [3]]
    # As Spark's progress report does.
    query.reader.latestOffset()
    assert ids(query.batch()) == [4]


def test_a_stream_from_a_time_has_the_changes_since(log: Path) -> None:
    times = [each.time_millis for each in lineage(log, "shop.log").snapshots()]
    since = Query(log, "shop.log", **{"scan.mode": "from-timestamp", "scan.timestamp-millis": str(times[2])})
    assert ids(since.all()) == [3, 4, 5]
    before_all = Query(log, "shop.log", **{"scan.timestamp": "2020-01-01 00:00:00"})
    assert ids(before_all.all()) == [1, 2, 3, 4, 5]
    to_come = Query(log, "shop.log", **{"scan.timestamp": "2999-01-01"})
    assert ids(to_come.all()) == []


def test_a_stream_from_a_time_leaves_out_nothing_from_then_where_a_clock_was_ahead(log: Path) -> None:
    first = lineage(log, "shop.log").snapshot(1).time_millis
    for number, hours in enumerate([0, 8, 1, 2, 3], start=1):
        path = log / f"shop.db/log/snapshot/snapshot-{number}"
        record = json.loads(path.read_bytes())
        path.write_text(json.dumps({**record, "timeMillis": first + hours * 3_600_000}))
    since = str(first + 4 * 3_600_000)
    query = Query(log, "shop.log", **{"scan.mode": "from-timestamp", "scan.timestamp-millis": since})
    assert ids(query.all()) == [2, 3, 4, 5]


def test_an_expired_start_begins_with_the_savepoint_that_saved_it(log: Path) -> None:
    context = context_on(log)
    times = [each.time_millis for each in lineage(log, "shop.log").snapshots()]
    done(context, "create-savepoint", LOG, snapshot=3)
    done(context, "expire-snapshots", LOG, retain_last=2)
    assert lineage(log, "shop.log").snapshot_ids() == [4, 5]
    for start in (
        from_version("3"),
        from_version("snapshot.3", "from-snapshot-full"),
        from_version("savepoint.1"),
        {"scan.timestamp-millis": str(times[2])},
        {"scan.timestamp-millis": str(times[2] + 1)},
    ):
        query = Query(log, "shop.log", maxSnapshotsPerTrigger="1", **start)
        assert [ids(query.batch()) for _ in range(4)] == [[1, 2, 3], [4], [5], None]
    with pytest.raises(NotFound, match=about("version 'snapshot.2'", "4 to 5")):
        Query(log, "shop.log", **from_version("2")).batch()
    with pytest.raises(NotFound) as refused:
        Query(log, "shop.log", **{"scan.timestamp-millis": str(times[1])}).batch()
    assert about("scan.snapshot-id savepoint.1", "all rows", "snapshot 3").search(refused.value.hint)


def test_what_expired_unread_is_named_and_never_left_out(log: Path) -> None:
    context = context_on(log)
    query = Query(log, "shop.log", maxSnapshotsPerTrigger="1", **from_version("1"))
    assert ids(query.batch()) == [1]
    done(context, "create-savepoint", LOG, snapshot=3)
    done(context, "expire-snapshots", LOG, retain_last=1)
    with pytest.raises(NotFound) as gone:
        query.batch()
    told = ("shop.log", "expired", "snapshot 1", "snapshot 5", "earliest")
    assert about("snapshot 2", *told).search(gone.value.message)
    assert about("scan.gap=earliest", "snapshot 5").search(gone.value.hint)
    assert gone.value.hint in str(gone.value)
    query.start()
    with pytest.raises(NotFound, match="Snapshot 2 of"):
        query.batch()
    # Also where the stream would begin with the savepoint and find what follows gone.
    with pytest.raises(NotFound, match=r"Snapshot 4 of shop\.log has expired"):
        Query(log, "shop.log", **from_version("savepoint.1")).batch()


def test_one_expired_change_that_a_savepoint_kept_is_read_from_it(log: Path) -> None:
    query = Query(log, "shop.log", maxSnapshotsPerTrigger="2", **from_version("1"))
    assert ids(query.batch()) == [1, 2]
    done(context_on(log), "create-savepoint", LOG, snapshot=3)
    done(context_on(log), "expire-snapshots", LOG, retain_last=2)
    assert ids(query.all()) == [3, 4, 5]


def test_upserts_come_once_a_key_and_batch(log: Path) -> None:
    assert Query(log, "shop.keyed").all() == [(0, "k3"), (1, "k1"), (2, "k2"), (3, "k3")]
    assert Query(log, "shop.keyed", **from_version("2")).all() == [(0, "k3"), (2, "k2"), (3, "k3")]
    stepwise = Query(log, "shop.keyed", maxSnapshotsPerTrigger="1", **from_version("2"))
    assert stepwise.batch() == [(0, "k2"), (2, "k2")]
    assert stepwise.batch() == [(0, "k3"), (3, "k3")]
    whole = Query(log, "shop.keyed", **from_version("2", "from-snapshot-full"))
    assert whole.all() == [(0, "k3"), (1, "k1"), (2, "k2"), (3, "k3")]


def test_each_change_comes_with_its_kind_where_that_is_asked_for(log: Path) -> None:
    changes = {"read.changelog": "true"}
    query = Query(log, "shop.keyed", **changes, **from_version("2"))
    assert query.schema.names == ["_row_kind", "id", "said"]
    assert query.all() == [("+I", 0, "k2"), ("+I", 0, "k3"), ("+I", 2, "k2"), ("+I", 3, "k3")]
    whole = Query(log, "shop.keyed", **changes)
    assert whole.all() == [("+I", 0, "k3"), ("+I", 1, "k1"), ("+I", 2, "k2"), ("+I", 3, "k3")]
    assert Query(log, "shop.log", **changes, **from_version("5")).all() == [("+I", 5, "s5")]


@pytest.mark.parametrize("producer", ["none", "input"])
def test_deletes_are_told_or_refused(tmp_path: Path, producer: str) -> None:
    schema = pa.schema([*KEYED, pa.field("kind", pa.string())])
    options = {"bucket": "1", "rowkind.field": "kind", "changelog-producer": producer}
    create_table(tmp_path, "shop.keyed", schema, primary_keys=["id"], options=options)
    for kinds in (["+I", "+I"], ["-D", "+U"]):
        rows = {"id": [1, 2], "said": ["a", "b"], "kind": kinds}
        commit(tmp_path, "shop.keyed", pa.table(rows, schema=schema))
    told = Query(tmp_path, "shop.keyed", **{"read.changelog": "true"}, **from_version("2")).all()
    assert [row[:2] for row in told] == ([("+U", 2), ("-D", 1)])
    with pytest.raises(Refused, match="deleted") as refused:
        Query(tmp_path, "shop.keyed", **from_version("2")).all()
    assert "read.changelog=true" in refused.value.hint
    # The whole state is without what was deleted.
    assert [row[0] for row in Query(tmp_path, "shop.keyed").all()] == [2]


@pytest.mark.parametrize("given", [{}, {"read.changelog": "true"}])
def test_deletes_that_nobody_counted_are_no_rows_of_the_whole_state(
    tmp_path: Path, judge: Judge, given: dict[str, str]
) -> None:
    """Stock Paimon has lifted the file of pypaimon as it is."""
    schema = pa.schema([*KEYED, pa.field("kind", pa.string())])
    options = {"bucket": "1", "rowkind.field": "kind"}
    create_table(tmp_path, "shop.keyed", schema, primary_keys=["id"], options=options)
    rows = {"id": [1, 2], "said": ["a", "b"], "kind": ["-D", "+I"]}
    commit(tmp_path, "shop.keyed", pa.table(rows, schema=schema))
    judge.compact(tmp_path, "shop.keyed")
    assert [row[-3] for row in Query(tmp_path, "shop.keyed", **given).all()] == [2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bucket": "1", "merge-engine": "aggregation"}, "merge engine aggregation"),
        ({"bucket": "1", "merge-engine": "partial-update"}, "merge engine partial-update"),
        ({"bucket": "1", "merge-engine": "first-row"}, "merge engine first-row"),
        # Stock Paimon takes it in any case.
        ({"bucket": "1", "merge-engine": "Partial-Update"}, "merge engine partial-update"),
        ({"bucket": "-2"}, "bucket = -2"),
        ({"bucket": "1", "streaming-read-overwrite": "true"}, "streaming-read-overwrite"),
        ({"bucket": "1", "changelog-producer": "lookup"}, "changelog-producer lookup"),
    ],
)
def test_a_table_whose_changes_cannot_be_told_is_refused(
    tmp_path: Path, options: dict[str, str], words: str
) -> None:
    create_table(tmp_path, "shop.keyed", KEYED, primary_keys=["id"], options=options)
    say(tmp_path, 1, table="shop.keyed")
    for given in ({}, {"read.changelog": "true"}):
        with pytest.raises(Refused, match=words):
            Query(tmp_path, "shop.keyed", **given).all()


@pytest.mark.parametrize(("also_overwrites", "expected"), [("false", [1, 3]), ("true", [1, 2, 3])])
def test_overwrites_are_passed_over_unless_the_table_says_otherwise(
    tmp_path: Path, also_overwrites: str, expected: list[int]
) -> None:
    options = {"streaming-read-append-overwrite": also_overwrites}
    create_table(tmp_path, "shop.log", COLUMNS, options=options)
    say(tmp_path, 1)
    commit(tmp_path, "shop.log", pa.table({"id": [2], "said": ["s2"]}, schema=COLUMNS), overwrite=True)
    say(tmp_path, 3)
    assert ids(Query(tmp_path, "shop.log", **from_version("1")).all()) == expected


def test_compactions_are_passed_over(log: Path, judge: Judge) -> None:
    judge.compact(log, "shop.log")
    assert lineage(log, "shop.log").snapshot(6).commit_kind == "COMPACT"
    say(log, 7)
    assert ids(Query(log, "shop.log", **from_version("1")).all()) == [1, 2, 3, 4, 5, 7]
    assert ids(Query(log, "shop.log", **from_version("6", "from-snapshot-full")).all()) == [1, 2, 3, 4, 5, 7]


def test_a_stream_is_of_the_branch_that_it_names(log: Path) -> None:
    context = context_on(log)
    open_table(log, "shop.log").create_tag("two", 2)
    done(context, "create-branch", LOG, name="fix", tag="two")
    query = Query(log, "shop.log", branch="fix")
    assert ids(query.all()) == [1, 2]
    say(log, 20, table="shop.log$branch_fix")
    say(log, 30)
    done(context, "replace-main-branch", LOG, name="fix")
    assert ids(query.all()) == [20]
    with pytest.raises(UsageError, match=about("follow-main", "main", "branch")):
        Query(log, "shop.log", branch="fix", **{"follow-main": "fork"})


def replaced(log: Path) -> None:
    """Main becomes branch `fix`, which parts from it behind snapshot 3 and then has rows 30 and 31."""
    context = context_on(log)
    open_table(log, "shop.log").create_tag("three", 3)
    done(context, "create-branch", LOG, name="fix", tag="three")
    say(log, 30, table="shop.log$branch_fix")
    say(log, 31, table="shop.log$branch_fix")
    done(context, "replace-main-branch", LOG, name="fix")


def test_a_stream_stops_when_main_is_replaced(log: Path) -> None:
    query = Query(log, "shop.log")
    assert ids(query.batch()) == [1, 2, 3, 4, 5]
    replaced(log)
    with pytest.raises(Refused) as stopped:
        query.batch()
    moved = about("main of shop.log", "table directory", "snapshot 5", "branch fix")
    assert moved.search(stopped.value.message)
    assert "follow-main=fork" in stopped.value.hint


@pytest.mark.parametrize(("read", "rest"), [("2", [3, 30]), ("3", [30, 31]), ("5", [30, 31])])
def test_a_stream_follows_main_behind_what_both_share(log: Path, read: str, rest: list[int]) -> None:
    fork = {"follow-main": "fork"}
    query = Query(log, "shop.log", maxSnapshotsPerTrigger=read, **fork, **from_version("1"))
    assert ids(query.batch()) == list(range(1, int(read) + 1))
    replaced(log)
    assert ids(query.batch()) == rest
    assert query.offsets[-1]["branch"] == "fix"
    # Also when that batch has to be read again, and the fork has been forgotten.
    query.start()
    assert ids(query.again()) == rest
    assert ids(query.all()) == ([31] if read == "2" else [])
    done(context_on(log), "undo", LOG)
    assert ids(query.all()) == [4, 5]


def test_a_stream_cannot_follow_where_the_previous_main_was_dropped(log: Path) -> None:
    query = Query(log, "shop.log", **{"follow-main": "fork"})
    query.batch()
    context = context_on(log)
    open_table(log, "shop.log").create_tag("three", 3)
    done(context, "create-branch", LOG, name="fix", tag="three")
    say(log, 30, table="shop.log$branch_fix")
    done(context, "replace-main-branch", LOG, name="fix", drop_previous=True)
    with pytest.raises(Refused, match=about("unknown", "main now", "parts")):
        query.batch()


def test_ids_that_were_given_again_are_found(log: Path) -> None:
    query = Query(log, "shop.log")
    query.batch()
    done(context_on(log), "rollback", LOG, to="snapshot.3", truncate=True)
    with pytest.raises(Refused, match=about("went back", "snapshot 5")):
        query.batch()
    for number in range(60, 64):
        say(log, number)
    with pytest.raises(Refused, match=about("went back", "snapshot 5", "another commit")):
        query.batch()


def test_a_savepoint_of_a_past_that_was_taken_back_is_no_start(log: Path) -> None:
    context = context_on(log)
    done(context, "create-savepoint", LOG, snapshot=4)
    done(context, "rollback", LOG, to="snapshot.3", truncate=True)
    say(log, 40)
    say(log, 50)
    tags = log / "shop.db/log/tag"
    if not (tags / "tag-savepoint.1").exists():
        shutil.copy(next((log / "shop.db/log/branch").glob("*/tag/tag-savepoint.1")), tags)
    with pytest.raises(Refused, match=about("went back", "snapshot 4", "begins")):
        Query(log, "shop.log", **from_version("savepoint.1", "from-snapshot-full")).batch()


def test_columns_are_those_at_the_start(log: Path) -> None:
    query = Query(log, "shop.log")
    query.batch()
    wider = pa.schema([*COLUMNS, pa.field("more", pa.int32())])
    done(context_on(log), "alter-branch-schema", LOG, add="more INT")
    commit(log, "shop.log", pa.table({"id": [6], "said": ["s6"], "more": [1]}, schema=wider))
    assert query.batch() == [(6, "s6")]
    done(context_on(log), "alter-branch-schema", LOG, drop="said")
    commit(log, "shop.log", pa.table({"id": [7], "more": [1]}, schema=wider.remove(1)))
    with pytest.raises(Refused, match=about("column said", "shop.log", "started")):
        query.batch()
    query.start()
    assert query.again() == [(7, 1)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scan.mode": "sometimes"}, "scan.mode sometimes"),
        ({"scan.mode": "from-snapshot"}, "scan.snapshot-id together"),
        ({"scan.mode": "latest", "scan.snapshot-id": "1"}, "scan.snapshot-id together"),
        ({"scan.mode": "from-timestamp"}, "scan.timestamp together"),
        ({"scan.timestamp": "noon"}, "noon time"),
        (
            {"scan.timestamp": "2026-01-01", "scan.timestamp-millis": "1"},
            "scan.timestamp-millis both",
        ),
        ({"maxSnapshotsPerTrigger": "0"}, "maxSnapshotsPerTrigger number 1"),
        ({"follow-main": "yes"}, "follow-main stop fork"),
        ({"read.changelog": "maybe"}, "read.changelog true false"),
        ({"version": "1"}, "no option version"),
    ],
)
def test_options_that_mean_nothing_are_refused(log: Path, options: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=about(*words.split())):
        Query(log, "shop.log", **options)


def test_an_offset_of_another_source_is_refused(log: Path) -> None:
    query = Query(log, "shop.log")
    with pytest.raises(PaimarkError, match=about("offset", "another source")):
        query.reader.partitions({}, {"partition-0": 3})


def test_changes_of_several_buckets_in_one_file_are_refused_by_name(tmp_path: Path, judge: Judge) -> None:
    options = {"bucket": "2", "changelog-producer": "input"}
    create_table(tmp_path, "shop.keyed", KEYED, primary_keys=["id"], options=options)
    judge.put(tmp_path, "shop.keyed", [("+I", [each, "x"]) for each in range(8)], joins=True)
    with pytest.raises(Refused, match=about("several buckets", "(changelog.precommit-compact)")):
        Query(tmp_path, "shop.keyed", **{"read.changelog": "true"}, **from_version("1")).all()

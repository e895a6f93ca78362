"""System tables in SQL: they join with anything, on any branch, and files are those of any version."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from paimark.core.actions.context import Context, open_context
from paimark.core.actions.registry import action
from paimark.core.figures import duration
from paimark.core.spark.arrow import read_batch
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.home import start_zone
from paimark.core.spark.protocol import Batch
from paimark.core.statements.listing.answer import events, read_listing
from paimark.core.statements.run import context_for, run_statement
from paimark.core.table.catalog import find_table
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.travel.parse.sql import read_statement
from tests.spark.engine.test_reads import own_table
from tests.spark.engine_fixture import Answer, ask, rows
from tests.wording import about

ORDERS = "past.orders"


def act(context: Context, called: str, /, **arguments: object) -> None:
    chosen = action(called)
    plan = chosen.plan(context, find_table(context.files, ORDERS), arguments)
    assert not plan.refusals, plan.refusals
    chosen.apply(context, plan, lambda line: None)


@pytest.fixture(scope="session")
def context(engine_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Context:
    """`past.orders`: savepoint 1 of snapshot 2, branch `fix` of it, and snapshots 1 to 3 expired by us."""
    own_table(engine_warehouse, "past")
    audit = tmp_path_factory.mktemp("audit") / "audit.jsonl"
    made = replace(open_context(str(engine_warehouse), {}, False), audit_path=audit, verify_wait=0.0)
    act(made, "create-savepoint", snapshot=2, comment="kept")
    act(made, "create-branch", name="fix", tag="savepoint.1")
    act(made, "expire-snapshots", retain_last=2)
    return made


def test_savepoints_begin_with_five_bigints(engine: Engine, context: Context) -> None:
    answer = ask(engine, "SELECT * FROM past.`orders$savepoints`")
    assert answer.columns.names[:5] == (
        *("savepoint_id", "saved_snapshot_id", "schema_id", "save_time", "record_count"),
    )
    assert set(answer.columns.types[:5]) == {"bigint"}
    (row,) = answer.rows
    assert (row["savepoint_id"], row["saved_snapshot_id"], row["health"]) == (1, 2, "ok")
    # The fork has the tag too: the savepoint belongs to both.
    assert rows(engine, "SELECT savepoint_id FROM past.`orders$branch_fix$savepoints`") == [
        {"savepoint_id": 1}
    ]


def test_system_tables_join_with_each_other_with_the_table_and_on_branches(
    engine: Engine, context: Context
) -> None:
    snapshots_and_tags = """
        SELECT s.snapshot_id, t.tag_name, p.comment
        FROM past.`orders$branch_fix$snapshots` s
        JOIN past.`orders$branch_fix$tags` t ON s.snapshot_id = t.snapshot_id
        LEFT JOIN past.`orders$savepoints` p ON p.saved_snapshot_id = t.snapshot_id
    """
    assert rows(engine, snapshots_and_tags) == [
        {"snapshot_id": 2, "tag_name": "savepoint.1", "comment": "kept"},
    ]
    with_the_table = """
        SELECT b.branch_name, b.health, count(*) AS n
        FROM past.`orders$branches` b CROSS JOIN past.orders VERSION AS OF 'savepoint.1' o
        WHERE o.order_id > (SELECT min(snapshot_id) FROM past.`orders$snapshots`)
        GROUP BY ALL ORDER BY 1
    """
    assert rows(engine, with_the_table) == [
        {"branch_name": "fix", "health": "ok", "n": 1},
        {"branch_name": "main", "health": "ok", "n": 1},
    ]
    with_schemas = """
        SELECT count(*) AS n FROM `orders$snapshots` JOIN `orders$schemas` USING (schema_id)
        JOIN `orders$options` o ON o.key = 'bucket' AND o.value = '2'
    """
    assert rows(engine, with_schemas, database="past") == [{"n": 2}]


def test_files_are_those_of_the_version_asked_for(engine: Engine, context: Context) -> None:
    saved = ask(engine, "SELECT * FROM past.`orders$files` VERSION AS OF 'savepoint.1' WHERE level = 0")
    (reading,) = saved.readings
    assert (reading.table, reading.scan) == ("past.orders$files", "metadata")
    assert reading.version.startswith("savepoint.1 (snapshot.2)")
    assert sum(row["record_count"] for row in saved.rows) == 8
    assert all(Path(row["file_path"]).exists() for row in saved.rows)
    assert {row["file_format"] for row in saved.rows} == {"parquet"}
    both = """
        SELECT count(*) AS n FROM past.`orders$files` now
        LEFT ANTI JOIN past.`orders$files` VERSION AS OF 'snapshot.2' AS saved USING (file_path)
    """
    latest = rows(engine, "SELECT sum(record_count) AS n FROM past.`orders$files`")
    assert latest == [{"n": 20}]
    (added,) = rows(engine, both)
    assert added["n"] > 0
    on_branch = rows(engine, "SELECT sum(record_count) AS n FROM past.`orders$branch_fix$files`")
    assert on_branch == [{"n": 8}]
    failure = ask(engine, "SELECT * FROM past.`orders$files` VERSION AS OF 99").failure
    assert "no version '99'" in failure.message


def test_expired_versions_and_times_say_which_savepoint_served_and_how_far_it_is(
    engine: Engine, context: Context
) -> None:
    root = find_table(context.files, ORDERS).root()
    earliest = Lineage(context.files, root).earliest_id()
    assert earliest == 4
    by_id = ask(engine, "SELECT count(*) AS n FROM past.orders VERSION AS OF 'snapshot.2'")
    assert by_id.rows == [{"n": 5}]
    assert by_id.readings[0].version.startswith("savepoint.1 (snapshot.2)")
    assert about("snapshot 2", "expired", "savepoint.1").search(by_id.readings[0].note)
    saved_ms = Lineage(context.files, root).tag("savepoint.1").time_millis
    live_ms = Lineage(context.files, root).snapshot(earliest).time_millis
    between = saved_ms + (live_ms - saved_ms) // 2
    asked = f"{datetime.fromtimestamp(between / 1000, UTC):%Y-%m-%d %H:%M:%S.%f}+00:00"
    by_time = ask(engine, f"SELECT count(*) AS n FROM past.orders TIMESTAMP AS OF '{asked}'")
    assert by_time.rows == [{"n": 5}]
    note = by_time.readings[0].note
    assert about("savepoint.1 (snapshot 2)", f"{duration(between - saved_ms)} older").search(note)
    gone = ask(engine, "SELECT * FROM past.orders VERSION AS OF 'snapshot.3'").failure
    assert "no version 'snapshot.3'" in gone.message
    assert "savepoint.1 (snapshot 2)" in gone.hint


def test_what_a_list_leaves_out_is_said(engine: Engine, engine_warehouse: Path) -> None:
    own_table(engine_warehouse, "torn")
    (engine_warehouse / "torn.db" / "orders" / "tag" / "tag-half").write_text("{")
    answer = ask(engine, "SELECT tag_name FROM torn.`orders$tags`")
    assert answer.rows == [{"tag_name": "v2"}]
    assert answer.readings[0].note.startswith("Left out: torn.db/orders/tag/tag-half")


LISTED = [
    "SELECT * FROM `orders$snapshots` ORDER BY snapshot_id",
    "select Snapshot_ID, commit_kind AS kind from orders$snapshots order by kind, snapshot_id desc",
    "SELECT * FROM orders$savepoints",
    "SELECT *, savepoint_id AS `again and again` FROM orders$branch_fix$savepoints",
    "SELECT tag_name, record_count FROM `orders$tags` WHERE tag_name >= 'save' ORDER BY tag_name LIMIT 3;",
    "SELECT branch_name, is_main FROM orders$branches ORDER BY fork_snapshot_id, branch_name",
    "SELECT branch_name FROM orders$branches ORDER BY fork_snapshot_id DESC NULLS FIRST, branch_name DESC",
    "SELECT branch_name FROM orders$branches WHERE fork_snapshot_id IS NOT NULL",
    "SELECT count(*) FROM orders$snapshots",
    "SELECT count(*) AS n FROM orders$snapshots WHERE commit_kind <> 'APPEND' AND snapshot_id > 1 LIMIT 1",
    "SELECT count(*) AS n FROM orders$snapshots WHERE watermark = 0",
    "SELECT operation_id, user, undoes FROM orders$operations ORDER BY operation_id -- a comment",
    "SELECT key, value FROM orders$options WHERE key = 'bucket' ORDER BY value",
    "SELECT schema_id, fields FROM orders$schemas LIMIT 0",
]


@pytest.mark.parametrize("sql", LISTED)
def test_what_is_listed_without_spark_is_what_spark_lists(engine: Engine, context: Context, sql: str) -> None:
    listing = read_listing(read_statement(sql))
    zone = start_zone(engine.settings)
    assert listing is not None and zone is not None
    answer = Answer(list(events(context.files, listing, "past", None, zone)))
    batches = [read_batch(batch) for batch in answer.of(Batch)]
    spark = ask(engine, sql, database="past")
    assert [row for batch in batches for row in batch.to_pylist()] == spark.rows
    assert (answer.columns, answer.readings) == (spark.columns, spark.readings)
    assert answer.finish.rows == spark.finish.rows
    # Spark tells of no rows by an empty batch, too.
    for ours, theirs in zip(batches, map(read_batch, spark.of(Batch)), strict=False):
        assert ours.schema.types == theirs.schema.types


@pytest.mark.parametrize(
    "sql",
    [
        *(
            "SELECT DISTINCT schema_id FROM orders$snapshots",
            "SELECT upper(tag_name) FROM orders$tags",
        ),
        *(
            "SELECT s.snapshot_id FROM orders$snapshots s",
            "SELECT snapshot_id + 1 FROM orders$snapshots",
        ),
        "SELECT tag_name FROM orders$tags WHERE tag_name = 'a' OR tag_name = 'b'",
        "SELECT tag_name FROM orders$tags WHERE snapshot_id = '1'",
        "SELECT snapshot_id AS x, schema_id AS x FROM orders$snapshots ORDER BY x",
        *(
            "SELECT nothing FROM orders$snapshots",
            "SELECT * FROM orders$files",
            "SELECT * FROM orders",
        ),
        "SELECT * FROM orders$snapshots JOIN orders$tags USING (snapshot_id)",
        *(
            "SELECT * FROM orders$snapshots LIMIT ALL",
            "SELECT * FROM orders$snapshots LIMIT 1 OFFSET 1",
        ),
        "EXPLAIN SELECT * FROM orders$snapshots",
        "SELECT commit_kind, count(*) FROM orders$snapshots GROUP BY commit_kind",
    ],
)
def test_what_is_more_than_a_plain_selection_is_left_to_spark(sql: str) -> None:
    assert read_listing(read_statement(sql)) is None


def test_a_plain_selection_does_not_wait_for_spark(context: Context, engine: Engine, tmp_path: Path) -> None:
    asleep = Engine(engine.settings, tmp_path / "engine.log")
    sql = "SELECT snapshot_id FROM orders$snapshots ORDER BY snapshot_id DESC LIMIT 1"
    answer = Answer(list(run_statement(context_for(asleep), sql, database="past")))
    assert asleep.state == "stopped"
    assert answer.finish.rows == 1 and read_batch(answer.of(Batch)[0]).to_pydict() == {"snapshot_id": [5]}
    missing = Answer(list(run_statement(context_for(asleep), "SELECT * FROM past.nothing$tags")))
    assert about("no table past.nothing").search(missing.failure.message) and missing.failure.position == 14

"""System tables in SQL: they join with anything, on any branch, and files are those of any version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.actions.context import Context, open_context
from core.actions.registry import action
from core.figures import duration
from core.spark.client.client import Engine
from core.table.catalog import find_table
from core.table.lineage.lineage import Lineage
from tests.spark.engine.test_reads import own_table
from tests.spark.engine_fixture import ask, rows

ORDERS = "past.orders"


def act(context: Context, called: str, /, **arguments: object) -> None:
    chosen = action(called)
    plan = chosen.plan(context, find_table(context.files, ORDERS), arguments)
    assert not plan.refusals, plan.refusals
    chosen.apply(context, plan, lambda line: None)


@pytest.fixture(scope="module")
def context(engine_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Context]:
    """`past.orders`: savepoint 1 of snapshot 2, branch `fix` of it, and snapshots 1 to 3 expired by us."""
    own_table(engine_warehouse, "past")
    audit = tmp_path_factory.mktemp("audit") / "audit.jsonl"
    made = replace(open_context(str(engine_warehouse), {}, False), audit_path=audit, verify_wait=0.0)
    act(made, "create-savepoint", snapshot=2, comment="kept")
    act(made, "create-branch", name="fix", tag="savepoint.1")
    act(made, "expire-snapshots", retain_last=2)
    yield made


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
    assert "Snapshot 2 has expired: it is read from savepoint.1" in by_id.readings[0].note
    saved_ms = Lineage(context.files, root).tag("savepoint.1").time_millis
    live_ms = Lineage(context.files, root).snapshot(earliest).time_millis
    between = saved_ms + (live_ms - saved_ms) // 2
    asked = f"{datetime.fromtimestamp(between / 1000, UTC):%Y-%m-%d %H:%M:%S.%f}+00:00"
    by_time = ask(engine, f"SELECT count(*) AS n FROM past.orders TIMESTAMP AS OF '{asked}'")
    assert by_time.rows == [{"n": 5}]
    note = by_time.readings[0].note
    assert "No snapshot from then is left: savepoint.1 (snapshot 2) serves, " in note
    assert duration(between - saved_ms) in note
    gone = ask(engine, "SELECT * FROM past.orders VERSION AS OF 'snapshot.3'").failure
    assert "no version 'snapshot.3'" in gone.message
    assert "savepoint.1 (snapshot 2)" in gone.hint


def test_what_a_list_leaves_out_is_said(engine: Engine, engine_warehouse: Path) -> None:
    own_table(engine_warehouse, "torn")
    (engine_warehouse / "torn.db" / "orders" / "tag" / "tag-half").write_text("{")
    answer = ask(engine, "SELECT tag_name FROM torn.`orders$tags`")
    assert answer.rows == [{"tag_name": "v2"}]
    assert answer.readings[0].note.startswith("Left out: torn.db/orders/tag/tag-half")

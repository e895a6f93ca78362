"""Rows that Spark reads are pypaimon's, of the snapshot that was asked for."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.actions.context import open_context
from paimark.core.actions.registry import action
from paimark.core.spark.client.client import Engine
from paimark.core.table.catalog import find_table
from tests.conftest import ORDERS
from tests.paimon import commit, create_table, open_table, read_rows
from tests.spark.engine_fixture import ask, in_order, rows


def pypaimon_rows(warehouse: Path, name: str, **options: str) -> list[dict[str, Any]]:
    table = open_table(warehouse, name).copy({key.replace("_", "."): value for key, value in options.items()})
    builder = table.new_read_builder()
    found: list[dict[str, Any]] = builder.new_read().to_arrow(builder.new_scan().plan().splits()).to_pylist()
    return found


def at(warehouse: Path, name: str, snapshot_id: int) -> list[dict[str, Any]]:
    table = open_table(warehouse, name).copy({"scan.snapshot-id": str(snapshot_id)})
    builder = table.new_read_builder()
    found: list[dict[str, Any]] = builder.new_read().to_arrow(builder.new_scan().plan().splits()).to_pylist()
    return found


def own_table(warehouse: Path, database: str) -> str:
    """A copy of `shop.orders` that the test may change."""
    target = warehouse / f"{database}.db" / "orders"
    shutil.copytree(warehouse / "shop.db" / "orders", target)
    return f"{database}.orders"


def save(warehouse: Path, name: str, tmp_path: Path, **arguments: object) -> None:
    """`create-savepoint`, as a person would."""
    context = replace(open_context(str(warehouse), {}, False), audit_path=tmp_path / "audit", verify_wait=0.0)
    create = action("create-savepoint")
    plan = create.plan(context, find_table(context.files, name), arguments)
    assert not plan.refusals, plan.refusals
    create.apply(context, plan, print)


def expire(warehouse: Path, name: str, *snapshot_ids: int) -> None:
    """What an expiry leaves of snapshots whose data a tag keeps."""
    database, table = name.split(".")
    directory = warehouse / f"{database}.db" / table / "snapshot"
    for snapshot_id in snapshot_ids:
        (directory / f"snapshot-{snapshot_id}").unlink()
    (directory / "EARLIEST").write_text(str(max(snapshot_ids) + 1))


@pytest.mark.parametrize("name", ["shop.orders", "shop.events"])
def test_latest_rows_are_pypaimons(engine: Engine, engine_warehouse: Path, name: str) -> None:
    assert in_order(rows(engine, f"SELECT * FROM {name}")) == in_order(read_rows(engine_warehouse, name))


@pytest.mark.parametrize("snapshot_id", range(1, 6))
def test_each_snapshot_reads_as_it_was(engine: Engine, engine_warehouse: Path, snapshot_id: int) -> None:
    found = rows(engine, f"SELECT * FROM shop.orders VERSION AS OF {snapshot_id}")
    assert in_order(found) == in_order(at(engine_warehouse, "shop.orders", snapshot_id))


def test_a_tag_reads_the_snapshot_it_was_made_of(engine: Engine, engine_warehouse: Path) -> None:
    answer = ask(engine, "SELECT * FROM shop.orders VERSION AS OF 'v2'")
    assert in_order(answer.rows) == in_order(at(engine_warehouse, "shop.orders", 2))
    (reading,) = answer.readings
    assert (reading.table, reading.scan) == ("shop.orders", "native")
    assert reading.version.startswith("v2 (snapshot.2), ")


def test_two_versions_of_one_table_meet_in_a_join(engine: Engine, engine_warehouse: Path) -> None:
    sql = """
        SELECT old.order_id, old.price AS was, new.price AS is_now
        FROM shop.orders VERSION AS OF 1 AS old JOIN shop.orders AS new ON old.order_id = new.order_id
        ORDER BY old.order_id"""
    was = {row["order_id"]: row["price"] for row in at(engine_warehouse, "shop.orders", 1)}
    now = {row["order_id"]: row["price"] for row in read_rows(engine_warehouse, "shop.orders")}
    assert rows(engine, sql) == [
        {"order_id": key, "was": was[key], "is_now": now[key]} for key in sorted(was) if key in now
    ]


def test_an_expired_snapshot_is_read_from_its_savepoint(
    engine: Engine, engine_warehouse: Path, tmp_path: Path
) -> None:
    name = own_table(engine_warehouse, "expired")
    expected = at(engine_warehouse, name, 3)
    save(engine_warehouse, name, tmp_path, snapshot=3)
    expire(engine_warehouse, name, 1, 2, 3)
    for version in ("'savepoint.1'", "3", "'snapshot.3'"):
        answer = ask(engine, f"SELECT * FROM {name} VERSION AS OF {version}")
        assert in_order(answer.rows) == in_order(expected)
        assert "savepoint.1 (snapshot.3)" in answer.readings[0].version
    assert in_order(rows(engine, f"SELECT * FROM {name} VERSION AS OF 'v2'")) == in_order(
        at(engine_warehouse, "shop.orders", 2)
    )
    gone = ask(engine, f"SELECT * FROM {name} VERSION AS OF 1").failure
    assert "'1'" in gone.message and name in gone.message
    assert gone.position == len("SELECT * FROM ")


def test_a_branch_reads_its_own_snapshots_and_tags(engine: Engine, engine_warehouse: Path) -> None:
    name = own_table(engine_warehouse, "branched")
    open_table(engine_warehouse, name).branch_manager().create_branch("fix", "v2")
    branch = f"{name}$branch_fix"
    commit(
        engine_warehouse,
        branch,
        pa.table({"order_id": [2], "customer": ["fixed"], "price": [0.5]}, schema=ORDERS),
    )
    # Main has a tag of this name too, of other rows.
    open_table(engine_warehouse, name).create_tag("same", 5)
    open_table(engine_warehouse, branch).create_tag("same", 3)
    expected = in_order(pypaimon_rows(engine_warehouse, branch))
    assert any(row["customer"] == "fixed" for row in expected)
    assert in_order(rows(engine, "SELECT * FROM branched.`orders$branch_fix`")) == expected
    tagged = rows(engine, "SELECT * FROM branched.`orders$branch_fix` VERSION AS OF 'same'")
    assert in_order(tagged) == expected
    assert in_order(rows(engine, f"SELECT * FROM {name} VERSION AS OF 'same'")) == in_order(
        at(engine_warehouse, name, 5)
    )


def test_the_plain_name_follows_the_main_branch_file(engine: Engine, engine_warehouse: Path) -> None:
    name = own_table(engine_warehouse, "pointed")
    open_table(engine_warehouse, name).branch_manager().create_branch("next", "v2")
    directory = engine_warehouse / "pointed.db" / "orders"
    (directory / "branch" / "MAIN-BRANCH").write_text("next")
    answer = ask(engine, f"SELECT * FROM {name}")
    assert in_order(answer.rows) == in_order(at(engine_warehouse, "shop.orders", 2))
    assert "of next" in answer.readings[0].version


def test_a_past_version_has_the_columns_it_had(engine: Engine, engine_warehouse: Path) -> None:
    from pypaimon import CatalogFactory
    from pypaimon.schema.data_types import AtomicType
    from pypaimon.schema.schema_change import SchemaChange

    name = own_table(engine_warehouse, "evolved")
    catalog = CatalogFactory.create({"warehouse": str(engine_warehouse)})
    catalog.alter_table(name, [SchemaChange.add_column("city", AtomicType("STRING"))])
    old = rows(engine, f"SELECT * FROM {name} VERSION AS OF 5")
    assert in_order(old) == in_order(read_rows(engine_warehouse, "shop.orders"))
    # Without a commit since, and yet the column is there.
    now = rows(engine, f"SELECT * FROM {name}")
    assert in_order(now) == in_order([{**row, "city": None} for row in old])


def test_a_table_without_snapshots_is_empty(engine: Engine, engine_warehouse: Path) -> None:
    create_table(engine_warehouse, "blank.orders", ORDERS, primary_keys=["order_id"])
    answer = ask(engine, "SELECT * FROM blank.orders")
    assert (answer.rows, answer.columns.names) == ([], ("order_id", "customer", "price"))
    assert answer.readings[0].version == "no snapshot yet"


def test_system_tables_are_tables(engine: Engine) -> None:
    sql = "SELECT snapshot_id FROM shop.`orders$snapshots` WHERE snapshot_id > 3 ORDER BY 1 DESC"
    assert rows(engine, sql) == [{"snapshot_id": 5}, {"snapshot_id": 4}]
    tags = rows(engine, "SELECT tag_name, snapshot_id FROM shop.`orders$tags`")
    assert tags == [{"tag_name": "v2", "snapshot_id": 2}]
    assert rows(engine, "SELECT * FROM shop.`orders$savepoints`") == []
    assert "snapshots" in ask(engine, "SELECT * FROM shop.`orders$snapshot`").failure.hint


def test_options_in_a_statement_name_the_state_that_is_read(engine: Engine, engine_warehouse: Path) -> None:
    millis = next(
        row["commit_time"]
        for row in rows(engine, "SELECT * FROM shop.`orders$snapshots` WHERE snapshot_id = 2")
    )
    then = [{"n": 5}]
    for option in (
        "'scan.snapshot-id'='2'",
        "'scan.version'='2'",
        f"'scan.timestamp'='{millis}'",
        f"'scan.timestamp-millis'='{round(millis.timestamp() * 1000)}'",
    ):
        answer = ask(engine, f"SELECT count(*) AS n FROM shop.orders /*+ OPTIONS({option}) */ AS o")
        assert answer.rows == then, answer.end
        assert rows(engine, f"SELECT /*+ OPTIONS({option}) */ count(*) AS n FROM shop.orders") == then
        assert rows(engine, f"SELECT count(*) AS n FROM shop.orders WITH ({option})") == then
    joined = (
        "SELECT count(*) AS n FROM shop.orders /*+ OPTIONS('scan.snapshot-id'='2') */ AS was "
        "RIGHT JOIN shop.orders now ON was.order_id = now.order_id WHERE was.order_id IS NULL"
    )
    assert rows(engine, joined) == [{"n": 3}]
    assert (
        ", for scan.snapshot-id 'snapshot.2'"
        in ask(engine, "EXPLAIN SELECT * FROM shop.orders /*+ OPTIONS('scan.snapshot-id'='2') */").explained
    )
    # The number of a snapshot is no tag.
    failure = ask(engine, "SELECT * FROM shop.orders /*+ OPTIONS('scan.tag-name'='2') */").failure
    assert "has no tag 2" in failure.message

"""A Spark that Paimark did not start has a warehouse as its catalog, and reads what Paimark itself reads."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import paimark
from paimark.core.cli.main import run
from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.table.layout import TablePath
from tests.actions.acting import context_on, done, planned
from tests.paimon import commit, create_table, open_table
from tests.spark.lake.foreign_spark import ForeignSpark
from tests.wording import about

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("price", pa.float64())])


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keyed rows with expired snapshots, a savepoint and tags, and a table whose main is another branch."""
    place = tmp_path_factory.mktemp("lake")
    for name in ("shop.orders", "shop.replaced"):
        create_table(place, name, SCHEMA, primary_keys=["id"], options={"bucket": "1"})
        for number in range(1, 7):
            rows = pa.table({"id": [1, number], "price": [float(number), 1.0]}, schema=SCHEMA)
            commit(place, name, rows.slice(0 if number > 1 else 1))
    orders, replaced = (paimark.open(place).table(f"shop.{name}") for name in ("orders", "replaced"))
    orders.create_savepoint(snapshot=2)
    orders.create_tag(name="v3", snapshot=3)
    open_table(place, "shop.orders").create_tag("5", 4)
    orders.expire_snapshots(retain_last=2)
    replaced.create_tag(name="before", snapshot=3)
    replaced.create_branch(name="fix", tag="before")
    commit(place, "shop.replaced$branch_fix", pa.table({"id": [99], "price": [9.0]}, schema=SCHEMA))
    replaced.replace_main_branch(name="fix")
    return place


VERSIONS = ("savepoint.1", "snapshot.2", "3", "v3", "5", "snapshot.5", "6", "SNAPSHOT.6", "4")
WRONG = ("savepoint.7", "1", "nothing", "snapshot.1", "../v3", "")


def test_it_reads_what_paimark_reads(foreign_spark: ForeignSpark, lake: Path, is_long: bool) -> None:
    orders = paimark.open(lake).table("shop.orders")
    every = 1 if is_long else 3
    times = [each.commit_time for each in orders.snapshots()] + [each.commit_time for each in orders.tags()]
    times, versions, wrong = times[::every], VERSIONS[::every], WRONG[::every]
    states = [*(orders.at(each) for each in versions), *(orders.at_time(each) for each in times)]
    clauses = [f"VERSION AS OF '{each}'" for each in versions]
    clauses[0] = "/*+ OPTIONS('scan.version' = 'savepoint.1') */"
    # Not all of them are in Spark's own grammar.
    forms = ("TIMESTAMP AS OF timestamp_millis({})", "AS OF TIMESTAMP timestamp_millis({})")
    clauses += [forms[number % 2].format(each) for number, each in enumerate(times)]
    select = "SELECT * FROM lake.shop.{} {} ORDER BY id"
    others = ["orders", "replaced", "`replaced$branch_fix`", "`replaced$branch_main`"]
    queries = [select.format("orders", each) for each in clauses]
    queries += [select.format(each, "") for each in others]
    queries += [
        "SHOW NAMESPACES IN lake",
        "SHOW TABLES IN lake.shop",
        "SELECT * FROM lake.shop.orders$savepoints",
        "SELECT snapshot_id FROM lake.shop.`replaced$snapshots` ORDER BY 1",
        "SELECT tag_name FROM lake.shop.`orders$tags` ORDER BY 1",
        "SELECT price, count(*) AS n FROM lake.shop.orders WHERE id = 1 GROUP BY 1",
        "SELECT branch_name, create_time IS NOT NULL AS made FROM lake.shop.`replaced$branches` ORDER BY 1",
        "SHOW TBLPROPERTIES lake.shop.orders",
    ]
    refused = [select.format("orders", f"VERSION AS OF '{each}'") for each in wrong]
    refused += [
        select.format("orders", "TIMESTAMP AS OF timestamp_millis(1000)"),
        select.format("`orders$branch_none`", ""),
        select.format("`../orders`", ""),
        "SELECT * FROM lake.shop.`orders$savepoints` VERSION AS OF 1",
        "INSERT INTO lake.shop.orders VALUES (1, 1.0)",
        "DELETE FROM lake.shop.orders",
        "DROP TABLE lake.shop.orders",
        "CREATE TABLE lake.shop.mine (id INT)",
        "SELECT * FROM lake.shop.orders FOR SYSTEM_TIME FROM 1 TO 2",
    ]
    before = sorted(path for path in lake.rglob("*"))
    found = foreign_spark.answers(lake, [*queries, *refused], read_only=True)
    assert sorted(path for path in lake.rglob("*")) == before
    for state, clause, rows in zip(states, clauses, found, strict=False):
        assert rows == state.to_arrow().sort_by("id").to_pylist(), clause
    now, main, fix, also_main, spaces, tables, saved, ids, tags, counted, branches, options = found[
        len(clauses) : len(queries)
    ]
    assert now == orders.at().to_arrow().sort_by("id").to_pylist()
    assert main == fix == also_main
    assert {row["id"] for row in main} == {1, 2, 3, 99}
    assert spaces == [{"namespace": "shop"}]
    assert [each["tableName"] for each in tables] == ["orders", "replaced"]
    [savepoint] = orders.savepoints()
    names = ("savepoint_id", "saved_snapshot_id", "schema_id", "save_time", "record_count")
    assert saved == [{name: getattr(savepoint, name) for name in names}]
    assert [each["snapshot_id"] for each in ids] == [
        each.snapshot_id for each in reversed(paimark.open(lake).table("shop.replaced").snapshots())
    ]
    assert [each["tag_name"] for each in tags] == ["5", "savepoint.1", "v3"]
    assert counted == [{"price": 6.0, "n": 1}]
    assert branches == [
        {"branch_name": each.branch_name, "made": True}
        for each in paimark.open(lake).table("shop.replaced").branches()
    ]
    assert {"key": "bucket", "value": "1"} in options and {"key": "primary-key", "value": "id"} in options
    for query, told in zip(refused, found[len(queries) :], strict=True):
        assert isinstance(told, str), query
    assert about("no savepoint 7").search(found[len(queries)])
    assert about("no snapshot 1", "it has 5 to 6").search(found[len(queries) + wrong.index("snapshot.1")])
    assert about("nothing", "old").search(found[len(queries) + len(wrong)])
    assert about("period").search(found[-1]), found[-1]
    assert about("read-only").search(found[-5]), found[-5]
    assert all("`paimark`" in told for told in found[-3:-1]), found[-3:-1]


def test_the_same_text_may_mean_something_else_later(foreign_spark: ForeignSpark, lake: Path) -> None:
    moment, later = "SELECT unix_seconds(TIMESTAMP '2026-05-01 00:00:00') AS s", "SELECT * FROM later"
    asked = [later, "CREATE TEMPORARY VIEW later AS SELECT 1 AS one", later]
    asked += ["SET TIME ZONE 'UTC'", moment, "SET TIME ZONE '+09:00'", moment]
    missing, _, there, _, [first], _, [second] = foreign_spark.answers(lake, asked)
    assert "cannot be found" in missing and there == [{"one": 1}]
    assert first["s"] - second["s"] == 9 * 3600


def test_statements_write_and_change_rows_there(
    foreign_spark: ForeignSpark, tmp_path: Path, is_long: bool
) -> None:
    create_table(tmp_path, "shop.k", SCHEMA, primary_keys=["id"], options={"bucket": "1"})
    days = pa.schema([("id", pa.int32()), ("price", pa.decimal128(6, 2)), ("day", pa.date32())])
    create_table(tmp_path, "shop.a", days, partition_keys=["day"])
    k, a = (paimark.open(tmp_path).table(f"shop.{name}") for name in "ka")
    found = foreign_spark.answers(
        tmp_path,
        [
            "INSERT INTO lake.shop.k SELECT id, id FROM range(6)",
            "UPDATE lake.shop.k SET price = -price WHERE id > 3",
            "MERGE INTO lake.shop.k t USING (SELECT id FROM range(5, 8)) s ON t.id = s.id "
            "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, price) VALUES (s.id, 1)",
            "DELETE FROM lake.shop.k WHERE price = 0",
            # Others commit a row meanwhile: another one, then the same.
            "UPDATE lake.shop.k SET price = others(9) WHERE id = 2",
            "UPDATE lake.shop.k SET price = others(2) WHERE id = 2",
            "INSERT INTO lake.shop.a "
            "VALUES (1, 1, DATE '2026-05-01'), (2, 2, DATE '2026-05-02'), (3, 3, NULL)",
            "INSERT OVERWRITE lake.shop.a PARTITION (day = '2026-05-01') SELECT 4, 4",
            "INSERT OVERWRITE lake.shop.a PARTITION (day = NULL) SELECT 5, 5 WHERE 1 = 0",
            "INSERT INTO lake.shop.a VALUES (6, 6.789, NULL)",
            "DELETE FROM lake.shop.a WHERE day = '2026-05-02'",
            "INSERT OVERWRITE lake.shop.k VALUES (8, 8)",
            "DELETE FROM lake.shop.k",
            "INSERT INTO lake.shop.`k$tags` VALUES (1)",
            "SET spark.sql.storeAssignmentPolicy = LEGACY",
            "INSERT INTO lake.shop.k VALUES (8, 8)",
        ],
    )
    refused = {
        5: "moved rows written",
        9: "hold 6.789",
        13: "system table",
        15: "LEGACY",
    }
    for number, told in enumerate(found):
        assert isinstance(told, str) == (number in refused), (number, told)
        assert about(*refused.get(number, "").split()).search(str(told))
    assert a.at().to_arrow().to_pylist() == [
        {"id": 4, "price": Decimal("4.00"), "day": date(2026, 5, 1)},
    ]
    assert k.at().to_arrow().num_rows == 0
    logged = [(each.action, each.summary.partition(": ")[2]) for each in k.operations()]
    assert logged == [
        ("write", "6 records added"),
        ("update", "2 rows updated"),
        ("merge-into", "1 row deleted, 2 rows inserted"),
        ("delete-from", "1 row deleted"),
        ("update", "1 row updated"),
        ("overwrite", "1 record added, 15 records removed"),
        ("delete-from", "files with 1 record taken away"),
    ]
    table = TablePath("shop", "k")
    plan = planned(context_on(tmp_path), "undo", table=table)
    taken = ("delete-from", "snapshot 9", "main of shop.k", "snapshot 8")
    assert about("take back", *taken).search(plan.headline) and not plan.refusals
    if not is_long:
        # It would start one more Spark. `tests.actions.undo` and `tests.spark.library.test_row_changes` take
        # such changes back with the suite's.
        return
    with closing(Engine(Settings(str(tmp_path)), tmp_path / "engine.log")) as engine:
        context = replace(context_on(tmp_path), engine=lambda: engine)
        for _ in range(2):
            done(context, "undo", table=table)
    prices = {row["id"]: row["price"] for row in k.at().to_arrow().to_pylist()}
    assert prices == {1: 1.0, 2: 0.5, 3: 3.0, 4: -4.0, 6: 1.0, 7: 1.0, 9: 0.5}


def test_the_command_prints_the_settings(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["jars", "catalog", "mine", "--warehouse", str(lake)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"--conf spark.sql.catalog.mine.warehouse=file:{lake}" in lines
    assert len(lines) == len(paimark.open(lake).spark_settings()) == 5
    for wrong in (["a b"], ["a", "b"]):
        assert run(["jars", "catalog", *wrong, "--warehouse", str(lake)]) == 2

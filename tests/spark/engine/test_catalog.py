"""Our own catalog in Spark: it finds tables as they are written, in databases of any name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.settings import CATALOG_NAME
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask, in_order, rows

COUNTS = [
    ("SELECT count(SHOP.ORDERS.price) AS n FROM shop.orders VERSION AS OF 1", 4),
    ("SELECT count(*) AS n FROM (TABLE orders VERSION AS OF 1 ORDER BY orders.price)", 4),
    ("SELECT count(orders$snapshots.snapshot_id) AS n FROM orders$snapshots JOIN orders$tags t", 5),
    ("SELECT count(*) AS n FROM shop.orders VERSION AS OF 1 WHERE shop.orders.price > 0", 4),
    # One table at two places, each with its own condition.
    ("SELECT count(*) AS n FROM orders a, orders b WHERE a.order_id = 2 AND b.order_id IN (3, 4)", 2),
    # Plans of two tables that differ by nothing but the table.
    ("SELECT (SELECT count(*) FROM orders VERSION AS OF 1) + (SELECT count(*) FROM orders) AS n", 12),
    (
        "WITH q AS (TABLE orders VERSION AS OF 1), orders AS (SELECT 1) SELECT count(*) AS n FROM q, orders",
        4,
    ),
    ("SELECT /*+ BROADCAST(shop.events) */ count(*) AS n FROM orders VERSION AS OF 1, shop.events", 24),
    ("SELECT count(*) AS n FROM orders TABLESAMPLE (1 ROWS) WHERE current_schema() = 'shop'", 1),
]


@pytest.mark.parametrize(("sql", "count"), COUNTS)
def test_columns_are_found_by_their_tables(engine: Engine, sql: str, count: int) -> None:
    assert rows(engine, sql, database="shop") == [{"n": count}]


def test_a_view_keeps_its_versions_and_goes(engine: Engine) -> None:
    query = "SELECT o.price, orders.customer FROM orders VERSION AS OF 1 o JOIN orders USING (order_id)"
    assert ask(engine, f"CREATE OR REPLACE TEMP VIEW kept AS {query}", database="shop").finish
    assert ask(engine, "CREATE TEMP VIEW upon AS SELECT price FROM kept", database="shop").finish
    assert ask(engine, "CACHE TABLE cached AS TABLE orders VERSION AS OF 2", database="shop").finish
    # Without a database: the view knows its own.
    assert in_order(rows(engine, "TABLE kept")) == in_order(rows(engine, query, database="shop"))
    assert len(rows(engine, "SELECT k.price FROM upon, kept k")) == 16
    assert len(rows(engine, "TABLE cached")) == 5
    for view in ("upon", "kept", "cached"):
        assert ask(engine, f"DROP VIEW {view}").finish
    assert "cannot be found" in ask(engine, "SELECT * FROM kept", database="shop").failure.message


def test_a_view_follows_its_table_and_rows_that_are_kept_stay(engine: Engine, engine_warehouse: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    create_table(engine_warehouse, "followed.t", schema)
    commit(engine_warehouse, "followed.t", pa.table({"id": [1, 2]}, schema))
    for made in ("CREATE TEMP VIEW follows AS", "CACHE TABLE stays AS"):
        query = "SELECT id, max(t.id) OVER () AS m FROM t AS OF TIMESTAMP now() + INTERVAL 1 DAY"
        assert ask(engine, f"{made} {query}", database="followed").finish
    commit(engine_warehouse, "followed.t", pa.table({"id": [3]}, schema))
    assert rows(engine, "SELECT count(*) AS n, max(m) AS m FROM follows a") == [{"n": 3, "m": 3}]
    assert rows(engine, "SELECT count(*) AS n FROM stays JOIN follows USING (id)") == [{"n": 2}]
    # Each view's text is parsed with the database that it was made in.
    assert ask(engine, "CREATE TEMP VIEW other AS SELECT * FROM orders", database="shop").finish
    assert ask(engine, "CREATE TEMP VIEW same AS SELECT * FROM t", database="followed").finish
    both = ask(engine, "SELECT count(*) AS n FROM other, same, follows WHERE same.id < 2", database="shop")
    assert both.rows == [{"n": 24}]
    assert [each.table for each in both.readings] == ["shop.orders", "followed.t", "followed.t"]
    shutil.rmtree(engine_warehouse / "followed.db")
    gone = ask(engine, "SELECT * FROM\n same").failure
    # A place in the view's text is none in the statement.
    assert gone.message == "The table or view `t` cannot be found" and gone.position is None
    for view in ("follows", "stays", "other", "same"):
        assert ask(engine, f"DROP VIEW {view}").finish


@pytest.mark.parametrize("sql", ["DESCRIBE shop.orders VERSION AS OF 1", "DESC TABLE shop.orders$snapshots"])
def test_a_table_is_described_as_it_was(engine: Engine, sql: str) -> None:
    assert "order_id" in str(rows(engine, sql)) or "snapshot_id" in str(rows(engine, sql))


@pytest.mark.long
@pytest.mark.parametrize("database", [CATALOG_NAME, "spark_catalog", "parquet", "system", "session"])
def test_a_database_may_be_called_as_a_catalog(
    engine: Engine, engine_warehouse: Path, warehouse_template: Path, database: str
) -> None:
    shutil.copytree(warehouse_template / "shop.db", engine_warehouse / f"{database}.db", dirs_exist_ok=True)
    sql = f"SELECT count(events.kind) AS n, count({database}.orders.price) AS m FROM {database}.orders"
    joined = f"{sql} VERSION AS OF 1 JOIN {database}.events"
    for chosen in (None, "shop", database):
        assert rows(engine, joined, database=chosen) == [{"n": 16, "m": 24}]


def test_another_catalog_is_left_again(engine: Engine) -> None:
    assert ask(engine, "SET CATALOG spark_catalog").finish
    assert rows(engine, "SELECT count(*) AS n FROM orders VERSION AS OF 1", database="shop") == [{"n": 4}]

"""Statements give the same with Paimark's own catalog in Spark as with temporary views."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import CATALOG, DEFAULTS, WARM_UP
from paimark.core.spark.launch.settings import CATALOG_NAME
from tests.spark.engine_fixture import ask, in_order, rows

# Every other test of statements has the catalog. This one needs a second engine, for what it replaces.
pytestmark = pytest.mark.long

QUERIES = [
    "SELECT * FROM shop.orders",
    "SELECT shop.orders.price, orders.customer FROM shop.orders VERSION AS OF 2 WHERE ORDERS.order_id > 1",
    "SELECT o.price FROM orders FOR SYSTEM_VERSION AS OF 'v2' o",
    "SELECT price FROM orders AS OF TIMESTAMP '2100-01-01 00:00:00' ORDER BY price LIMIT 2",
    "SELECT count(*) FROM orders FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP - INTERVAL '0' SECOND AS o",
    "SELECT /*+ OPTIONS('scan.snapshot-id' = '1') */ orders.price FROM orders",
    "SELECT o.price FROM orders/*+ OPTIONS('scan.tag-name' = 'v2') */AS o",
    "SELECT orders.price FROM orders WITH ('scan.version' = '1')",
    "SELECT a.price, b.price FROM orders VERSION AS OF 1 a JOIN orders VERSION AS OF 3 b USING (order_id)",
    # One table at two places, each with its own condition.
    "SELECT a.price, b.price FROM orders a, orders b WHERE a.order_id = 2 AND b.order_id = 3",
    "SELECT a.order_id FROM orders a WHERE a.price > (SELECT avg(b.price) FROM shop.orders b)",
    "SELECT (SELECT count(*) FROM orders) AS a, (SELECT max(order_id) FROM orders) AS b",
    # Plans of two tables that differ by nothing but the table.
    "SELECT (SELECT max(price) FROM orders VERSION AS OF 1), (SELECT min(price) FROM orders VERSION AS OF 2)",
    "SELECT count(*) AS n FROM orders UNION ALL SELECT order_id FROM orders",
    "SELECT count(*) AS n FROM orders UNION ALL SELECT count(*) FROM orders VERSION AS OF 1",
    "WITH q AS (SELECT * FROM orders VERSION AS OF 4), orders AS (SELECT 1 AS one) SELECT * FROM q, orders",
    "SELECT o.price, l.kind FROM orders o, LATERAL (SELECT kind FROM events e WHERE e.kind > o.customer) l",
    "SELECT customer, rank() OVER (PARTITION BY customer ORDER BY price) AS r FROM orders VERSION AS OF 3",
    "SELECT /*+ BROADCAST(shop.events) */ count(*) FROM orders, shop.events WHERE customer < kind",
    "TABLE orders",
    "TABLE orders VERSION AS OF 1 ORDER BY price",
    "FROM orders VERSION AS OF 1 SELECT price",
    "FROM orders VERSION AS OF 2 |> WHERE price > 12 |> SELECT customer",
    "SELECT file_path IS NULL AS gone FROM orders$files VERSION AS OF 1",
    "SELECT `orders$snapshots`.snapshot_id FROM orders$snapshots JOIN shop.`orders$tags` USING (snapshot_id)",
    "SELECT current_schema() = 'shop' AS here FROM orders TABLESAMPLE (1 ROWS)",
    "SELECT 'orders$x' AS `a$b` FROM orders VERSION AS OF 1 LIMIT 1",
    "SELECT count(*) FROM VALUES (1), (2)",
]
# What views can't: they have no database, so names of columns had to be written again.
ONLY_WITH_CATALOG = [
    ("SELECT count(SHOP.ORDERS.price) AS n FROM shop.orders VERSION AS OF 1", {"n": 4}),
    ("SELECT count(*) AS n FROM (TABLE orders VERSION AS OF 1 ORDER BY orders.price)", {"n": 4}),
    ("SELECT count(orders$snapshots.snapshot_id) AS n FROM orders$snapshots JOIN orders$tags t", {"n": 5}),
    ("SELECT count(*) AS n FROM shop.orders VERSION AS OF 1 WHERE shop.orders.price > 0", {"n": 4}),
]
FAULTS = [
    "SELECT * FROM shop.ordrs",
    "SELECT * FROM nowhere",
    "SELECT nix FROM orders VERSION AS OF 2",
    "SELECT * FROM orders VERSION AS OF 99",
    "SELECT * FROM orders o VERSION AS OF 1",
    "SELECT * FROM orders FOR SYSTEM_TIME AS OF price",
    "SELECT * FROM orders FOR SYSTEM_TIME FROM 1 TO 2",
    "SELECT price FROM orders VERSION AS OF 1 WHERE order_id = = 2",
    "SELECT * FROM a.b.c",
    "SELECT * FROM parquet.`/nowhere/at/all`",
    "CREATE TABLE made (a INT)",
    "DROP TABLE nowhere",
]


@pytest.fixture(scope="module")
def other(engine_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine with the other value of the setting."""
    value = "off" if DEFAULTS[CATALOG] == "on" else "on"
    conf = {CATALOG: value, WARM_UP: "off", "spark.driver.memory": "1g"}
    settings = Settings(str(engine_warehouse), spark_master="local[2]", spark_conf=conf)
    engine = Engine(settings, tmp_path_factory.mktemp("log") / "engine.log")
    engine.start()
    yield engine
    engine.close()


@pytest.mark.parametrize("sql", QUERIES)
def test_rows_are_the_same(engine: Engine, other: Engine, sql: str) -> None:
    one, another = (ask(each, sql, database="shop") for each in (engine, other))
    assert (one.finish.rows, in_order(one.rows)) == (another.finish.rows, in_order(another.rows))
    assert [(each.table, each.version) for each in one.readings] == [
        (each.table, each.version) for each in another.readings
    ]


@pytest.mark.parametrize(("sql", "expected"), ONLY_WITH_CATALOG)
def test_columns_are_found_by_their_tables(
    engine: Engine, other: Engine, sql: str, expected: dict[str, int]
) -> None:
    with_catalog = engine if DEFAULTS[CATALOG] == "on" else other
    assert rows(with_catalog, sql, database="shop") == [expected]


@pytest.mark.parametrize("sql", FAULTS)
def test_faults_are_told_in_the_same_words(engine: Engine, other: Engine, sql: str) -> None:
    one, another = (ask(each, sql, database="shop").failure for each in (engine, other))
    assert (one.message, one.hint, one.position) == (another.message, another.hint, another.position)


def test_a_view_keeps_its_versions_and_goes(engine: Engine, other: Engine) -> None:
    for each in (engine, other):
        query = "SELECT o.price, orders.customer FROM orders VERSION AS OF 1 o JOIN orders USING (order_id)"
        assert ask(each, f"CREATE OR REPLACE TEMP VIEW kept AS {query}", database="shop").finish
        assert ask(each, "CREATE TEMP VIEW upon AS SELECT price FROM kept", database="shop").finish
        assert ask(each, "CACHE TABLE cached AS TABLE orders VERSION AS OF 2", database="shop").finish
    for sql in ("SELECT * FROM kept", "SELECT k.price FROM upon, kept k", "TABLE cached", "SHOW VIEWS"):
        # Without a database: the view knows its own.
        assert in_order(rows(engine, sql)) == in_order(rows(other, sql)), sql
    for each in (engine, other):
        for view in ("upon", "kept", "cached"):
            assert ask(each, f"DROP VIEW {view}").finish
        assert "cannot be found" in ask(each, "SELECT * FROM kept", database="shop").failure.message


def test_a_plan_is_shown(engine: Engine, other: Engine) -> None:
    sql = "EXPLAIN EXTENDED SELECT o.price FROM orders VERSION AS OF 2 o JOIN orders USING (order_id)"
    for each in (engine, other):
        shown = ask(each, sql, database="shop").explained
        assert shown.count("scan: native shop.orders at") == 2
        assert "__paimark" not in shown


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

"""What is not supported is refused by its name, with what to use instead; names get a hint."""

from __future__ import annotations

import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed
from paimark.core.statements.run import context_for, run_statement
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.statements.refused import unsupported
from tests.spark.engine_fixture import ask, rows
from tests.wording import about


@pytest.mark.parametrize(
    ("sql", "refused"),
    [
        ("DELETE FROM shop.orders", "DELETE"),
        ("WITH a AS (SELECT 1) UPDATE shop.orders SET a = 1", "UPDATE"),
        ("UPDATE shop.orders SET price = 1", "UPDATE"),
        ("MERGE INTO shop.orders o USING shop.orders n ON true WHEN MATCHED THEN DELETE", "MERGE"),
        ("CREATE OR REPLACE TABLE shop.n (a INT)", "CREATE TABLE"),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", "CREATE VIEW"),
        ("REFRESH shop.orders", "REFRESH"),
        ("-- a comment\ndrop function f", "DROP FUNCTION"),
    ],
)
def test_a_refusal_names_the_statement_and_what_to_use(sql: str, refused: str) -> None:
    error = unsupported(read_statement(sql))
    assert about(refused).search(error.message)
    assert error.hint.endswith(".")


@pytest.mark.parametrize(
    ("sql", "message", "hint"),
    [
        ("CREATE OR REPLACE TABLE shop.n (a INT)", "CREATE TABLE", "DROP TABLE"),
        ("CREATE VIEW v AS SELECT 1", "CREATE VIEW", "WITH v AS"),
        ("DESCRIBE HISTORY shop.orders", "DESCRIBE HISTORY", "t$snapshots"),
        ("OPTIMIZE shop.orders", "OPTIMIZE", "CALL sys.compact"),
        ("EXPLAIN DELETE FROM shop.orders", "EXPLAIN DELETE query", ""),
        ("SELECT input_file_name() FROM shop.orders", "input_file_name()", "t$files"),
        ("SELEC 1", "syntax error 'SELEC'", ""),
        ("USE x.y", "no database x.y", "one part"),
        ("SHOW TABLES IN a.b", "no database a.b", "one part"),
        ("SHOW TABLES IN global_temp", "no database global_temp", ""),
        ("SHOW TABLES IN shop r'o*'", "SHOW TABLES", "LIKE 'o*'"),
        ("SELECT * FROM `..`.orders", "no table `..`.orders", "SHOW TABLES"),
        ("SELECT * FROM `shop/../shop`.orders", "no table `shop/../shop`.orders", "SHOW TABLES"),
        ("SELECT * FROM Shop.ORDERS", "view cannot found", "shop.orders?"),
        ("SELECT * FROM `shop.orders`", "view cannot found", "shop.orders?"),
        ("DESCRIBE EXTENDED shop.orders", "DESCRIBE EXTENDED", "SHOW CREATE TABLE"),
        (
            "ANALYZE TABLES IN shop COMPUTE STATISTICS",
            "ANALYZE TABLES",
            "ANALYZE TABLE db.t",
        ),
        (
            "SELECT * FROM shop.orders.snapshots",
            "no table shop.orders.snapshots",
            "orders$snapshots",
        ),
        ("SELECT * FROM shop.SavepointsTable", "no table shop.SavepointsTable", "`t$savepoints`"),
        ("SELECT * FROM SavepointsTable", "view cannot found", "`t$savepoints`"),
        ("SELECT * FROM x.shop.orders", "no table x.shop.orders", "shop.orders?"),
        ("SELECT * FROM spark_catalog.shop.orders", "no table", "shop.orders?"),
        ("DESCRIBE a.b.c.`d;`", "no table a.b.c.`d;`", "SHOW TABLES"),
        ("SELECT * FROM `a/b`.`../x`.orders", "no table `a/b`.`../x`.orders", "SHOW TABLES"),
    ],
)
def test_spark_has_no_say_in_it(engine: Engine, sql: str, message: str, hint: str) -> None:
    *_, end = run_statement(context_for(engine), sql)
    assert isinstance(end, Failed)
    assert about(*message.split()).search(end.message)
    assert hint in end.hint


def test_a_system_table_of_the_current_database_is_meant(engine: Engine) -> None:
    failure = ask(engine, "SELECT * FROM orders.snapshots", database="shop").failure
    assert "`orders$snapshots`" in failure.hint


def test_default_among_the_values_is_refused(engine: Engine) -> None:
    *_, end = run_statement(context_for(engine), "INSERT INTO shop.events VALUES ('2026-05-03', default)")
    assert isinstance(end, Failed) and end.position == 46
    assert about("DEFAULT", "values", "INSERT").search(end.message)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        # As Spark names it.
        ("SELECT current_database()", {"current_schema()": "shop"}),
        ("SELECT 1 AS a, CURRENT_SCHEMA ( )", {"a": 1, "current_schema()": "shop"}),
        ("SELECT current_database() AS d FROM orders LIMIT 1", {"d": "shop"}),
        ("SELECT concat('a', current_database(), 'b') AS c", {"c": "ashopb"}),
        ("SELECT count(*) > 0 AS c FROM orders WHERE current_schema() = 'shop'", {"c": True}),
        ("SELECT 'current_database()' AS text", {"text": "current_database()"}),
        ("SELECT d FROM (SELECT DISTINCT current_database() FROM orders) AS t (d)", {"d": "shop"}),
    ],
)
def test_the_current_database_is_ours(engine: Engine, sql: str, expected: dict[str, object]) -> None:
    assert rows(engine, sql, database="shop") == [expected]


def test_the_current_database_is_null_if_none_was_chosen(engine: Engine) -> None:
    rows(engine, "SELECT 1", database="shop")
    assert rows(engine, "SELECT current_database() AS d") == [{"d": None}]


def test_use_changes_the_current_database(engine: Engine) -> None:
    assert ask(engine, "USE shop", database="nowhere").finish
    assert rows(engine, "SELECT current_schema() AS d", database="nowhere") == [{"d": "shop"}]


def test_a_name_of_a_database_is_only_a_text(engine: Engine) -> None:
    hostile = "a' OR '\\x`"
    assert rows(engine, "SELECT current_database() AS d", database=hostile) == [{"d": hostile}]

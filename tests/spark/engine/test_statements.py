"""What the engine answers, refuses and says: sentences with a place, no Java, no names of ours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed, Finished
from paimark.core.statements.run import context_for, run_statement
from tests.spark.engine_fixture import ODD_SETTING, ask, in_order, rows
from tests.wording import about


@pytest.mark.parametrize(
    ("sql", "sentence", "place"),
    [
        ("SELECT nix FROM shop.orders VERSION AS OF 2", "`nix` cannot be resolved", "nix"),
        (
            "SELECT '\N{GRINNING FACE}' AS \N{GRINNING FACE}x, nix FROM shop.orders",
            "\N{GRINNING FACE}",
            "\N{GRINNING FACE}x",
        ),
        (
            "SELECT '\N{GRINNING FACE}', shop.orders.nix\nFROM shop.orders VERSION AS OF 'v2' LIMIT 1",
            "cannot be resolved",
            "shop.orders.nix",
        ),
        ("SELECT *\nFROM shop.orders VERSION AS OF 1\nWHERE order_id = = 2", "Syntax error", "= 2"),
        ("SELECT * FROM shop.ordrs", "no table shop.ordrs", "shop.ordrs"),
        ("SELECT * FROM nowhere", "`nowhere` cannot be found", "nowhere"),
        ("SELECT price / 0 FROM shop.orders WHERE order_id = 1", "Division by zero", "price / 0"),
        ("SELECT * FROM shop.`orders$snapshots` VERSION AS OF 1", "has no past", "VERSION"),
        ("SELECT * FROM shop.orders VERSION AS OF 99", "no version '99'", "shop.orders"),
    ],
)
def test_an_error_is_a_sentence_with_its_place(engine: Engine, sql: str, sentence: str, place: str) -> None:
    failure = ask(engine, sql).failure
    assert about(*sentence.split()).search(failure.message)
    assert "\n" not in failure.message
    for stranger in ("org.apache", "__paimark", "SQLSTATE", "== SQL", "java", "Traceback"):
        assert stranger not in failure.message + failure.hint
    assert failure.cause == "statement"
    if failure.position is None:
        pytest.fail(f"no place for {failure.message}")
    assert sql[failure.position :].startswith(place)


def test_empty_arrays_and_maps_of_no_type_are_rows_like_others(engine: Engine) -> None:
    answer = ask(
        engine, "SELECT array() AS a, map() AS m, named_struct('x', array(), 'y', 1) AS s, NULL AS n"
    )
    assert isinstance(answer.end, Finished), answer.end
    assert answer.rows == [{"a": [], "m": [], "s": {"x": [], "y": 1}, "n": None}]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO shop.orders SELECT * FROM shop.orders",
        "WITH x AS (SELECT 1) INSERT INTO shop.orders SELECT * FROM x",
        "FROM shop.orders INSERT INTO a SELECT 1 INSERT INTO b SELECT 2",
        "INSERT OVERWRITE DIRECTORY '{0}/out' USING parquet SELECT 1",
        "DELETE FROM shop.orders",
        "CREATE TABLE parquet.`{0}/out` AS SELECT 1",
        "CREATE TABLE t USING parquet LOCATION '{0}/out' AS SELECT 1",
        "TRUNCATE TABLE shop.orders",
        "DROP TABLE shop.orders",
        "EXECUTE IMMEDIATE 'DROP TABLE shop.orders'",
        "BEGIN INSERT INTO shop.orders SELECT 1; END",
        "/* /*+ */ INSERT OVERWRITE DIRECTORY '{0}/out' USING parquet SELECT 1 /* */ -- */ SELECT 1",
    ],
)
def test_what_writes_is_refused_and_writes_nothing(engine: Engine, tmp_path: Path, sql: str) -> None:
    failure = ask(engine, sql.format(tmp_path)).failure
    assert failure.cause == "statement"
    assert "not supported here" in failure.message
    assert not list(tmp_path.iterdir())


def test_a_write_in_a_variable_is_no_query(engine: Engine, tmp_path: Path) -> None:
    assert ask(engine, f"SET hidden.write = INSERT OVERWRITE DIRECTORY '{tmp_path}/out' USING parquet").finish
    failure = ask(engine, "FROM (SELECT 1) ${hidden.write} SELECT 1").failure
    assert "not supported here" in failure.message
    assert ask(engine, "RESET hidden.write").finish
    assert not list(tmp_path.iterdir())


def test_a_temporary_view_keeps_the_version_it_was_made_of(engine: Engine) -> None:
    rows(engine, "CREATE TEMPORARY VIEW early AS SELECT * FROM shop.orders VERSION AS OF 1")
    assert rows(engine, "SELECT count(*) AS n FROM early") == [{"n": 4}]
    shown = rows(engine, "SHOW TABLES IN shop")
    # Temporary views and tables of other tests may be there as well.
    assert {row["tableName"] for row in shown if not row["isTemporary"]} >= {"events", "orders"}
    assert "early" in [row["tableName"] for row in shown if row["isTemporary"]]
    # A name without a database is the view's, where there is one.
    rows(engine, "CREATE TEMPORARY VIEW events AS SELECT 1 AS one")
    assert rows(engine, "SELECT * FROM events", database="shop") == [{"one": 1}]
    rows(engine, "DROP VIEW events")
    rows(engine, "DROP VIEW early")


def test_names_without_a_database_are_in_the_current_one(engine: Engine) -> None:
    assert "nowhere" not in ask(engine, "SELECT count(*) FROM orders", database="shop").explained
    assert rows(engine, "SELECT count(*) AS n FROM events", database="shop") == [{"n": 6}]
    # Other tests have tables of this name, too.
    hint = ask(engine, "SELECT * FROM events").failure.hint
    assert ".events" in hint and "SHOW TABLES" not in hint
    assert ask(engine, "SELECT * FROM nowhere").failure.hint.startswith("SHOW TABLES")
    assert about("database", "shop").search(ask(engine, "USE shop").finish.message)
    assert rows(engine, "SELECT count(*) AS n FROM events") == [{"n": 6}]
    assert ask(engine, "USE nix").failure.position == len("USE ")
    # Another database than the last time: what USE chose is over.
    assert ask(engine, "SELECT * FROM events", database="nix").failure
    assert ask(engine, "SELECT * FROM events").failure


def test_databases_and_tables_are_listed(engine: Engine) -> None:
    assert {"namespace": "shop"} in rows(engine, "SHOW DATABASES;")
    # Other tests have databases here, too.
    found = {row["namespace"] for row in rows(engine, "show schemas like 'sho*'")}
    assert "shop" in found and all(name.startswith("sho") for name in found)
    shown = rows(engine, "SHOW TABLES LIKE 'ord*'", database="shop")
    assert shown == [{"namespace": "shop", "tableName": "orders", "isTemporary": False}]
    assert "SHOW TABLES IN" in ask(engine, "SHOW TABLES").failure.hint
    columns = rows(engine, "DESCRIBE shop.orders")
    assert [row["col_name"] for row in columns] == ["order_id", "customer", "price"]


def test_explain_begins_with_how_each_table_is_read(engine: Engine) -> None:
    sql = """EXPLAIN SELECT * FROM shop.orders VERSION AS OF 'v2' a
             JOIN shop.events e ON a.customer = e.kind WHERE a.price > 1"""
    answer = ask(engine, sql)
    first, second, blank, *_ = answer.explained.split("\n")
    assert first.startswith("scan: native shop.orders")
    assert "shop.orders at v2 (snapshot.2), " in first and first.endswith("for VERSION AS OF 'v2'")
    assert second.startswith("scan: native ") and "shop.events at snapshot.2" in second
    assert blank == "" and "== Physical Plan ==" in answer.explained
    assert "__paimark" not in answer.explained


def test_settings_arrive_as_they_were_given(engine: Engine) -> None:
    assert rows(engine, "SET spark.odd.setting")[0]["value"] == ODD_SETTING
    assert rows(engine, "SET spark.driver.memory")[0]["value"] == "1g"


def test_rows_are_read_in_the_types_that_java_sends(engine: Engine) -> None:
    """Read by the other ones, memory that is not theirs is: the process ended, without a word."""
    setting = "spark.sql.execution.arrow.useLargeVarTypes"
    sql = "SELECT customer, encode(customer, 'UTF-8') AS bytes, array(customer) AS list FROM shop.orders"
    expected = in_order(rows(engine, sql))
    try:
        assert ask(engine, f"SET {setting}=true").finish
        # Few rows are collected; the many come through an outlet.
        assert in_order(rows(engine, sql)) == expected
        many = rows(engine, "SELECT cast(id AS STRING) AS text FROM range(50000)")
        assert sum(int(row["text"]) for row in many) == sum(range(50000))
    finally:
        assert ask(engine, f"RESET {setting}").finish
    assert in_order(rows(engine, sql)) == expected


@pytest.mark.long
def test_nothing_is_written_where_the_user_stands(
    mortal: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mortal.close()
    rows(mortal, "SELECT count(*) FROM shop.orders")
    rows(mortal, "CACHE TABLE small AS SELECT * FROM shop.events")
    assert os.listdir(tmp_path) == []


def test_a_call_needs_no_spark(engine_warehouse: Path, tmp_path: Path) -> None:
    unused = Engine(Settings(str(engine_warehouse)), tmp_path / "engine.log")
    (refused,) = run_statement(
        context_for(unused), "CALL sys.create_tag(table => 'shop.orders', tagg => 'x')"
    )
    assert isinstance(refused, Failed) and refused.position is not None
    (failed,) = run_statement(context_for(unused), "SELECT * FROM shop.nothing")
    assert isinstance(failed, Failed) and failed.position == 14
    assert unused.state == "stopped"

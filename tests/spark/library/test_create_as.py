"""CREATE TABLE AS: the columns and rows of a query, TRUNCATE, and what is left if it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.context import Progress
from paimark.core.actions.plan import Plan
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed, Finished
from paimark.core.statements.run import CallMode, context_for, run_statement
from tests.spark.engine_fixture import rows
from tests.wording import about


@pytest.fixture(autouse=True)
def database(engine_warehouse: Path) -> None:
    """Other tests list what is in `shop`."""
    (engine_warehouse / "made.db").mkdir(exist_ok=True)


def run(engine: Engine, sql: str, tell: Progress = lambda line: None) -> Finished | Failed:
    *_, end = run_statement(
        context_for(engine), sql, call=CallMode(agree=lambda action, plan: None, tell=tell)
    )
    assert isinstance(end, Finished | Failed)
    return end


def test_a_table_of_a_query_is_made_filled_and_emptied(engine: Engine) -> None:
    made = run(
        engine,
        "CREATE TABLE made.copied PARTITIONED BY (`a day`) TBLPROPERTIES ('bucket' = '-1') AS\n"
        "WITH x AS (SELECT * FROM shop.orders VERSION AS OF 2)\n"
        "SELECT order_id AS id, DATE'2026-05-01' AS `a day`, array(price) AS prices FROM x",
    )
    assert isinstance(made, Finished) and made.message.startswith("Created made.copied. Committed snapshot 1")
    copied = rows(engine, "SELECT id, `a day`, prices[0] AS price FROM made.copied ORDER BY id")
    then = "SELECT order_id AS id, DATE'2026-05-01' AS `a day`, price FROM shop.orders VERSION AS OF 2"
    asked = rows(engine, f"{then} ORDER BY id")
    assert copied == asked != []
    plans: list[Plan] = []
    agrees = CallMode(agree=lambda action, plan: plans.append(plan))
    *_, end = run_statement(context_for(engine), "TRUNCATE TABLE made.copied", call=agrees)
    assert isinstance(end, Finished) and plans[0].headline == "Empty main of made.copied."
    assert rows(engine, "SELECT count(*) AS n FROM made.copied") == [{"n": 0}]


def test_a_query_that_fails_leaves_no_table_or_an_empty_one(engine: Engine) -> None:
    sql = "CREATE TABLE made.failed AS SELECT nix FROM shop.orders"
    end = run(engine, sql)
    assert isinstance(end, Failed) and end.position is not None
    assert sql[end.position :].startswith("nix")
    assert rows(engine, "SHOW TABLES IN made LIKE 'failed'") == []
    told: list[str] = []
    end = run(engine, "CREATE TABLE made.failed AS SELECT CAST(raise_error('no') AS INT) AS a", told.append)
    assert isinstance(end, Failed)
    assert any(about("made.failed", "without rows", "INSERT INTO").search(each) for each in told)
    assert rows(engine, "SELECT count(*) AS n FROM made.failed") == [{"n": 0}]

"""Stock Paimon writes to a table that Paimark made, and does not find one that it dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.plan import Outcome
from paimark.core.errors import StatementFailed
from paimark.core.statements.run import action_call
from paimark.core.table.catalog import find_table
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.travel.parse.sql import read_statement
from tests.actions.acting import context_on
from tests.interop.judge import Judge, JudgeError, Row
from tests.wording import about

_MADE = """CREATE TABLE shop.made (
    id BIGINT NOT NULL, day STRING, price DECIMAL(10, 2) COMMENT 'net'
) COMMENT 'prices' PARTITIONED BY (day) TBLPROPERTIES ('primary-key' = 'id,day', 'bucket' = '2')"""


def run(warehouse: Path, sql: str) -> Outcome:
    """Plan and apply a statement on a whole table."""
    context = context_on(warehouse)
    called, _ = action_call(read_statement(sql), None)
    table = called.action.table(context.files, called.table.full_name)
    plan = called.action.plan(context, table, called.arguments)
    assert plan.refusals == ()
    return called.action.apply(context, plan, lambda line: None)


def test_it_is_made_written_dropped_and_comes_back(judge: Judge, warehouse: Path) -> None:
    run(warehouse, _MADE)
    run(warehouse, "CREATE TABLE shop.other LIKE shop.made")
    schemas = [
        Lineage(context_on(warehouse).files, TablePath("shop", name).root()).require_schema()
        for name in ("made", "other")
    ]
    assert [each.primary_keys for each in schemas] == [["id", "day"]] * 2
    assert [each.partition_keys for each in schemas] == [["day"]] * 2
    assert schemas[0].fields == schemas[1].fields and schemas[0].comment == "prices"
    assert [str(each.type) for each in schemas[0].fields][:2] == ["BIGINT NOT NULL", "STRING NOT NULL"]
    rows: list[Row] = [{"id": 1, "day": "a", "price": "2.50"}]
    judge.write(warehouse, "shop.made", rows)
    before = judge.read(warehouse, "shop.made")
    assert len(before) == 1
    run(warehouse, "DROP TABLE shop.made")
    with pytest.raises(JudgeError):
        judge.read(warehouse, "shop.made")
    run(warehouse, "UNDROP TABLE shop.made")
    assert judge.read(warehouse, "shop.made") == before
    run(warehouse, "ALTER TABLE shop.made RENAME TO renamed")
    assert judge.read(warehouse, "shop.renamed") == before
    judge.write(warehouse, "shop.renamed", [{**rows[0], "id": 2}])
    judge.compact(warehouse, "shop.renamed")
    assert len(judge.read(warehouse, "shop.renamed")) == 2


# Each is a Java process of its own.
@pytest.mark.parametrize(
    ("sql", "reason", "place"),
    [
        ("CREATE TABLE shop.x (a INT,, b INT)", "syntax error ','", ", b INT)"),
        pytest.param(
            "CREATE TABLE shop.x (a INT) LOCATION '/x'",
            "LOCATION",
            "",
            marks=pytest.mark.long,
        ),
        ("CREATE TABLE shop.x (a INT DEFAULT 1)", "DEFAULT", ""),
        pytest.param(
            "CREATE TABLE shop.x (a INT) USING parquet",
            "USING parquet kind",
            "",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "CREATE TABLE shop.x (a INT) CLUSTERED BY (a) INTO 2 BUCKETS",
            "table partitioned",
            "",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "CREATE TABLE shop.x (a INTERVAL DAY)",
            "no type INTERVAL DAY",
            "",
            marks=pytest.mark.long,
        ),
        (
            "CREATE TABLE shop.x (a INT) TBLPROPERTIES ('primary-key' = 'a', 'merge-engine' = 'first-row', "
            "'sequence.field' = 'a')",
            "sequence field FIRST_ROW",
            "",
        ),
        ("CREATE TABLE shop.x (a INT) AS SELECT 1", "query columns", "AS SELECT 1"),
        ("CREATE TABLE shop.x LIKE shop.orders COMMENT 'c'", "COMMENT follow", "COMMENT 'c'"),
    ],
)
@pytest.mark.usefixtures("judge")
def test_what_is_not_kept_is_refused_by_name(warehouse: Path, sql: str, reason: str, place: str) -> None:
    with pytest.raises(StatementFailed) as refused:
        run(warehouse, sql)
    assert about(*reason.split()).search(refused.value.message)
    assert refused.value.position is None or sql[refused.value.position :] == place
    with pytest.raises(Exception, match=r"no table shop\.x"):
        find_table(context_on(warehouse).files, "shop.x")

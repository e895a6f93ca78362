"""Only a table's name and its clause are replaced; what refers to the table goes on resolving."""

from __future__ import annotations

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.splice import Spliced, splice
from paimark.core.travel.parse.sql import read_statement
from tests.travel.conftest import SparkJudge
from tests.travel.generated import Script, scripts, unhurried


def spliced(sql: str, database: str | None = None) -> str:
    statement = read_statement(sql)
    names = {use: f"v{number}" for number, use in enumerate(statement.uses)}
    return splice(statement, names, database=database).sql


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM t VERSION AS OF 5", "SELECT * FROM `v0` AS `t`"),
        ("SELECT * FROM t VERSION AS OF 5 o", "SELECT * FROM `v0`  o"),
        ("SELECT * FROM `a b`.`c``d` WHERE x", "SELECT * FROM `v0` AS `c``d` WHERE x"),
        (
            "SELECT * FROM t/* a */VERSION AS OF 5-- b\nWHERE x",
            "SELECT * FROM `v0`/* a */AS `t`-- b\nWHERE x",
        ),
        ("SELECT * FROM `t`VERSION AS OF'5'JOIN u", "SELECT * FROM `v0`AS `t`JOIN `v1` AS `u`"),
        (
            "SELECT * FROM t VERSION AS OF 5 TABLESAMPLE (9 ROWS) WHERE x",
            "SELECT * FROM `v0`  TABLESAMPLE (9 ROWS) AS `t` WHERE x",
        ),
        ("SELECT * FROM t TABLESAMPLE (9 ROWS)", "SELECT * FROM `v0` TABLESAMPLE (9 ROWS) AS `t`"),
        (
            "SELECT * FROM t VERSION AS OF 5 PIVOT (sum(x) FOR y IN (1))",
            "SELECT * FROM `v0` AS `t` PIVOT (sum(x) FOR y IN (1))",
        ),
        ("TABLE t VERSION AS OF 5 ORDER BY t.x, db.t.y", "TABLE `v0`  ORDER BY `v0`.x, db.t.y"),
        ("DESCRIBE t VERSION AS OF 5", "DESCRIBE `v0` "),
        ("FROM t VERSION AS OF 5 SELECT t.x", "FROM `v0` AS `t` SELECT t.x"),
        (
            "SELECT * FROM t VERSION AS OF 1 a JOIN t VERSION AS OF 2 b ON a.x = b.x",
            "SELECT * FROM `v0`  a JOIN `v1`  b ON a.x = b.x",
        ),
        (
            "SELECT orders.x, shop.orders.y, shop . `orders` . * FROM shop.orders WHERE SHOP.ORDERS.z > 1",
            "SELECT orders.x, orders.y, `orders` . * FROM `v0` AS `orders` WHERE ORDERS.z > 1",
        ),
        (
            "SELECT shop.orders.x.y FROM shop.orders o JOIN shop.orders",
            "SELECT orders.x.y FROM `v0` o JOIN `v1` AS `orders`",
        ),
        (
            "SELECT /*+ BROADCAST(shop.orders) */ shop.orders.x FROM shop.orders",
            "SELECT /*+ BROADCAST(orders) */ orders.x FROM `v0` AS `orders`",
        ),
        (
            "SELECT 1 FROM shop.t WHERE EXISTS (SELECT 1 FROM u WHERE u.x = shop.t.x)",
            "SELECT 1 FROM `v0` AS `t` WHERE EXISTS (SELECT 1 FROM `v1` AS `u` WHERE u.x = t.x)",
        ),
        # The name is one table's in each place: nothing has to change.
        (
            "SELECT t.x FROM a.t UNION SELECT t.x FROM b.t",
            "SELECT t.x FROM `v0` AS `t` UNION SELECT t.x FROM `v1` AS `t`",
        ),
        (
            "SELECT a.t.x, b.t.x, t.* FROM a.t JOIN b.t u",
            "SELECT t.x, b.t.x, t.* FROM `v0` AS `t` JOIN `v1` u",
        ),
        # It is not: both are called by their whole names.
        (
            "SELECT a.t.x, b.t.x FROM a.t JOIN b.t ON a.t.id = b.t.id",
            "SELECT `a.t`.x, `b.t`.x FROM `v0` AS `a.t` JOIN `v1` AS `b.t` ON `a.t`.id = `b.t`.id",
        ),
        (
            "SELECT t.y FROM a.t WHERE EXISTS (SELECT t.z FROM b.t WHERE b.t.x = a.t.x)",
            "SELECT `a.t`.y FROM `v0` AS `a.t` WHERE EXISTS "
            "(SELECT `b.t`.z FROM `v1` AS `b.t` WHERE `b.t`.x = `a.t`.x)",
        ),
        (
            "SELECT a.t.x, t.y FROM a.t JOIN b.u AS t",
            "SELECT `a.t`.x, t.y FROM `v0` AS `a.t` JOIN `v1` AS t",
        ),
        (
            "SELECT a.t.x, t.y FROM a.t, (SELECT 1) t",
            "SELECT `a.t`.x, t.y FROM `v0` AS `a.t`, (SELECT 1) t",
        ),
    ],
)
def test_names_clauses_and_references(sql: str, expected: str) -> None:
    # `t.y` with an alias `t` in the same block is the alias's, as only it can be called so now.
    assert spliced(sql) == expected


def test_the_current_database_counts_as_written() -> None:
    sql = "SELECT shop.orders.x, orders.y FROM orders VERSION AS OF 5"
    assert spliced(sql, database="shop") == "SELECT orders.x, orders.y FROM `v0` AS `orders`"
    assert spliced(sql, database="other") == "SELECT shop.orders.x, orders.y FROM `v0` AS `orders`"


def test_a_column_that_may_be_of_two_tables_is_refused() -> None:
    sql = "SELECT a.t.x, t.y FROM a.t JOIN b.t"
    with pytest.raises(SqlRefused, match=r"t\.y may mean a column of a\.t or b\.t") as refused:
        spliced(sql)
    assert refused.value.position == sql.index("t.y")


def test_a_table_without_a_new_name_stays_as_typed() -> None:
    sql = "SELECT shop.t.x, temp.u.x FROM shop.t VERSION AS OF 5 JOIN temp.u"
    statement = read_statement(sql)
    assert (
        splice(statement, {statement.uses[0]: "v"}).sql == "SELECT t.x, temp.u.x FROM `v` AS `t` JOIN temp.u"
    )


def test_the_target_of_a_write_is_not_replaced() -> None:
    sql = "INSERT INTO shop.t SELECT shop.u.x FROM shop.u VERSION AS OF 1"
    assert spliced(sql) == "INSERT INTO shop.t SELECT u.x FROM `v0` AS `u`"


@unhurried(200)
@given(scripts())
def test_generated_tables_are_found_with_their_spans(script: Script) -> None:
    uses = read_statement(script.sql).uses
    assert [(use.parts, use.version or use.time_expression, use.alias) for use in uses] == [
        (table.parts, table.asked, table.alias) for table in script.tables
    ]
    for use, table in zip(uses, script.tables, strict=True):
        assert script.sql[slice(*use.name_span)] == table.name
        assert (use.clause_span and script.sql[slice(*use.clause_span)]) == (table.clause_text or None)


@unhurried(200)
@given(scripts())
def test_splicing_replaces_names_and_clauses_and_nothing_else(script: Script) -> None:
    assert spliced(script.sql) == script.spliced([f"v{number}" for number in range(len(script.tables))])


@unhurried(200)
@given(scripts())
def test_splicing_twice_changes_nothing_more(script: Script) -> None:
    once = read_statement(spliced(script.sql))
    assert splice(once, {use: use.parts[0] for use in once.uses}).sql == once.sql


@unhurried(200)
@given(scripts(), st.data())
def test_every_kept_character_is_traced_to_where_it_was_typed(script: Script, data: st.DataObject) -> None:
    statement = read_statement(script.sql)
    result = splice(statement, {use: f"v{number}" for number, use in enumerate(statement.uses)})
    position = data.draw(st.integers(0, len(result.sql)))
    origin = result.original_position(position)
    assert 0 <= origin <= len(script.sql)
    if is_new_text(result, position):
        assert origin in {edit.start for edit in result.edits}
    else:
        assert script.sql[origin:][:1] == result.sql[position:][:1]


def is_new_text(result: Spliced, position: int) -> bool:
    shift = 0
    for edit in result.edits:
        if edit.start + shift <= position < edit.start + shift + len(edit.text):
            return True
        shift += len(edit.text) - (edit.end - edit.start)
    return False


@unhurried(60)
@given(scripts())
def test_spliced_statements_parse_and_read_only_the_new_names(
    spark_judge: SparkJudge, script: Script
) -> None:
    # sqlglot and Spark's bare parser leave commands alone.
    text = spliced(script.sql).removeprefix(script.head)
    views = {f"v{number}" for number in range(len(script.tables))}
    tree = sqlglot.parse_one(text, dialect="spark")
    defined = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    read = {table.name for table in tree.find_all(exp.Table) if not isinstance(table.this, exp.Func)}
    assert views <= read
    assert {name.lower() for name in read - views} <= defined
    relations = set(spark_judge.relations(text))
    assert views <= relations
    assert {name.lower() for name in relations - views} <= defined

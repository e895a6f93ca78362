"""What is answered without a task, or planned on stand-ins: rows, names and types as of the long way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pypaimon import CatalogFactory
from pypaimon.schema.schema_change import SchemaChange

from paimark.core.spark.arrow import read_batch
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Batch
from tests.conftest import ORDERS
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask, in_order, rows

PLAIN, KEYED, EMPTY = "brief.plain", "brief.keyed", "brief.empty"
# Twelve rows, every third without a customer; of the other table six, one of them deleted and two replaced.
COUNTS: dict[str, list[dict[str, Any]]] = {
    "count(*) AS n FROM plain": [{"n": 12}],
    "count(1), count(*) FROM plain": [{"count(1)": 12}],
    "count(who) AS n, count(*) AS m FROM plain": [{"n": 8, "m": 12}],
    "count(NULL) AS n FROM plain": [{"n": 0}],
    "count(1, NULL) AS n FROM plain": [{"n": 0}],
    "count(DISTINCT 1) AS n FROM plain": [{"n": 1}],
    "count(*) FILTER (WHERE order_id < 3) AS n, count(*) AS m FROM plain": [{"n": 2, "m": 12}],
    "count(*) + 1 AS n, 'x' AS x FROM plain": [{"n": 13, "x": "x"}],
    "count(*) AS n FROM plain WHERE false": [{"n": 0}],
    "count(*) AS n FROM plain WHERE part = 'a'": [{"n": 4}],
    "count(*) AS n FROM plain HAVING count(*) > 12": [],
    "count(*) AS n FROM plain GROUP BY 'same'": [{"n": 12}],
    "count(*) AS n FROM empty GROUP BY 'same'": [],
    "count(*) AS n, sum(order_id) AS s FROM empty": [{"n": 0, "s": None}],
    "count(*) AS n, max(1) AS one FROM plain": [{"n": 12, "one": 1}],
    "count(*) AS n FROM (SELECT * FROM plain LIMIT 5)": [{"n": 5}],
    "count(*) AS n FROM (SELECT DISTINCT part FROM plain)": [{"n": 3}],
    "count(*) AS n FROM (SELECT explode(array(1, 2)) FROM plain)": [{"n": 24}],
    "count(*) AS n FROM plain UNION ALL SELECT count(*) FROM keyed": [{"n": 12}, {"n": 6}],
    "count(*) AS n FROM plain UNION SELECT count(*) FROM plain": [{"n": 12}],
    "count(*) AS n FROM plain a, plain b": [{"n": 144}],
    "count(*) AS n FROM keyed": [{"n": 6}],
    "count(*) AS n FROM empty": [{"n": 0}],
    "count(*) * 2 AS n, (SELECT count(*) FROM keyed) AS m FROM plain": [{"n": 24, "m": 6}],
    "n, count(*) AS m FROM (SELECT count(*) AS n FROM plain) GROUP BY n": [{"n": 12, "m": 1}],
}


@pytest.fixture(scope="session")
def tables(engine_warehouse: Path) -> None:
    """One with partitions and a column that was called otherwise, one with a key, one without rows."""
    partitioned = ORDERS.append(pa.field("part", pa.string()))
    create_table(engine_warehouse, PLAIN, partitioned, partition_keys=["part"])
    found = [
        {"order_id": number, "customer": None if number % 3 == 0 else "c", "price": 1.0, "part": part}
        for number, part in enumerate("aabbccaabbcc", 1)
    ]
    commit(engine_warehouse, PLAIN, pa.Table.from_pylist(found, schema=partitioned))
    catalog = CatalogFactory.create({"warehouse": str(engine_warehouse)})
    catalog.alter_table(PLAIN, [SchemaChange.rename_column("customer", "who")])
    kinds = ORDERS.append(pa.field("kind", pa.string()))
    options = {"bucket": "1", "rowkind.field": "kind"}
    create_table(engine_warehouse, KEYED, kinds, primary_keys=["order_id"], options=options)
    for ids, kind in ((range(1, 6), "+I"), (range(2, 4), "+U"), (range(4, 5), "-D"), (range(7, 9), "+I")):
        changed = [{"order_id": number, "customer": "c", "price": 2.0, "kind": kind} for number in ids]
        commit(engine_warehouse, KEYED, pa.Table.from_pylist(changed, schema=kinds))
    create_table(engine_warehouse, EMPTY, ORDERS)


@pytest.mark.usefixtures("tables")
def test_counts_are_what_they_would_be(engine: Engine) -> None:
    for sql, expected in COUNTS.items():
        answer = ask(engine, f"SELECT {sql}", database="brief")
        assert in_order(answer.rows) == in_order(expected), sql
        kinds = dict(zip(answer.columns.names, answer.columns.types, strict=True))
        assert {kinds[name] for name in kinds if name != "x" and name != "one"} == {"bigint"}, sql


@pytest.mark.usefixtures("tables")
def test_where_no_row_is_left_there_is_none(engine: Engine) -> None:
    """Which Spark knows before it has seen the table."""
    for more in ("WHERE false", "WHERE order_id < 3 AND NULL", "LIMIT 0", "WHERE 1 = 2 OR order_id = 99"):
        for table in (PLAIN, KEYED, EMPTY):
            assert rows(engine, f"SELECT * FROM {table} {more}") == []
    sql = (
        f"SELECT order_id FROM {PLAIN} WHERE false UNION ALL SELECT order_id FROM {KEYED} WHERE order_id = 1"
    )
    assert rows(engine, sql) == [{"order_id": 1}]
    none = f"(SELECT * FROM {PLAIN} WHERE false) b"
    left = f"SELECT a.order_id, b.who FROM {KEYED} a LEFT JOIN {none} USING (order_id)"
    assert {row["who"] for row in rows(engine, left)} == {None}
    assert len(rows(engine, left)) == 6


@pytest.mark.usefixtures("tables")
def test_rows_come_under_the_names_that_were_written(engine: Engine) -> None:
    """Also where names are there twice, and whether rows are here already or come of tasks."""
    for where in ("", "WHERE order_id = 1 LIMIT 1", "LIMIT 1"):
        answer = ask(engine, f"SELECT ORDER_ID, who AS `a b`, Part, 1 AS Part FROM {PLAIN} {where}")
        assert answer.columns.names == ("ORDER_ID", "a b", "Part", "Part")
        for event in answer.of(Batch):
            assert read_batch(event).schema.names == ["ORDER_ID", "a b", "Part", "Part"]
    # All columns in their order: of this the optimiser leaves nothing but the table.
    for where in ("", "LIMIT 3"):
        answer = ask(engine, f"SELECT ORDER_ID, who, Price, PART FROM {PLAIN} {where}")
        assert answer.rows and list(answer.rows[0]) == ["ORDER_ID", "who", "Price", "PART"]
    assert ask(engine, "SELECT 1 AS a, 2 AS a").columns.names == ("a", "a")


@pytest.mark.usefixtures("tables")
def test_a_table_that_is_there_more_than_once(engine: Engine) -> None:
    """Each time with other columns, conditions and names of its own."""
    sql = f"""WITH c AS (SELECT order_id, part FROM {PLAIN} WHERE order_id > 2)
        SELECT a.order_id AS x, b.order_id AS y, (SELECT max(price) FROM {PLAIN}) AS most
        FROM c a JOIN c b ON a.order_id = b.order_id + 1
        LEFT ANTI JOIN {PLAIN} d ON d.order_id = a.order_id + 3
        WHERE a.part = 'c' OR EXISTS (SELECT 1 FROM {KEYED} e WHERE e.order_id = a.order_id)"""
    assert in_order(rows(engine, sql)) == [
        {"x": 11, "y": 10, "most": 1.0},
        {"x": 12, "y": 11, "most": 1.0},
    ]
    both = f"SELECT order_id FROM {KEYED} WHERE order_id < 3 UNION ALL SELECT order_id FROM {KEYED} LIMIT 100"
    assert sorted(row["order_id"] for row in rows(engine, both)) == [1, 1, 2, 2, 3, 5, 7, 8]


@pytest.mark.usefixtures("tables")
def test_what_the_clock_says_is_said_once(engine: Engine) -> None:
    """In what is pushed down and in what is computed."""
    sql = f"SELECT count(*) AS n, max(now()) = now() AS same FROM {PLAIN} WHERE now() < now() OR order_id < 3"
    assert rows(engine, sql) == [{"n": 2, "same": True}]


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("setting", ["", pytest.param("true", marks=pytest.mark.long), "false"])
def test_totals_leave_the_setting_they_are_planned_by(engine: Engine, setting: str) -> None:
    name = "spark.sql.adaptive.enabled"
    if setting:
        rows(engine, f"SET {name} = {setting}")
    before = rows(engine, f"SET {name}")
    try:
        sql = f"SELECT sum(price) AS s, max(who) AS w, avg(order_id) + 1 AS a FROM {PLAIN} WHERE order_id > 2"
        assert rows(engine, sql) == [{"s": 10.0, "w": "c", "a": 8.5}]
        assert rows(engine, f"SELECT sum(order_id) AS s FROM {KEYED} WHERE price > 5") == [{"s": None}]
        # These are planned stage by stage.
        assert rows(engine, f"SELECT count(DISTINCT who) AS n, sum(price) AS s FROM {PLAIN}") == [
            {"n": 1, "s": 12.0}
        ]
        within = f"SELECT sum(price) AS s FROM {PLAIN} WHERE price < (SELECT max(price) FROM {KEYED})"
        assert rows(engine, within) == [{"s": 12.0}]
        assert ask(engine, f"SELECT sum(1 / (order_id - order_id)) FROM {PLAIN}").failure
        assert rows(engine, f"SET {name}") == before
    finally:
        rows(engine, f"RESET {name}")

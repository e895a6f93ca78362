"""Aggregates that metadata answer: the rows that reading gives, and no data file is there to read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from tests.long import long_but
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask, in_order, in_zone, rows

PARTS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "day": (pa.date32(), [dt.date(2026, 5, 1), dt.date(1969, 12, 31), None]),
    "region": (pa.string(), ["a", "Ä b", "a"]),
    "hour": (pa.int32(), [1, None, -3]),
    "open": (pa.bool_(), [True, False, None]),
    "rate": (pa.decimal128(10, 2), [Decimal("1.50"), Decimal("-0.25"), None]),
}
SCHEMA = pa.schema(
    [("id", pa.int64()), ("price", pa.float64()), *((name, kind) for name, (kind, _) in PARTS.items())]
)
# On columns of partitions.
CONDITIONS = [
    "region = 'a'",
    "region <> 'a' OR hour IS NULL",
    "day < DATE'2000-01-01' AND NOT open",
    "hour BETWEEN -3 AND 0 OR rate IN (1.5, 7, NULL)",
    "day IS NULL AND region LIKE '%a%'",
    "upper(region) = 'NOWHERE'",
    "hour <=> NULL",
    "CASE WHEN open THEN hour = 1 ELSE rate < 0 END",
    "CAST(day AS TIMESTAMP) < TIMESTAMP'1969-12-31 05:00:00Z'",
]
# Of metadata alone.
ANSWERED = [
    "SELECT count(*) AS n, count(1) + 1 AS m, count(day) AS k, count(hour + 1) AS o FROM {t}",
    "SELECT min(day) AS a, max(day) AS b, min(region) AS c, max(rate) AS d, max(open) AS e FROM {t}",
    "SELECT min(hour) AS a, max(year(day)) AS b FROM {t} WHERE region = 'nowhere'",
    "SELECT region, count(*) AS n, max(day) AS d FROM {t} GROUP BY region HAVING count(*) > 0",
    "SELECT year(day) AS y, rate, count(*) AS n FROM {t} GROUP BY year(day), rate ORDER BY n LIMIT 9",
    "WITH some AS (SELECT DISTINCT region, open, hour FROM {t} WHERE hour IS NOT NULL) "
    "SELECT a.n, some.* FROM some JOIN (SELECT count(*) AS n FROM {t}) AS a",
]
# For these rows are read.
READ = [
    "SELECT min(id) AS a, max(price) AS b FROM {t}",
    "SELECT count(*) AS n FROM {t} WHERE region = 'a' AND id > 3",
    "SELECT count(*) AS n FROM {t} WHERE hour < id",
    "SELECT count(*) AS n FROM {t} WHERE hour < 9 * rand(3)",
    "SELECT count(id) AS n FROM {t}",
    "SELECT count(DISTINCT region) AS n FROM {t}",
    "SELECT count(*) FILTER (WHERE region = 'a') AS n FROM {t}",
    "SELECT sum(hour) AS n FROM {t}",
    "SELECT id % 2 AS odd, count(*) AS n FROM {t} GROUP BY 1",
    "SELECT count(*) AS n FROM (SELECT * FROM {t} LIMIT 4)",
    "SELECT count(*) AS n FROM {t} AS a JOIN {t} AS b ON a.day = b.day",
    "SELECT count(*) AS n FROM {t} WHERE region = (SELECT min(region) FROM {t} WHERE id > 0)",
]


@contextmanager
def as_rows(engine: Engine, table: str) -> Iterator[str]:
    """A view of the table, of which metadata know nothing."""
    rows(engine, f"CREATE TEMPORARY VIEW plain AS SELECT * FROM {table} WHERE id < 1000 + rand()")
    try:
        yield "plain"
    finally:
        rows(engine, "DROP VIEW plain")


def orders(first: int) -> pa.Table:
    ids = list(range(first, first + 7))
    chosen = {name: [values[number % 3] for number in ids] for name, (_, values) in PARTS.items()}
    return pa.table({"id": ids, "price": [float(each) for each in ids], **chosen}, schema=SCHEMA)


@pytest.fixture(scope="session")
def table(engine_warehouse: Path) -> str:
    name = "summed.orders"
    create_table(engine_warehouse, name, SCHEMA, partition_keys=list(PARTS))
    commit(engine_warehouse, name, orders(1))
    commit(engine_warehouse, name, orders(5))
    return name


@pytest.mark.parametrize("zone", long_but(["UTC", "Pacific/Auckland"], "Pacific/Auckland"))
def test_rows_of_partitions_are_counted(engine: Engine, table: str, zone: str) -> None:
    sums = ", ".join(
        f"sum(CASE WHEN {each} THEN 1 ELSE 0 END) AS c{number}" for number, each in enumerate(CONDITIONS)
    )
    with in_zone(engine, zone):
        (expected,) = rows(engine, f"SELECT {sums} FROM {table}")
        answers = [ask(engine, f"SELECT count(*) AS n FROM {table} WHERE {each}") for each in CONDITIONS]
    assert {reading.scan for answer in answers for reading in answer.readings} == {"metadata"}
    assert [answer.rows for answer in answers] == [[{"n": count}] for count in expected.values()]


def test_metadata_answer_as_reading_does(engine: Engine, table: str) -> None:
    answers = [ask(engine, sql.format(t=table)) for sql in ANSWERED]
    with as_rows(engine, table) as view:
        expected = [ask(engine, sql.format(t=view)) for sql in ANSWERED]
    for sql, answer, other in zip(ANSWERED, answers, expected, strict=True):
        assert {reading.scan for reading in answer.readings} == {"metadata"}, sql
        assert {reading.scan for reading in other.readings} == {"native"}, sql
        assert answer.columns == other.columns, sql
        assert in_order(answer.rows) == in_order(other.rows), sql


@pytest.mark.long
def test_what_metadata_do_not_say_is_read(engine: Engine, table: str) -> None:
    for sql in READ:
        explained = ask(engine, f"EXPLAIN {sql}".format(t=table)).explained
        assert f"scan: native {table} at snapshot.2" in explained, sql
        assert "scan: metadata" not in explained, sql
    mixed = READ[1:2] + READ[-1:]
    # Counts of all rows beside others of the same table, and of some that are read.
    mixed += ["SELECT count(*) AS n, (SELECT sum(id) FROM {t} WHERE region = 'a') AS m FROM {t}"]
    answers = [rows(engine, sql.format(t=table)) for sql in mixed]
    with as_rows(engine, table) as view:
        assert answers == [rows(engine, sql.format(t=view)) for sql in mixed]


def test_no_data_file_is_opened(engine: Engine, engine_warehouse: Path) -> None:
    name = "summed.gone"
    create_table(engine_warehouse, name, SCHEMA, partition_keys=list(PARTS))
    commit(engine_warehouse, name, orders(1))
    for path in (engine_warehouse / "summed.db" / "gone").rglob("data-*.parquet"):
        path.unlink()
    assert rows(engine, f"SELECT count(*) AS n FROM {name} WHERE hour = 1") == [{"n": 2}]
    assert ask(engine, f"SELECT count(*) AS n FROM {name} WHERE hour = 1 AND id > 0").failure


def test_merged_rows_are_counted_by_their_keys(engine: Engine, engine_warehouse: Path) -> None:
    """Of the partitions wanted alone; deleted rows are none, also where they were all of a partition."""
    schema = pa.schema([("id", pa.int64()), ("part", pa.string()), ("kind", pa.string())])
    name = "summed.keyed"
    create_table(
        engine_warehouse,
        name,
        schema,
        primary_keys=["part", "id"],
        partition_keys=["part"],
        options={"bucket": "1", "rowkind.field": "kind"},
    )

    def put(found: list[tuple[int, str, str]]) -> None:
        made: list[dict[str, Any]] = [dict(zip(schema.names, each, strict=True)) for each in found]
        commit(engine_warehouse, name, pa.Table.from_pylist(made, schema=schema))

    put([(number, part, "+I") for number in range(5) for part in "abc"])
    put([(0, "a", "-D"), (7, "a", "+I"), *((number, "b", "-D") for number in range(5))])
    asked = [
        "SELECT count(*) AS n FROM {t}",
        "SELECT count(*) AS n FROM {t} WHERE part IN ('a', 'b')",
        "SELECT part, count(*) AS n FROM {t} GROUP BY part",
        "SELECT DISTINCT part FROM {t}",
        "SELECT max(part) AS m, min(part) AS k, count(*) AS n FROM {t} WHERE part < 'c'",
        "SELECT min(id) AS a, max(id) AS b FROM {t} WHERE part = 'c'",
    ]
    answers = [ask(engine, sql.format(t=name)) for sql in asked]
    with as_rows(engine, name) as view:
        expected = [rows(engine, sql.format(t=view)) for sql in asked]
    assert [in_order(answer.rows) for answer in answers] == [in_order(each) for each in expected]
    assert answers[3].rows and {row["part"] for row in answers[3].rows} == {"a", "c"}
    # Files were looked into.
    assert {reading.scan for answer in answers for reading in answer.readings} == {"native"}


def test_explain_says_so(engine: Engine, table: str) -> None:
    count, read = f"SELECT count(*) FROM {table} WHERE hour = 1", f"SELECT sum(id) FROM {table}"
    answer = ask(engine, f"EXPLAIN {count}")
    assert answer.explained.startswith(f"scan: metadata {table} at snapshot.2, ")
    assert "LocalTableScan" in answer.explained and "FileScan" not in answer.explained
    assert [reading.scan for reading in answer.readings] == ["metadata"]
    assert ask(engine, f"EXPLAIN {read}").explained.startswith(f"scan: native {table} at ")
    both = ask(engine, f"EXPLAIN EXTENDED SELECT ({count}) + ({read})").explained
    assert both.startswith(f"scan: metadata {table} at ") and f"\nscan: native {table} at " in both
    failure = ask(engine, f"EXPLAIN SELECT nonsense(count(*)) FROM {table}").failure
    assert "nonsense" in failure.message and failure.position == len("EXPLAIN SELECT ")

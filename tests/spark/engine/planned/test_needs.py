"""What a query needs of a table: no column, row or file is left out that it may need."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import types as t
from pyspark.sql.types import StructField, StructType

from paimark.core.spark.engine.planned.queries import PlanMode, Queries, StandIn
from paimark.core.spark.launch.session import Spark
from paimark.core.spark.native.conditions import Condition, SummaryColumns, ViewNeeds

COLUMNS = StructType(
    [
        *(StructField("n", t.IntegerType()), StructField("wide", t.LongType())),
        *(StructField("day", t.DateType()), StructField("at", t.TimestampNTZType())),
        *(StructField("price", t.DecimalType(3, 2)), StructField("whole", t.DecimalType(5, 0))),
        *(StructField("word", t.StringType()), StructField("flag", t.BooleanType())),
        *(StructField("rate", t.DoubleType()), StructField("moment", t.TimestampType())),
        StructField("part", StructType([StructField("n", t.IntegerType())])),
    ]
)
Asked = Callable[..., ViewNeeds]


@pytest.fixture(scope="module")
def asked(spark_here: Spark) -> Asked:
    queries = Queries(spark_here.session.newSession())
    table = StandIn("__paimark_asked", "0", COLUMNS.json(), "d.t")

    def asked(sql: str, mode: PlanMode = "plan", limit: int | None = None) -> ViewNeeds:
        return queries.describe(sql.replace("TABLE", table.name), mode, [table], limit)[1].needs["0"]

    return asked


@pytest.mark.parametrize(
    ("where", "column", "operator", "values"),
    [
        ("n = 7", "n", "=", (7,)),
        # As the statement writes it.
        ("N = '7'", "n", "=", (7,)),
        ("n <=> 7", "n", "=", (7,)),
        ("7L < wide", "wide", ">", (7,)),
        ("day < DATE '1969-12-31'", "day", "<", (-1,)),
        ("day >= DATE '+10000-01-01'", "day", ">=", (2932897,)),
        ("price >= 1.5", "price", ">=", (Decimal("1.50"),)),
        ("whole <= 70", "whole", "<=", (Decimal("70"),)),
        ("at = TIMESTAMP_NTZ '1969-12-31 23:59:59.999999'", "at", "=", (-1,)),
        ("word IN ('x', NULL, 'Łódź')", "word", "in", ("x", "Łódź")),
        ("word LIKE 'x%'", "word", "prefix", ("x",)),
        ("word IS NULL", "word", "null", ()),
        ("part IS NOT NULL", "part", "not null", ()),
        ("flag", "flag", "=", (True,)),
        ("NOT flag", "flag", "=", (False,)),
    ],
)
def test_conditions_are_taken_from_the_plan(
    asked: Asked, where: str, column: str, operator: Any, values: tuple[Any, ...]
) -> None:
    for sql in (f"SELECT * FROM TABLE WHERE {where}", f"SELECT * FROM TABLE WHERE {where} AND rand() < 2"):
        found = asked(sql).conditions
        assert Condition(column, operator, values) in found, found
        # A decimal has the digits of its column, by which its bytes are known.
        assert [str(each) for one in found for each in one.values] == list(map(str, values))
        assert all(one.operator == "not null" for one in found if one.column != column or not one.values) or (
            operator == "null"
        )


@pytest.mark.parametrize(
    "where",
    [
        # What a session, a clock or a function has a say in.
        "moment = TIMESTAMP '2026-05-01 00:00:00'",
        "rate = 1.5D",
        "CAST(n AS STRING) = '7'",
        "n IN (7, wide)",
        "n = 7 OR wide = 7",
        "NOT word <=> 'x'",
        "NOT flag <=> true",
        "NOT n = 1",
        "part.n = 7",
        "word COLLATE UNICODE_CI = 'x'",
        "word = CAST(X'ff' AS STRING)",
    ],
)
def test_what_statistics_do_not_tell_is_no_condition(asked: Asked, where: str) -> None:
    found = asked(f"SELECT * FROM TABLE WHERE {where}").conditions
    assert all(each.operator == "not null" for each in found), found


def test_only_columns_that_nothing_uses_are_left_out(asked: Asked) -> None:
    for sql, columns in {
        "SELECT n FROM TABLE WHERE word > 'x' ORDER BY day LIMIT 5": {"n", "word", "day"},
        "SELECT count(*) FROM TABLE": set[str](),
        "SELECT DISTINCT n FROM TABLE": {"n"},
        "SELECT a.n, b.word FROM TABLE a JOIN VALUES (1, 'x') b(wide, word) ON a.wide = b.wide": {
            "n",
            "wide",
        },
        "SELECT n, sum(rate) OVER (PARTITION BY word) FROM TABLE": {"n", "rate", "word"},
        "SELECT 1 WHERE EXISTS (SELECT * FROM TABLE WHERE n = 1)": {"n"},
        "SELECT * FROM TABLE": set(COLUMNS.names),
    }.items():
        assert asked(sql).columns == columns, sql


def test_a_limit_holds_for_a_table_of_which_rows_are_shown_as_they_are(asked: Asked) -> None:
    everything = "SELECT n + 1 FROM TABLE"
    assert asked(everything).limit is None
    assert asked(everything, "show", 10).limit == 11
    assert asked(f"{everything} LIMIT 3", "show", 10).limit == 3
    assert asked("SELECT * FROM (SELECT n FROM TABLE LIMIT 4) LIMIT 7").limit == 4
    for sql in (f"{everything} ORDER BY 1", "SELECT sum(n) FROM TABLE", f"{everything} WHERE word = 'x'"):
        assert asked(sql, "show", 10).limit is None, sql


def test_of_a_table_that_is_read_twice_both_reads_are_served(spark_here: Spark) -> None:
    queries = Queries(spark_here.session.newSession())
    tables = [StandIn(f"__paimark_{place}", place, COLUMNS.json(), "d.t") for place in "01"]
    sql = (
        "SELECT count(*), max(n) FROM __paimark_0 WHERE n = 1 "
        "UNION ALL SELECT 1, wide FROM __paimark_1 WHERE wide = 2 AND n = 1"
    )
    needs = queries.describe(sql, "plan", tables, None)[1].needs
    assert needs["0"].summary_columns == SummaryColumns(frozenset({"n"}), frozenset({"n"}))
    assert needs["1"].summary_columns is None and needs["1"].columns == {"n", "wide"}

"""Times that Spark works out: whatever is the same for every row, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from paimark.core.spark.engine.planned.plans import read_uses
from paimark.core.travel.parse.statement import SqlRefused, TableUse
from paimark.core.travel.resolving import literal_time
from paimark.core.travel.times import zone_of
from tests.wording import about

NOW = datetime(2026, 5, 20, 12, 34, 56, 789_000, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BERLIN = "Europe/Berlin"


def utc(*fields: int) -> datetime:
    return datetime(*fields, tzinfo=UTC)  # type: ignore[misc, arg-type]


MOMENTS = [
    ("'2026-05-01'", utc(2026, 4, 30, 22)),
    ("'2026-05-01 00:00'", utc(2026, 4, 30, 22)),
    ("'2026-05-01T10:20:30.5'", utc(2026, 5, 1, 8, 20, 30, 500_000)),
    ("'2026-05-01T10:20:30Z'", utc(2026, 5, 1, 10, 20, 30)),
    ("'2026-05-01T10:20Z'", utc(2026, 5, 1, 10, 20)),
    ("'2026-05-01 10:20:30 -02:30'", utc(2026, 5, 1, 12, 50, 30)),
    ("'2026-05-01 10:20:30 Asia/Shanghai'", utc(2026, 5, 1, 2, 20, 30)),
    ("'2026-05-01 10:20:30.1239'", utc(2026, 5, 1, 8, 20, 30, 123_000)),
    ("'10:20'", utc(2026, 5, 20, 8, 20)),
    ("'2026-' '05-01'", utc(2026, 4, 30, 22)),
    ("TIMESTAMP '2026-05-01 00:00:00'", utc(2026, 4, 30, 22)),
    ("timestamp_ltz'2026-05-01'", utc(2026, 4, 30, 22)),
    ("TIMESTAMP_NTZ '2026-05-01 00:00:00'", utc(2026, 4, 30, 22)),
    ("DATE '2026-05-01'", utc(2026, 4, 30, 22)),
    ("CAST('2026-05-01 00:00:00' AS TIMESTAMP)", utc(2026, 4, 30, 22)),
    ("CAST(now() AS DATE)", utc(2026, 5, 19, 22)),
    ("'2026-05-01 10:00'::DATE", utc(2026, 4, 30, 22)),
    ("to_timestamp('2026-05-01 00:00:00')", utc(2026, 4, 30, 22)),
    ("to_date('2026-05-01')", utc(2026, 4, 30, 22)),
    ("CURRENT_TIMESTAMP", NOW),
    ("current_timestamp()", NOW),
    ("now()", NOW),
    ("localtimestamp", NOW),
    ("current_date", utc(2026, 5, 19, 22)),
    ("current_date - 1", utc(2026, 5, 18, 22)),
    ("date_sub(current_date(), 2)", utc(2026, 5, 17, 22)),
    ("date_add('2026-05-01', 1)", utc(2026, 5, 1, 22)),
    ("date_trunc('week', now())", utc(2026, 5, 17, 22)),
    ("date_trunc('HOUR', now())", utc(2026, 5, 20, 12)),
    ("date_trunc('quarter', now())", utc(2026, 3, 31, 22)),
    ("1700000000", utc(2023, 11, 14, 22, 13, 20)),
    ("1700000000 - 20", utc(2023, 11, 14, 22, 13)),
    ("1700000000.5", utc(2023, 11, 14, 22, 13, 20, 500_000)),
    ("timestamp_millis(1700000000123)", utc(2023, 11, 14, 22, 13, 20, 123_000)),
    ("CURRENT_TIMESTAMP - INTERVAL '1' DAY", NOW - timedelta(days=1)),
    ("now() - interval 1 day 2 hours", NOW - timedelta(days=1, hours=2)),
    ("now() - INTERVAL '1 day 2 hours'", NOW - timedelta(days=1, hours=2)),
    ("now() - INTERVAL 'interval -1 day'", NOW + timedelta(days=1)),
    ("now() - INTERVAL -'1' DAY", NOW + timedelta(days=1)),
    ("now() - INTERVAL '1 02:03:04.5' DAY TO SECOND", NOW - timedelta(1, 7384, 500_000)),
    ("now() - INTERVAL '02:03' HOUR TO MINUTE", NOW - timedelta(hours=2, minutes=3)),
    ("TIMESTAMP '2026-05-01' - INTERVAL '1-2' YEAR TO MONTH", utc(2025, 2, 28, 23)),
    ("DATE '2026-05-31' - INTERVAL 1 MONTH", utc(2026, 4, 29, 22)),
    ("INTERVAL 1 WEEK + now()", NOW + timedelta(weeks=1)),
    ("now() - 3 * INTERVAL 1 HOUR", NOW - timedelta(hours=3)),
    ("now() - (INTERVAL 1 HOUR - INTERVAL 1 MINUTE)", NOW - timedelta(minutes=59)),
    ("-INTERVAL 1 HOUR + now()", NOW - timedelta(hours=1)),
    ("'2026-05-01' + INTERVAL 1.5 SECONDS", utc(2026, 4, 30, 22, 0, 1, 500_000)),
    ("((now()))", NOW),
    ("CURRENT_TIMESTAMP(3)", NOW),
    ("now()::TIMESTAMP(6)", NOW),
    ("CAST('2026-05-01 00:00:00' AS TIMESTAMP(3))", utc(2026, 4, 30, 22)),
    ("CAST('2026-05-01 00:00:00' AS TIMESTAMP_LTZ(3))", utc(2026, 4, 30, 22)),
    ("CAST('2026-05-01 00:00:00' AS TIMESTAMP(3) WITH LOCAL TIME ZONE)", utc(2026, 4, 30, 22)),
    ("CAST('2026-05-01 00:00:00' AS TIMESTAMP WITHOUT TIME ZONE)", utc(2026, 4, 30, 22)),
    ("TO_TIMESTAMP_LTZ(1700000000123, 3)", utc(2023, 11, 14, 22, 13, 20, 123_000)),
    ("TO_TIMESTAMP_LTZ(1700000000, 0)", utc(2023, 11, 14, 22, 13, 20)),
    ("now() /* then */ - -- less\n INTERVAL 1 HOUR", NOW - timedelta(hours=1)),
    # A day is one of the calendar, an hour sixty minutes, when clocks change.
    ("TIMESTAMP '2026-03-29 12:00' - INTERVAL 1 DAY", utc(2026, 3, 28, 11)),
    ("TIMESTAMP '2026-03-29 12:00' - INTERVAL 24 HOURS", utc(2026, 3, 28, 11)),
    ("struct(now()).col1::TIMESTAMP(3) WITH LOCAL TIME ZONE", NOW),
    ("CASE WHEN (CASE 1 WHEN 1 THEN true END) THEN now() END", NOW),
    ("array(now(), NULL)[0]", NOW),
    ("if(now() > '2026-05-01', now(), NULL)", NOW),
    ("'2026-05-01' COLLATE UTF8_LCASE", utc(2026, 4, 30, 22)),
]
NOT_CONSTANT = [
    ("coalesce(NULL, (SELECT 1))", 15, "query time"),
    ("nvl((FROM t), 1)", 4, "query time"),
    ("now() - (SELECT 1)", 8, "query time"),
    ("1700000000000", 0, "years 1 9999"),
    ("now() + INTERVAL 9000 YEARS", 0, "years 1 9999"),
    ("now()::TIMESTAMP(0)", 7, "0 digits second"),
    ("CURRENT_TIMESTAMP(10)", 0, "10 digits second"),
    ("max(o.t)", 4, "o.t column temporal join"),
    ("now() - `a b`.c", 8, "`a b`.c column"),
    ("interval", 0, "interval column"),
    ("date_trunc('era', now())", 0, "NULL"),
    ("CAST(NULL AS TIMESTAMP)", 0, "NULL"),
    ("rand(1)", 0, "another"),
    ("timestampadd(DAY, -1, now()", 27, "unfinished"),
    ("now() -", 7, "unfinished"),
    ("now() - WHERE", 8, "unfinished"),
    ("now() - INTERVAL 5 parsecs", None, "parsecs"),
    ("INTERVAL 1 DAY", None, "INTERVAL"),
    ("now() = '2026-05-01'", None, "BOOLEAN"),
    ("now() - now()", None, "INTERVAL"),
    ("now() - INTERVAL '1-2' DAY TO SECOND", None, "1-2"),
]
BEFORE = "SELECT * FROM t TIMESTAMP AS OF "


@pytest.fixture
def session(spark_of_library: SparkSession) -> Iterator[SparkSession]:
    spark_of_library.conf.set("spark.sql.session.timeZone", BERLIN)
    yield spark_of_library
    spark_of_library.conf.unset("spark.sql.session.timeZone")


def read(session: SparkSession, sql: str) -> tuple[TableUse, ...]:
    now_ms = (NOW - EPOCH) // timedelta(milliseconds=1)
    assert session._jvm is not None
    return read_uses(sql, session._jvm.paimark.clauses.Uses.of(session._jsparkSession, sql, now_ms))


def test_an_expression_is_one_moment_and_its_end_is_found(session: SparkSession) -> None:
    now_ms = (NOW - EPOCH) // timedelta(milliseconds=1)
    for expression, expected in MOMENTS:
        sql = f"{BEFORE}{expression} o JOIN u TIMESTAMP AS OF {expression} WHERE 1 = 1"
        for use in read(session, sql):
            assert use.clause is not None and use.clause.time == expression
            time_ms = use.clause.time_ms
            if time_ms is None:
                time_ms = literal_time(sql, use.clause, now_ms=now_ms, zone=zone_of(BERLIN))
            assert EPOCH + timedelta(milliseconds=time_ms) == expected, expression


def test_what_is_none_is_refused_where_it_stands(session: SparkSession) -> None:
    for expression, position, sentence in NOT_CONSTANT:
        with pytest.raises((SqlRefused, PySparkException)) as refused:
            read(session, BEFORE + expression)
        assert about(*sentence.split()).search(str(refused.value)), expression
        if position is not None:
            assert isinstance(refused.value, SqlRefused)
            assert refused.value.position == len(BEFORE) + position, expression

"""Times in literals are moments as Spark would have them; the ends of others are found."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.errors import StatementFailed
from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.times.literals import read_timestamp
from paimark.core.travel.times.times import literal_time
from paimark.core.travel.times.zones import instant, zone_of
from tests.spark.engine.test_folded_times import MOMENTS
from tests.travel.conftest import SparkJudge
from tests.travel.generated import unhurried

NOW = datetime(2026, 5, 20, 12, 34, 56, 789_000, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BERLIN = "Europe/Berlin"


def fold(expression: str, zone: str = BERLIN) -> datetime | None:
    now_ms = (NOW - EPOCH) // timedelta(milliseconds=1)
    folded = literal_time(expression, (0, len(expression)), now_ms=now_ms, zone=zone_of(zone))
    return None if folded is None else EPOCH + timedelta(milliseconds=folded)


def utc(*fields: int) -> datetime:
    return datetime(*fields, tzinfo=UTC)  # type: ignore[misc, arg-type]


def test_a_literal_is_one_moment() -> None:
    found = {expression: moment for expression, _ in MOMENTS if (moment := fold(expression)) is not None}
    assert found == {expression: expected for expression, expected in MOMENTS if expression in found}
    assert len(found) > 12
    assert not [expression for expression in found if "(" in expression or "+ INTERVAL" in expression]


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("'soon'", "'soon' is not a timestamp"),
        ("DATE '2026-02-30'", "'2026-02-30' is not a date"),
        ("TIMESTAMP_NTZ '2026-05-01 00:00:00Z'", "has no time zone"),
        ("'2026-05-01 00:00:00 Mars/Olympus'", "Mars/Olympus is not a time zone"),
        ("'2026-05-01 00:00:00 Europe'", "Europe is not a time zone"),
    ],
)
def test_a_literal_that_is_no_time_is_refused(expression: str, sentence: str) -> None:
    with pytest.raises(SqlRefused) as refused:
        fold(expression)
    assert sentence in refused.value.message
    assert refused.value.position == 0


@pytest.mark.parametrize(
    ("expression", "position", "sentence"),
    [
        ("now() - o.proctime", 8, "o.proctime names a column: that is a temporal join, not time travel"),
        ("now() - `a b`.c", 8, "`a b`.c names a column"),
        ("proctime", 0, "proctime names a column"),
        ("interval", 0, "interval names a column"),
        ("now() - (SELECT 1)", 9, "A query can't give the time"),
        ("now() = '2026-05-01'", 6, "`=` can't be used in the time"),
        ("coalesce(NULL, (SELECT 1))", 16, "A query can't give the time"),
        ("(VALUES (1))", 1, "A query can't give the time"),
        ("timestampadd(DAY, -1, now()", 12, "parenthesis is not closed"),
        ("CASE WHEN true THEN now()", 0, "This CASE is not closed"),
        ("now() -", 7, "missing or unfinished"),
        ("", 0, "missing or unfinished"),
        ("WHERE", 0, "missing or unfinished"),
        ("(now()", 0, "not closed"),
    ],
)
def test_what_is_not_a_constant_time_is_refused_where_it_stands(
    expression: str, position: int, sentence: str
) -> None:
    before = "SELECT * FROM t TIMESTAMP AS OF "
    with pytest.raises(SqlRefused) as refused:
        read_statement(before + expression)
    assert sentence in refused.value.message
    assert refused.value.position == (len(before) + position if expression else len(before) - 1)
    assert isinstance(refused.value, StatementFailed)


OTHERS = [
    "rand(1)",
    "X'00'",
    "nvl(NULL, now())",
    "CAST(NULL AS TIMESTAMP)",
    "now() || 'x'",
    "(now() / 2)",
    "now() - INTERVAL '1' DAY / 2",
    "now() - INTERVAL '1' DAY - 1 - 2",
    "now() - INTERVAL 1 DAY -2 HOURS",
    "now() - now()",
    "CASE WHEN (CASE 1 WHEN 1 THEN true END) THEN now() END",
    "array(now(), NULL)[0]",
    "struct(now()).col1::TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "if(now() > '2026-05-01', now(), NULL)",
    "(now() > '2026-05-01')",
    "'2026-05-01' COLLATE UTF8_LCASE",
]


@pytest.mark.parametrize("expression", [*(expression for expression, _ in MOMENTS), *OTHERS])
def test_the_end_is_found(expression: str) -> None:
    sql = f"SELECT * FROM t TIMESTAMP AS OF {expression} o JOIN u TIMESTAMP AS OF {expression} WHERE 1 = 1"
    first, second = read_statement(sql).uses
    assert (first.time_expression, second.time_expression) == (expression, expression)
    assert (first.alias, second.alias) == ("o", None)


def test_the_position_is_that_in_the_whole_statement() -> None:
    sql = "SELECT *\nFROM t TIMESTAMP AS OF 'soon' o"
    with pytest.raises(SqlRefused) as refused:
        literal_time(sql, (32, 38), now_ms=0, zone=UTC)
    assert refused.value.position == sql.index("'soon'")
    assert refused.value.message.endswith("(line 2, column 24)")


def test_a_zone_that_does_not_exist_is_an_error() -> None:
    for name in ("Nowhere/Land", "+19:00", "", "../etc/passwd", "Europe"):
        with pytest.raises(ValueError, match=r"UTC|time zone"):
            zone_of(name)


def test_a_skipped_local_time_is_later_by_the_gap_and_a_repeated_one_is_the_first() -> None:
    assert fold("'2026-03-29 02:30:00'") == utc(2026, 3, 29, 1, 30)
    assert fold("'2026-10-25 02:30:00'") == utc(2026, 10, 25, 0, 30)


ZONES = st.sampled_from(
    ["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "+05:30", "Asia/Kathmandu"]
)
TEXTS = st.builds(
    lambda day, separator, clock, fraction, zone: day + separator + clock + fraction + zone,
    st.builds("{}-{}-{}".format, st.integers(1990, 2035), st.integers(0, 13), st.integers(0, 32)),
    st.sampled_from(["", " ", "T", "  "]),
    st.builds(":".join, st.lists(st.integers(0, 61).map(str), max_size=3)),
    st.sampled_from(["", ".", ".1", ".123456789"]),
    st.sampled_from(["", "Z", " Z", "+02", "-02:30", " UTC", "GMT+3", " America/New_York", "nowhere", "+19"]),
)


@unhurried(500)
@given(TEXTS, ZONES)
def test_a_string_is_read_as_spark_reads_it(spark_judge: SparkJudge, text: str, zone: str) -> None:
    expected = spark_judge.timestamp(text, zone)
    try:
        local = read_timestamp(text, datetime(2026, 5, 20).date())
    except ValueError:
        assert expected is None
        return
    moment = instant(local.replace(tzinfo=None), local.tzinfo or zone_of(zone))
    has_seconds = re.match(r"[\d-]+[ T]\d+:\d+:", text)
    # Spark takes a zone only behind seconds.
    assert moment == expected or (expected is None and local.tzinfo is not None and not has_seconds)


def test_a_time_of_day_is_todays_in_the_session_zone() -> None:
    late = datetime(2026, 5, 20, 23, tzinfo=UTC)
    now_ms = (late - EPOCH) // timedelta(milliseconds=1)
    folded = literal_time("'10:20'", (0, 7), now_ms=now_ms, zone=ZoneInfo("Asia/Tokyo"))
    assert folded == (utc(2026, 5, 21, 1, 20) - EPOCH) // timedelta(milliseconds=1)

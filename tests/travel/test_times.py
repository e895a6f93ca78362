"""Constant expressions become one moment, as Spark would have them."""

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
from paimark.core.travel.times.times import NeedsSpark, fold_time
from paimark.core.travel.times.zones import instant, shifted, zone_of
from tests.travel.conftest import SparkJudge
from tests.travel.generated import unhurried

NOW = datetime(2026, 5, 20, 12, 34, 56, 789_000, tzinfo=UTC)
BERLIN = "Europe/Berlin"


def ms(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def fold(expression: str, zone: str = BERLIN) -> datetime:
    folded = fold_time(expression, now_ms=ms(NOW), zone=zone)
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=folded)


def utc(*fields: int) -> datetime:
    return datetime(*fields, tzinfo=UTC)  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
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
        ("CURRENT_TIMESTAMP(0)", utc(2026, 5, 20, 12, 34, 56)),
        ("CAST('2026-05-01 00:00:00' AS TIMESTAMP(3))", utc(2026, 4, 30, 22)),
        ("CAST('2026-05-01 00:00:00.75' AS TIMESTAMP(0))", utc(2026, 4, 30, 22)),
        ("CAST('2026-05-01 00:00:00' AS TIMESTAMP_LTZ(3))", utc(2026, 4, 30, 22)),
        ("CAST('2026-05-01 00:00:00' AS TIMESTAMP(3) WITH LOCAL TIME ZONE)", utc(2026, 4, 30, 22)),
        ("CAST('2026-05-01 00:00:00' AS TIMESTAMP WITHOUT TIME ZONE)", utc(2026, 4, 30, 22)),
        ("TO_TIMESTAMP_LTZ(1700000000123, 3)", utc(2023, 11, 14, 22, 13, 20, 123_000)),
        ("TO_TIMESTAMP_LTZ(1700000000, 0)", utc(2023, 11, 14, 22, 13, 20)),
        ("now() /* then */ - -- less\n INTERVAL 1 HOUR", NOW - timedelta(hours=1)),
    ],
)
def test_a_constant_expression_is_one_moment(expression: str, expected: datetime) -> None:
    assert fold(expression) == expected


@pytest.mark.parametrize(
    ("expression", "position", "sentence"),
    [
        ("'soon'", 0, "'soon' is not a timestamp"),
        ("now() - o.proctime", 8, "o.proctime names a column: that is a temporal join, not time travel"),
        ("now() - `a b`.c", 8, "`a b`.c names a column"),
        ("proctime", 0, "proctime names a column"),
        ("max(o.t)", 4, "o.t names a column"),
        ("now() - (SELECT 1)", 9, "A query can't give the time"),
        ("now() = '2026-05-01'", 6, "`=` can't be used in the time"),
        ("NULL", 0, "The time is NULL"),
        ("coalesce(NULL, (SELECT 1))", 16, "A query can't give the time"),
        ("(VALUES (1))", 1, "A query can't give the time"),
        ("timestampadd(DAY, -1, now()", 12, "parenthesis is not closed"),
        ("CASE WHEN true THEN now()", 0, "This CASE is not closed"),
        ("CURRENT_TIMESTAMP(10)", 0, "0 to 9 digits after the second"),
        ("now() -", 7, "missing or unfinished"),
        ("", 0, "missing or unfinished"),
        ("(now()", 0, "not closed"),
        ("now() now()", 6, "`now` is not expected"),
        ("INTERVAL 1 DAY", 0, "An interval alone is not a time"),
        ("now() - INTERVAL '1'", 17, "INTERVAL 1 has no unit"),
        ("now() - INTERVAL 1.5 DAY", 8, "'1.5' is not a whole number of days"),
        ("now() - INTERVAL '1-2' DAY TO SECOND", 8, "'1-2' is not DAY TO SECOND"),
        ("now() - INTERVAL '5 parsecs'", 8, "PARSEC is not a unit of time"),
        ("now() - INTERVAL 5 NANOSECONDS", 8, "NANOSECOND is not a unit of time"),
        ("2 + DATE '2026-02-30'", 4, "'2026-02-30' is not a date"),
        ("TIMESTAMP_NTZ '2026-05-01 00:00:00Z'", 0, "has no time zone"),
        ("'2026-05-01 00:00:00 Mars/Olympus'", 0, "Mars/Olympus is not a time zone"),
        ("'2026-05-01 00:00:00 Europe'", 0, "Europe is not a time zone"),
        ("1700000000000", 0, "are they milliseconds?"),
        ("now() - 1e999999999 * INTERVAL 1 DAY", 8, "1e999999999 is too large"),
        ("now() - 1e29 * INTERVAL 1 DAY", 6, "outside the years 1 to 9999"),
        ("now() + INTERVAL 9000 YEARS", 6, "outside the years 1 to 9999"),
        ("date_trunc('era', now())", 0, "does not know the unit 'ERA'"),
    ],
)
def test_what_is_not_a_constant_time_is_refused_where_it_stands(
    expression: str, position: int, sentence: str
) -> None:
    with pytest.raises(SqlRefused) as refused:
        fold(expression)
    assert sentence in refused.value.message
    assert refused.value.position == position
    assert isinstance(refused.value, StatementFailed)


@pytest.mark.parametrize(
    ("expression", "position"),
    [
        ("rand(1)", 0),
        ("X'00'", 0),
        ("nvl(NULL, now())", 4),
        ("CAST(NULL AS TIMESTAMP)", 5),
        ("now() || 'x'", 6),
        ("(now() / 2)", 7),
        ("now() - INTERVAL '1' DAY / 2", 25),
        ("now() - now()", 6),
        ("CAST('2026-05-01' AS STRING)", 0),
        ("to_timestamp('1.5.2026', 'd.M.y')", 0),
        ("now() - make_interval(0, 0, 0, 1)", 8),
        ("timestampadd(DAY, -1, now())", 0),
        ("CASE WHEN (CASE 1 WHEN 1 THEN true END) THEN now() END", 0),
        ("array(now(), NULL)[0]", 18),
        ("if(now() > '2026-05-01', now(), NULL)", 0),
        ("(now() > '2026-05-01')", 0),
    ],
)
def test_what_only_spark_works_out_is_left_to_it_with_its_end_found(expression: str, position: int) -> None:
    with pytest.raises(NeedsSpark) as left:
        fold(expression)
    assert left.value.position == position
    sql = f"SELECT * FROM t TIMESTAMP AS OF {expression} o JOIN u TIMESTAMP AS OF {expression} WHERE 1 = 1"
    first, second = read_statement(sql).uses
    assert (first.time_expression, second.time_expression) == (expression, expression)
    assert (first.alias, second.alias) == ("o", None)


def test_the_position_is_that_in_the_whole_statement() -> None:
    sql = "SELECT *\nFROM t TIMESTAMP AS OF 'soon' o"
    with pytest.raises(SqlRefused) as refused:
        fold_time(sql, now_ms=0, zone="UTC", span=(32, 38))
    assert refused.value.position == sql.index("'soon'")
    assert refused.value.message.endswith("(line 2, column 24)")


def test_a_zone_that_does_not_exist_is_an_error() -> None:
    for name in ("Nowhere/Land", "+19:00", "", "../etc/passwd", "Europe"):
        with pytest.raises(ValueError, match=r"UTC|time zone"):
            zone_of(name)


def test_a_skipped_local_time_is_later_by_the_gap_and_a_repeated_one_is_the_first() -> None:
    assert fold("'2026-03-29 02:30:00'") == utc(2026, 3, 29, 1, 30)
    assert fold("'2026-10-25 02:30:00'") == utc(2026, 10, 25, 0, 30)


def test_a_day_is_a_calendar_day_and_an_hour_is_sixty_minutes_when_clocks_change() -> None:
    assert fold("TIMESTAMP '2026-03-29 12:00' - INTERVAL 1 DAY") == utc(2026, 3, 28, 11)
    assert fold("TIMESTAMP '2026-03-29 12:00' - INTERVAL 23 HOURS") == utc(2026, 3, 28, 11)
    assert fold("TIMESTAMP '2026-03-29 12:00' - INTERVAL 24 HOURS") == utc(2026, 3, 28, 11)


ZONES = st.sampled_from(
    ["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "+05:30", "Asia/Kathmandu"]
)
# Years that Spark's and Python's tables of clock changes agree on.
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2035, 1, 1))


@unhurried(300)
@given(MOMENTS, st.integers(-400, 400), st.integers(-900, 900), ZONES)
def test_months_and_days_are_added_as_spark_adds_them(
    spark_judge: SparkJudge, start: datetime, months: int, days: int, zone: str
) -> None:
    moment = start.replace(tzinfo=UTC)
    assert shifted(moment, zone_of(zone), months, days) == spark_judge.later(moment, months, days, 0, zone)


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


def test_the_present_is_read_in_the_session_zone_given_as_an_object() -> None:
    folded = fold_time("current_date", now_ms=ms(utc(2026, 5, 20, 23)), zone=ZoneInfo("Asia/Tokyo"))
    assert folded == ms(utc(2026, 5, 20, 15))


def test_an_absurdly_long_sum_is_refused() -> None:
    with pytest.raises(SqlRefused, match="nested too deeply"):
        fold("now()" + " - INTERVAL 1 DAY" * 5000)

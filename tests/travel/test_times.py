"""Times in literals are moments as Spark would have them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.travel.parse.statement import Clause, SqlRefused
from paimark.core.travel.resolving import literal_time
from paimark.core.travel.times import instant, read_timestamp, zone_of
from tests.long import unhurried
from tests.travel.conftest import SparkJudge
from tests.wording import about

NOW = datetime(2026, 5, 20, 12, 34, 56, 789_000, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BERLIN = "Europe/Berlin"


def fold(text: str, zone: str = BERLIN, kind: str = "") -> datetime:
    clause = Clause("TIMESTAMP AS OF", 0, 0, time_start=7, literal=text, literal_type=kind)
    now_ms = (NOW - EPOCH) // timedelta(milliseconds=1)
    return EPOCH + timedelta(
        milliseconds=literal_time("SELECT\n'soon'", clause, now_ms=now_ms, zone=zone_of(zone))
    )


def utc(*fields: int) -> datetime:
    return datetime(*fields, tzinfo=UTC)  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("kind", "text", "sentence"),
    [
        ("", "soon", "'soon' timestamp"),
        ("DATE", "2026-02-30", "'2026-02-30' date"),
        ("TIMESTAMP_NTZ", "2026-05-01 00:00:00Z", "no zone"),
        ("", "2026-05-01 00:00:00 Mars/Olympus", "Mars/Olympus zone"),
        ("TIMESTAMP", "2026-05-01 00:00:00 Europe", "Europe zone"),
    ],
)
def test_a_literal_that_is_no_time_is_refused_where_it_stands(kind: str, text: str, sentence: str) -> None:
    with pytest.raises(SqlRefused) as refused:
        fold(text, kind=kind)
    assert about(*sentence.split()).search(refused.value.message)
    assert refused.value.position == 7
    assert refused.value.message.endswith("(line 2, column 1)")


def test_a_zone_that_does_not_exist_is_an_error() -> None:
    for name in ("Nowhere/Land", "+19:00", "", "../etc/passwd", "Europe"):
        with pytest.raises(ValueError, match=r"UTC|time zone"):
            zone_of(name)


def test_a_skipped_local_time_is_later_by_the_gap_and_a_repeated_one_is_the_first() -> None:
    assert fold("2026-03-29 02:30:00") == utc(2026, 3, 29, 1, 30)
    assert fold("2026-10-25 02:30:00") == utc(2026, 10, 25, 0, 30)


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
    assert fold("10:20") == utc(2026, 5, 20, 8, 20)
    assert fold("03:20", "Pacific/Auckland") == utc(2026, 5, 20, 15, 20)

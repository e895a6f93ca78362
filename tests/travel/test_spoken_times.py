"""Times as people say them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from paimark.core.errors import UsageError
from paimark.core.travel.times import read_spoken_time
from tests.wording import about

pytestmark = pytest.mark.usefixtures("in_berlin")

NOW = int(datetime(2026, 11, 22, 10, 30, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("now", "2026-11-22T10:30:00+00:00"),
        ("2 h ago", "2026-11-22T08:30:00+00:00"),
        ("90min  AGO", "2026-11-22T09:00:00+00:00"),
        ("3 weeks ago", "2026-11-01T10:30:00+00:00"),
        ("1 week ago", "2026-11-15T10:30:00+00:00"),
        # This day is a Sunday.
        ("monday 03:10", "2026-11-16T02:10:00+00:00"),
        ("Saturday at 3:10", "2026-11-21T02:10:00+00:00"),
        ("sunday", "2026-11-14T23:00:00+00:00"),
        ("yesterday 03:10", "2026-11-21T02:10:00+00:00"),
        ("Yesterday at 3:10", "2026-11-21T02:10:00+00:00"),
        ("yesterday", "2026-11-20T23:00:00+00:00"),
        ("today 09:00:30", "2026-11-22T08:00:30+00:00"),
        ("03:10", "2026-11-22T02:10:00+00:00"),
        ("2026-07-20 03:00", "2026-07-20T01:00:00+00:00"),
        ("2026-11-20", "2026-11-19T23:00:00+00:00"),
        ("2026-11-20T03:00:00Z", "2026-11-20T03:00:00+00:00"),
        ("2026-11-20 03:00:00 America/New_York", "2026-11-20T08:00:00+00:00"),
    ],
)
def test_a_time_is_understood(said: str, meant: str) -> None:
    assert datetime.fromtimestamp(read_spoken_time(said, NOW) / 1000, UTC).isoformat() == meant


@pytest.mark.parametrize(
    "said",
    [
        "",
        "soon",
        "2 ago",
        "5 moons ago",
        "yesterday noon",
        "monday noon",
        "someday 03:10",
        "weeks ago",
        "yesterday 2026-11-20",
        "25:00",
        "2026-13-01",
        "0000",
    ],
)
def test_what_is_no_time_is_refused_with_examples(said: str) -> None:
    with pytest.raises(UsageError, match=about("not", "time")) as caught:
        read_spoken_time(said, NOW)
    assert "2 h ago" in caught.value.hint

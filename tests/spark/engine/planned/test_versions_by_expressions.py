"""Tables at the time that an expression gives: Spark works it out while the statement is planned."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from paimark.core.spark.client.client import Engine
from tests.paimon import open_table
from tests.spark.engine_fixture import ask, in_zone
from tests.wording import about


@pytest.fixture(scope="module")
def at(engine_warehouse: Path) -> dt.datetime:
    """When snapshot 3 of `shop.orders` was committed."""
    snapshot = open_table(engine_warehouse, "shop.orders").snapshot_manager().get_snapshot_by_id(3)
    return dt.datetime.fromtimestamp(snapshot.time_millis / 1000, dt.UTC)


def versions(engine: Engine, expression: str) -> list[str]:
    """The versions that two tables are read at, by one expression."""
    sql = f"""SELECT * FROM shop.orders TIMESTAMP AS OF {expression} AS o
        JOIN shop.orders AS OF TIMESTAMP {expression} USING (order_id)"""
    with in_zone(engine, "Asia/Tokyo"):
        answer = ask(engine, sql, limit=1)
    assert answer.finish
    return [reading.version.partition(",")[0] for reading in answer.readings]


@pytest.mark.long
def test_expressions_without_columns_are_times(engine: Engine, at: dt.datetime) -> None:
    millis = int(at.timestamp() * 1000)
    here = at.astimezone(dt.timezone(dt.timedelta(hours=9))).replace(tzinfo=None)
    text = here.isoformat(" ", "milliseconds")
    since = int((dt.datetime.now(dt.UTC) - at).total_seconds() * 1000)
    day = f"{here.year}, {here.month}, {here.day}"
    clock = f"{here.hour}, {here.minute}, {here.second}.{here.microsecond:06d}"
    german = f"{here:%d.%m.%Y %H:%M:%S}.{here.microsecond // 1000:03d}"
    expressions = [
        f"TO_TIMESTAMP('{german}', 'dd.MM.yyyy HH:mm:ss.SSS')",
        f"TO_TIMESTAMP_LTZ({millis}, 3)",
        f"TIMESTAMPADD(MILLISECOND, 5, TIMESTAMP '{text}' - INTERVAL '0.005' SECOND)",
        f"dateadd(SECOND, 0, TIMESTAMP '{text}')",
        f"make_timestamp({day}, {clock})",
        f"from_unixtime({millis // 1000 + 1})",
        f"add_months(DATE '{here.date()}', 0) + (TIMESTAMP '{text}' - DATE '{here.date()}')",
        f"TIMESTAMP '{text}' + INTERVAL '1' MICROSECOND / 2",
        f"CAST(concat('', '{text}') AS TIMESTAMP(3))",
        f"CAST(concat('', '{text}') AS TIMESTAMP(3) WITH LOCAL TIME ZONE)",
        f"CURRENT_TIMESTAMP(3) - make_dt_interval(0, 0, 0, {since / 1000:.3f}) + INTERVAL '0' DAY / 3",
        f"CASE WHEN now() > '2020-01-01' THEN TIMESTAMP '{text}' END",
    ]
    for expression in expressions:
        first, second = versions(engine, expression)
        # The present has gone on, and seconds are rounded up.
        later = ("snapshot.3", "snapshot.4", "snapshot.5")
        expected = later if "CURRENT" in expression or "unixtime" in expression else ("snapshot.3",)
        assert first == second and first in expected, expression


@pytest.mark.parametrize(
    ("expression", "words", "at"),
    [
        ("timestampadd(DAY, -1, proctime)", "proctime column temporal join", "proctime"),
        ("nvl(NULL, NULL)", "NULL", "nvl"),
        ("NULL", "NULL", "NULL"),
        ("timestamp_seconds(rand())", "another", "timestamp_seconds"),
        ("nix(1)", "nix", "nix"),
        ("to_timestamp('x', 'yyyy')", "not parsed", ""),
        ("now() - now()", "INTERVAL", ""),
    ],
)
def test_what_is_no_constant_is_refused_at_its_place(
    engine: Engine, expression: str, words: str, at: str
) -> None:
    sql = f"SELECT 1,\n * FROM shop.orders TIMESTAMP AS OF {expression} o"
    failure = ask(engine, sql).failure
    assert about(*words.split()).search(failure.message), failure
    if at:
        assert failure.position == sql.index(at)

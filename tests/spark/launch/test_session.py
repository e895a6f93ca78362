"""What a statement sets holds for the statements after it: the time zone above all."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from paimark.core.errors import StatementFailed
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import SCAN, check_setting, less_memory
from paimark.core.travel.parse.sql import read_statement
from tests.paimon import open_table
from tests.spark.engine_fixture import ask, rows
from tests.wording import about

ZONE = "SELECT current_timezone() AS zone"


@pytest.fixture
def zoned(engine: Engine) -> Iterator[Engine]:
    yield engine
    assert ask(engine, "RESET spark.sql.session.timeZone").finish


@pytest.mark.parametrize(
    ("statement", "zone"),
    [
        ("SET TIME ZONE 'Asia/Tokyo'", "Asia/Tokyo"),
        ("SET TIME ZONE INTERVAL '08:00' HOUR TO MINUTE", "+08:00"),
        ("SET spark.sql.session.timeZone = America/Los_Angeles", "America/Los_Angeles"),
    ],
)
def test_the_time_zone_that_is_set_holds(zoned: Engine, statement: str, zone: str) -> None:
    machine = rows(zoned, ZONE)
    assert ask(zoned, statement).finish
    assert rows(zoned, ZONE) == [{"zone": zone}]
    assert ask(zoned, "RESET spark.sql.session.timeZone").finish
    assert rows(zoned, ZONE) == machine


def test_a_time_of_time_travel_is_in_the_zone_that_is_set(zoned: Engine, engine_warehouse: Path) -> None:
    snapshots = open_table(engine_warehouse, "shop.orders").snapshot_manager()
    at = dt.datetime.fromtimestamp(snapshots.get_snapshot_by_id(3).time_millis / 1000, dt.UTC)
    assert ask(zoned, "SET TIME ZONE 'Asia/Tokyo'").finish
    there = at.astimezone(dt.timezone(dt.timedelta(hours=9))).replace(tzinfo=None)
    answer = ask(zoned, f"SELECT * FROM shop.orders TIMESTAMP AS OF '{there.isoformat(' ', 'milliseconds')}'")
    (reading,) = answer.readings
    assert reading.version.startswith("snapshot.3, ")
    assert reading.version.endswith("+09:00")


def test_a_zone_that_only_spark_knows_is_refused_and_not_kept(zoned: Engine) -> None:
    before = rows(zoned, ZONE)
    failure = ask(zoned, "SET TIME ZONE 'PST'").failure
    assert "PST" in failure.message
    assert rows(zoned, ZONE) == before


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SET spark.paimark.scann = library", f"no setting spark.paimark.scann {SCAN}"),
        ("SET `spark.paimark.scan`=nativ", "auto library nativ"),
        ("set spark.paimark.merge.localBytes=much", "number bytes much"),
        ("SET spark.paimark.merge.keptKeyBytes=-1", "number bytes -1"),
        ("SET spark.paimark.reuse=no", "on off no"),
        ("SET spark.paimark.idle-timeout=1 h", "engine starts --spark-conf"),
        ("RESET spark.paimark.scann", "no setting"),
        ("SET spark.paimark.scann", f"no setting spark.paimark.scann {SCAN}"),
        ("SET spark.paimon.scan.tag-name;", "spark.paimon.scan.tag-name stock"),
        # Spark would take it for another setting.
        ("SET Spark.Paimark.scan = library", f"no setting Spark.Paimark.scan {SCAN}"),
        # Stock Paimon's connector reads that snapshot from then on.
        ("SET `spark.paimon.scan.snapshot-id`=1", "spark.paimon.scan.snapshot-id stock VERSION AS OF"),
    ],
)
def test_a_setting_of_paimons_that_would_do_nothing_is_refused(sql: str, words: str) -> None:
    with pytest.raises(StatementFailed) as failure:
        check_setting(read_statement(sql))
    assert about(*words.split()).search(failure.value.said)
    assert SCAN not in words or SCAN in failure.value.hint


@pytest.mark.parametrize(
    "sql",
    [
        "SET spark.paimark.scan = library",
        "SET spark.paimark.scan",
        "RESET spark.paimark.scan",
        "SET spark.paimark.merge.localBytes=0",
        "SET spark.paimark.reuse=off",
        "SET",
        "SET TIME ZONE LOCAL",
        "SET spark.sql.ansi.enabled=true",
        "SELECT 1",
    ],
)
def test_other_settings_are_sparks_affair(sql: str) -> None:
    check_setting(read_statement(sql))


@pytest.mark.parametrize(
    ("memory", "half"), [("6026m", "3013m"), ("4g", "2048m"), ("1g", "512m"), ("600m", "512m"), ("x", "1g")]
)
def test_a_java_that_takes_too_much_may_have_half_of_it(memory: str, half: str) -> None:
    assert f"spark.driver.memory={half} " in less_memory(memory)

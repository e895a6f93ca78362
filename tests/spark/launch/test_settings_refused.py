"""Settings that Spark does not take end in a sentence, and never in a wait without end."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.config import Settings
from core.spark.client.client import Engine
from tests.spark.engine_fixture import ask


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("spark.sql.shuffle.partitions", "many", "Spark does not take spark.sql.shuffle.partitions=many"),
        ("spark.paimark.scann", "python", "There is no setting spark.paimark.scann"),
        ("spark.paimark.scan", "nativ", "spark.paimark.scan is auto, python or pypaimon, not nativ"),
        ("spark.paimon.scan.tag-name", "t", "spark.paimon.scan.tag-name is of stock Paimon's connector"),
        # Fails inside Spark's own start.
        ("spark.executor.heartbeatInterval", "abc", "The value 'abc' in the config"),
    ],
)
def test_a_setting_that_spark_does_not_take_is_said(
    warehouse: Path, tmp_path: Path, name: str, value: str, said: str
) -> None:
    settings = Settings(
        str(warehouse),
        spark_master="local[1]",
        spark_conf={name: value},
    )
    engine = Engine(settings, tmp_path / "engine.log")
    try:
        assert said in ask(engine, "SELECT 1").failure.message
    finally:
        engine.close()

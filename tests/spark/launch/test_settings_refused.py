"""Settings that Spark does not take end in a sentence, and never in a wait without end."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.config import Settings
from paimark.core.errors import Unavailable
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session import require_no_redirection
from tests.spark.engine_fixture import ask
from tests.wording import about


def test_a_variable_that_names_another_spark_is_refused() -> None:
    """It was passed over, and rows came of a Spark on this machine."""
    elsewhere = {"SPARK_REMOTE": "sc://host"}
    with pytest.raises(Unavailable, match=r"^SPARK_REMOTE "):
        require_no_redirection(elsewhere, None, {})
    require_no_redirection(elsewhere, "local[2]", {})
    # As spark-defaults.conf may have it, or --spark-conf.
    require_no_redirection(elsewhere, None, {"spark.master": "local[2]"})
    with pytest.raises(Unavailable, match=r"^PYSPARK_SUBMIT_ARGS "):
        require_no_redirection({"PYSPARK_SUBMIT_ARGS": "--master yarn pyspark-shell"}, "yarn", {})
    require_no_redirection({"PYSPARK_SUBMIT_ARGS": "pyspark-shell"}, None, {})
    require_no_redirection({"SPARK_REMOTE": ""}, None, {})


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        pytest.param(
            "spark.sql.shuffle.partitions",
            "many",
            "spark.sql.shuffle.partitions=many",
            marks=pytest.mark.long,
        ),
        ("spark.paimark.scann", "python", "no setting spark.paimark.scann"),
        ("spark.paimark.scan", "nativ", "spark.paimark.scan auto library nativ"),
        ("spark.paimon.scan.tag-name", "t", "spark.paimon.scan.tag-name stock"),
        # Fails inside Spark's own start.
        pytest.param(
            "spark.executor.heartbeatInterval",
            "abc",
            "The value 'abc' in the config",
            marks=pytest.mark.long,
        ),
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
        assert about(*said.split()).search(ask(engine, "SELECT 1").failure.message)
    finally:
        engine.close()

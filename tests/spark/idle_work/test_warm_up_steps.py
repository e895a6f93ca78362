"""What the engine does before it is asked: in a session of its own, on a warehouse of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.spark.engine.classic import classic_runner
from paimark.core.spark.launch.session import Spark
from paimark.core.spark.launch.session_settings import WARM_UP
from paimark.core.spark.protocol import Start
from tests.spark.library.test_merged_keys import plans


def test_every_statement_of_the_warm_up_runs(
    spark_here: Spark, warehouse: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """An error ends nothing: the engine passes over it, and would be slow for ever."""
    session = spark_here.session
    runner = classic_runner(spark_here, Start(str(warehouse), {}, None, {}, str(spark_here.scratch), True))
    session.conf.set(WARM_UP, "on")
    try:
        warm_up = runner.warm_up()
    finally:
        session.conf.unset(WARM_UP)
    assert warm_up is not None
    before = max(plans(session), default=-1)
    for step in warm_up.steps():
        step()
    assert "warm-up:" not in capfd.readouterr().err
    # The last one's.
    assert any("Join" in plan for plan in plans(session, before).values())

"""An engine that nobody asks anything ends, and comes back with the next statement."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from core.config import Settings
from core.errors import UsageError
from core.spark.client.client import Engine
from core.spark.client.idle import Idle, idle_seconds
from core.spark.launch.session_settings import IDLE_TIMEOUT
from core.spark.protocol import Finished
from tests.spark.standalone import SPARING


@pytest.mark.parametrize(
    ("conf", "seconds"),
    [({}, 1800), ({IDLE_TIMEOUT: "90 s"}, 90), ({IDLE_TIMEOUT: "1h"}, 3600), ({IDLE_TIMEOUT: "0"}, None)],
)
def test_the_setting(conf: dict[str, str], seconds: float | None) -> None:
    assert idle_seconds(conf) == seconds


def test_a_faulty_setting_is_named() -> None:
    with pytest.raises(UsageError, match=IDLE_TIMEOUT):
        idle_seconds({IDLE_TIMEOUT: "soon"})


def test_use_puts_the_end_off() -> None:
    ended = threading.Event()
    idle = Idle(60, ended.set)
    idle.used()
    first = idle._timer
    idle.used()
    assert first is not None and first.finished.is_set() and idle._timer is not first
    idle.stop()
    assert not ended.is_set()


def test_an_idle_engine_ends_and_the_next_statement_starts_it(engine_warehouse: Path, tmp_path: Path) -> None:
    settings = Settings(
        str(engine_warehouse),
        spark_master="local[1]",
        spark_conf={
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": SPARING,
            IDLE_TIMEOUT: "1 s",
        },
    )
    engine = Engine(settings, tmp_path / "engine.log")
    try:
        engine.start()
        process = engine._process
        assert process is not None
        assert process.wait(lambda: process.ended, 60)
        assert engine.state == "resting"
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)
        # Busy is not idle, however long it takes.
        *_, end = engine.run("SELECT sum(id) FROM range(1000000)")
        assert isinstance(end, Finished)
        assert engine._process is not process
    finally:
        engine.close()

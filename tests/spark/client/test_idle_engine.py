"""An engine that nobody asks anything ends, and comes back with the next statement."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from paimark.core.config import Settings
from paimark.core.errors import UsageError
from paimark.core.spark.client.client import Engine, Idle, idle_seconds
from paimark.core.spark.launch.session_settings import IDLE_TIMEOUT
from tests.eventually import eventually
from tests.spark.client.test_engine import session_processes, state_of
from tests.spark.engine_fixture import ask, rows
from tests.spark.launch.test_session import ZONE
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


def test_a_statement_left_half_way_does_not_keep_the_process_from_its_end() -> None:
    script = """
from paimark.core.spark.client.client import Idle

def statement():
    idle = Idle(60, print)
    try:
        yield
    finally:
        idle.used()

left = statement()
next(left)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=240)


def test_use_puts_the_end_off() -> None:
    ended = threading.Event()
    idle = Idle(60, ended.set)
    idle.used()
    first = idle._timer
    idle.used()
    assert first is not None and first.finished.is_set() and idle._timer is not first
    idle.stop()
    assert not ended.is_set()


@pytest.mark.long
def test_an_idle_engine_ends_and_the_next_statement_finds_what_was_set(
    engine_warehouse: Path, tmp_path: Path
) -> None:
    """Nobody is to notice. Once it is closed no process and no file is left."""
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
        for statement in ("SET a.b = c", "RESET", "SET TIME ZONE 'Asia/Tokyo'", "SET x.y = z", "RESET x.y"):
            assert ask(engine, statement).finish
        assert ask(engine, "SET d.e = f").finish
        process = engine._process
        assert process is not None
        assert process.wait(lambda: process.ended, 60)
        assert engine.state == "resting"
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)
        # Busy is not idle, however long it takes.
        assert rows(engine, ZONE) == [{"zone": "Asia/Tokyo"}]
        assert rows(engine, "SET d.e") == [{"key": "d.e", "value": "f"}]
        assert [rows(engine, f"SET {name}")[0]["value"] for name in ("a.b", "x.y")] == ["<undefined>"] * 2
        assert engine._process is not process
        rows(engine, "SELECT count(*) FROM shop.orders")
        last = engine._process
        assert last is not None
        commands = " ".join(command for _, command in session_processes(last.pid))
        assert "SparkSubmit" in commands
        assert last.scratch.stat().st_mode & 0o077 == 0
    finally:
        engine.close()
    assert state_of(engine) == "stopped"
    eventually(lambda: not session_processes(last.pid))
    assert not last.scratch.exists()

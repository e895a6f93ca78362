"""A cancel costs a statement, not the engine: neither one that starts nor one that is slow to stop."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import cast

import pytest

from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import CANCELLED, Event, Failed
from paimark.tui.work.engine_room import EngineRoom
from paimark.tui.work.spark_work import SparkWork
from tests.spark.client.test_cancel_engine_work import stuck
from tests.spark.client.test_engine import ENDLESS
from tests.spark.engine_fixture import rows


def begun(engine: Engine) -> tuple[threading.Thread, list[Event]]:
    """A statement without an end in a thread of its own, and where its events come to be."""
    ended: list[Event] = []
    thread = threading.Thread(target=lambda: ended.extend(engine.run(ENDLESS)))
    thread.start()
    while engine.state == "stopped" or not engine._busy.locked():
        time.sleep(0.01)
    return thread, ended


def test_a_statement_is_cancelled_at_once_while_spark_starts_and_the_start_goes_on(mortal: Engine) -> None:
    """And the next one waits for the end of one that was cancelled.

    The console closes the rows of a difference, and opens others at once.
    """
    mortal.close()
    thread, ended = begun(mortal)
    time.sleep(0.5)
    process = mortal._process
    mortal.cancel()
    thread.join()
    end = ended[-1]
    assert isinstance(end, Failed) and end.cause == "cancelled"
    assert mortal.state == "starting"
    thread, ended = begun(mortal)
    mortal.cancel(may_kill=False)
    assert rows(mortal, "SELECT 2 AS a") == [{"a": 2}]
    thread.join()
    end = ended[-1]
    assert isinstance(end, Failed) and end.cause == "cancelled"
    assert mortal._process is process


def test_a_statement_that_waits_for_a_cancelled_one_can_be_cancelled_too(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = begun(engine)
    with monkeypatch.context() as patched:
        # The cancelled one does not stop.
        patched.setattr(Engine, "_stop", lambda engine, sent: None)
        engine.cancel(may_kill=False)
        ended: list[Event] = []
        second = threading.Thread(target=lambda: ended.extend(engine.run("SELECT 2 AS a")))
        second.start()
        time.sleep(0.3)
        assert second.is_alive() and not ended
        engine.cancel(of=second.ident)
        second.join(5)
        assert ended == [CANCELLED] and first.is_alive()
    # Now it does.
    if (sent := engine._sent) is not None:
        engine._stop(sent)
    first.join()


def test_a_cancel_of_one_thread_leaves_the_statement_of_another(engine: Engine) -> None:
    """A change that is past its work in Spark is cancelled while somebody's query runs."""
    thread, ended = begun(engine)
    time.sleep(0.2)
    work = SparkWork(EngineRoom(engine.settings, engine))
    assert work.engine() is engine
    for _ in range(2):
        work.cancel()
        work.cancel_again()
    time.sleep(0.3)
    assert not engine._cancelled and not any(isinstance(each, Failed) for each in ended)
    engine.cancel(may_kill=False, of=thread.ident)
    thread.join()
    end = ended[-1]
    assert isinstance(end, Failed) and end.cause == "cancelled"


@pytest.mark.long
def test_a_slow_cancel_kills_only_where_it_may(
    mortal: Engine, engine_warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What does not stop is left until somebody says that the engine may go."""
    monkeypatch.setattr("paimark.core.spark.client.client.GRACE_SECONDS", 0.0)
    rows(mortal, "SELECT count(*) FROM shop.orders")
    process = mortal._process
    name = stuck(engine_warehouse, "slow_stop")
    ended: list[Event] = []
    statement = f"SELECT reflect('java.lang.Thread', 'sleep', 3000L), count(*) FROM {name}"
    thread = threading.Thread(target=lambda: ended.extend(mortal.run(statement)))
    thread.start()
    time.sleep(2)
    mortal.cancel(may_kill=False)
    thread.join()
    end = ended[-1]
    assert isinstance(end, Failed) and end.cause == "cancelled"
    assert mortal._process is process
    thread = threading.Thread(target=lambda: ended.extend(mortal.run(statement)))
    thread.start()
    time.sleep(2)
    mortal.kill()
    thread.join()
    end = ended[-1]
    assert isinstance(end, Failed) and "was killed" in end.message and end.cause == "cancelled"
    assert rows(mortal, "SELECT 2 AS a") == [{"a": 2}]
    assert mortal._process is not process


class _CancelledAtOnce:
    """A lock for `Engine._busy`: a cancellation comes right after a thread has taken it."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._lock = engine, threading.Lock()

    def acquire(self, timeout: float) -> bool:
        taken = self._lock.acquire(timeout=timeout)
        self._engine.cancel(of=threading.get_ident())
        return taken

    def release(self) -> None:
        self._lock.release()

    def locked(self) -> bool:
        return self._lock.locked()


def test_a_statement_that_is_cancelled_as_it_takes_its_turn_is_not_sent(tmp_path: Path) -> None:
    engine = Engine(Settings(str(tmp_path)), tmp_path / "log")
    engine._busy = cast(threading.Lock, _CancelledAtOnce(engine))
    assert list(engine.run("SELECT 1")) == [CANCELLED]
    assert engine.state == "stopped" and not engine._busy.locked()

"""Java dies in each phase of a statement: one sentence, the same in all of them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Batch, Event, Failed
from tests.eventually import eventually
from tests.spark.client.test_engine import java_of, processes_of, running, state_of, the_end
from tests.spark.engine_fixture import rows
from tests.wording import about

ENDLESS_ROWS = "SELECT id, repeat('x', 100) AS text FROM range(0, 1000000000000, 1, 1)"
KILLED = ("SIGKILL (signal 9)", "memory")


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Within the context the process does not answer; then it is dead."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)


def started(engine: Engine) -> int:
    engine.wait_ready()
    return java_of(engine)


def require_dead(end: Event, engine: Engine, how: tuple[str, ...] = KILLED) -> None:
    assert isinstance(end, Failed) and end.cause == "engine"
    assert about("engine died", "Java process", *how).search(end.message)
    assert about(engine.log_path).search(end.hint)
    less = "--spark-conf spark.driver.memory=512m"
    assert (less in end.hint) == (how == KILLED)


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("SELECT order_id, count(*) FROM shop.orders GROUP BY order_id", marks=pytest.mark.long),
        pytest.param("DESCRIBE shop.orders", marks=pytest.mark.long),
        pytest.param("SET spark.paimark.lookups = off", marks=pytest.mark.long),
        pytest.param("EXPLAIN SELECT * FROM shop.orders", marks=pytest.mark.long),
        pytest.param("SELECT * FROM shop.orders TIMESTAMP AS OF now()", marks=pytest.mark.long),
    ],
)
def test_java_dies_while_a_statement_is_planned(mortal: Engine, sql: str) -> None:
    ended: list[Event] = []
    with frozen(started(mortal)):
        thread = threading.Thread(target=lambda: ended.extend(mortal.run(sql)))
        thread.start()
        time.sleep(1)
        assert not ended
    thread.join()
    require_dead(ended[-1], mortal)


@pytest.mark.long
def test_java_dies_while_rows_are_fetched(mortal: Engine) -> None:
    pid = started(mortal)
    with closing(mortal.run(ENDLESS_ROWS)) as events:
        while not isinstance(next(events), Batch):
            pass
        os.kill(pid, signal.SIGKILL)
        require_dead(the_end(events), mortal)


@pytest.mark.long
def test_java_dies_while_no_statement_runs(mortal: Engine) -> None:
    os.kill(started(mortal), signal.SIGKILL)
    eventually(lambda: state_of(mortal) == "failed")
    assert rows(mortal, "SELECT 1 AS one") == [{"one": 1}]


@pytest.mark.long
def test_java_dies_while_a_statement_is_cancelled(mortal: Engine) -> None:
    pid = started(mortal)
    with running(mortal) as events:
        with frozen(pid):
            mortal.cancel()
        require_dead(the_end(events), mortal)


@pytest.mark.long
def test_java_is_asked_to_end_while_a_statement_runs(mortal: Engine) -> None:
    """Spark stops first, and its error is about a cluster."""
    pid = started(mortal)
    with running(mortal) as events:
        os.kill(pid, signal.SIGTERM)
        require_dead(the_end(events), mortal, ("exit code 143",))


def test_java_dies_while_spark_starts(engine_warehouse: Path, tmp_path: Path) -> None:
    """Python is connected to Java, and waits for Spark's session."""
    engine = Engine(Settings(str(engine_warehouse), spark_master="local[1]"), tmp_path / "engine.log")
    with closing(engine):
        engine.start()
        eventually(lambda: is_connected(engine))
        os.kill(java_of(engine), signal.SIGKILL)
        end = the_end(engine.run("SELECT 1"))
    assert isinstance(end, Failed) and end.cause == "start"
    assert about(*KILLED).search(end.message)
    assert "--spark-conf spark.driver.memory=1g" in end.hint


def is_connected(engine: Engine) -> bool:
    """Whether somebody has connected to the engine's Java, as Linux lists it."""
    java = next((pid for pid, command in processes_of(engine) if "SparkSubmit" in command), None)
    try:
        sockets = {os.readlink(each) for each in Path(f"/proc/{java}/fd").iterdir()}
        tables = [Path(f"/proc/{java}/net/{name}").read_text() for name in ("tcp", "tcp6")]
    except OSError:
        return False
    entries = [line.split() for table in tables for line in table.splitlines()[1:]]
    return any(entry[3] == "01" and f"socket:[{entry[9]}]" in sockets for entry in entries)


@pytest.mark.long
def test_a_statement_that_ends_java_is_not_short_of_memory(mortal: Engine) -> None:
    """Java ends with the same code when it runs out of memory."""
    [*_, end] = mortal.run("SELECT java_method('java.lang.System', concat('ex', 'it'), 3)")
    require_dead(end, mortal, ("exit code 3",))
    assert rows(mortal, "SELECT 1 AS one") == [{"one": 1}]


@pytest.mark.long
def test_a_statement_takes_more_memory_than_java_has(mortal: Engine) -> None:
    [*_, end] = mortal.run("SELECT length(repeat('x', 2000000000))")
    assert isinstance(end, Failed) and end.cause == "engine"
    assert about("memory", "Java", "1g").search(end.message)
    assert "--spark-conf spark.driver.memory=" in end.hint
    assert rows(mortal, "SELECT 1 AS one") == [{"one": 1}]

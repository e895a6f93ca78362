"""On Kubernetes as far as an API server shows: what is asked of it, and a start that gets no pod."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest

from paimark.core.config import Settings
from paimark.core.errors import Unavailable
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import EXECUTORS_TIMEOUT
from tests.spark.launch.kubernetes.full_cluster import FullCluster
from tests.spark.standalone import SPARING
from tests.wording import about

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": SPARING,
    "spark.executor.instances": "2",
    "spark.kubernetes.namespace": "lake",
    "spark.kubernetes.container.image": "registry.test/spark:4",
    "spark.kubernetes.executor.label.team": "ours",
}


def refused(cluster: FullCluster, warehouse: Path, log: Path, **more: str) -> Unavailable:
    """What is told of a start on it, which has to end in two minutes."""
    settings = Settings(
        str(warehouse), spark_master=f"k8s://{cluster.endpoint}", spark_conf={**SETTINGS, **more}
    )
    began = time.monotonic()
    with closing(Engine(settings, log)) as engine, pytest.raises(Unavailable) as told:
        engine.wait_ready(300)
    assert time.monotonic() - began < 120
    return told.value


def test_a_start_without_pods_ends_with_a_sentence(engine_warehouse: Path, tmp_path: Path) -> None:
    with FullCluster() as cluster:
        told = refused(cluster, engine_warehouse, tmp_path / "engine.log", **{EXECUTORS_TIMEOUT: "5 s"})
    assert about(f"k8s://{cluster.endpoint}", "no executor", "5 seconds").search(told.message), (
        cluster.requests
    )
    assert f"{EXECUTORS_TIMEOUT}=10 min" in told.hint
    assert len(cluster.pods) == 2
    for pod in cluster.pods.values():
        assert pod["metadata"]["labels"]["team"] == "ours"
        assert pod["spec"]["containers"][0]["image"] == "registry.test/spark:4"


def test_an_api_server_that_does_not_answer_is_told(engine_warehouse: Path, tmp_path: Path) -> None:
    """Pods are asked for, and then it says nothing to who watches them."""
    waits = {EXECUTORS_TIMEOUT: "5 s", "spark.scheduler.maxRegisteredResourcesWaitingTime": "10s"}
    with FullCluster(is_mute=True) as cluster:
        told = refused(cluster, engine_warehouse, tmp_path / "engine.log", **waits)
    assert about(f"k8s://{cluster.endpoint}", "not start", "45 seconds").search(told.message), (
        cluster.requests
    )
    assert "watch" in told.hint
    assert any("watch=true" in each for each in cluster.requests)

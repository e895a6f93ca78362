"""What a cluster lacks is said in a sentence, before Spark tries for minutes."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from paimark.core.errors import Unavailable
from paimark.core.spark.launch import cluster, masters
from paimark.core.spark.launch.cluster import ClusterNode, cluster_at, is_cluster
from paimark.core.spark.launch.masters import require_known, require_master
from paimark.core.spark.launch.session_settings import EXECUTORS_TIMEOUT
from tests.wording import about


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        *(("local", False), ("local[*]", False), ("local[2]", False)),
        *(("local-cluster[2,1,1024]", True), ("yarn", True), ("spark://a:7077", True)),
    ],
)
def test_where_tasks_run(master: str, expected: bool) -> None:
    assert is_cluster(master) is expected


@pytest.mark.parametrize(
    "master",
    ["foo", "YARN", "yarn-client", "mesos://m:5050", "local[x]", "local[*", "local[0]", "Local", "spark"],
)
def test_what_is_no_master_is_refused_before_java_starts(master: str) -> None:
    """Java ended with exit code 1, or asked for a secret."""
    with pytest.raises(Unavailable, match=about(master, "no master")) as told:
        require_known(master)
    assert "local[4]" in told.value.hint and "sc://host:15002" in told.value.hint


def test_masters_as_spark_takes_them() -> None:
    local = ("local", "local[4]", "local[*]", "local[*,3]", "local[2, 3]", "local-cluster[2, 1, 1024]")
    for master in (*local, "yarn", "k8s://https://host", "spark://a:7077"):
        require_known(master)


def test_a_master_that_is_not_there_is_named_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        require_master(f"spark://127.0.0.1:1,127.0.0.1:{port}", {}, {})
    with pytest.raises(Unavailable, match=rf"There is no Spark at spark://127\.0\.0\.1:{port} "):
        require_master(f"spark://127.0.0.1:{port}", {}, {})


def test_a_kubernetes_that_is_not_there_is_named_at_once() -> None:
    """But behind a proxy, which alone knows."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
        require_master(f"k8s://{place}", {}, {})
        require_master(f"k8s://http://{place}/clusters/lake", {}, {})
    with pytest.raises(Unavailable, match=rf"There is no Kubernetes at k8s://https://{place} "):
        require_master(f"k8s://https://{place}", {}, {})
    with pytest.raises(Unavailable, match="There is no Kubernetes at k8s://h:p "):
        require_master("k8s://h:p", {}, {})
    require_master(f"k8s://https://{place}", {}, {"https_proxy": "http://proxy:3128"})
    assert masters._api_server("k8s://api.test") == "api.test:443"
    assert masters._api_server("k8s://http://[::1]/x") == "[::1]:80"
    assert masters._api_server("k8s://[::1]:6443") == "[::1]:6443"


@pytest.mark.parametrize("master", ["spark://m", "spark://m:", "spark://a:7077x,b:7077"])
def test_a_master_without_a_port_is_told_how_to_write_it(master: str) -> None:
    with pytest.raises(Unavailable, match=about(master, "no address")) as told:
        require_master(master, {}, {})
    assert "spark://host:7077" in told.value.hint


def test_another_version_of_spark_is_named(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.12-3.5.1.jar").touch()
    with pytest.raises(Unavailable, match=about("Spark 3.5.1", "PySpark", "4")):
        require_master("spark://127.0.0.1:1", {}, {"SPARK_HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("master", "said", "message", "hint"),
    [
        (
            "yarn",
            "Failed to submit application_17_0002 to YARN : it was submitted to unknown queue: nope\nmore",
            ("YARN", "no queue nope"),
            "spark.yarn.queue",
        ),
        (
            "yarn",
            "Application application_17_0003 failed 2 times",
            ("yarn", "Application application_17_0003 failed 2 times"),
            "`yarn logs -applicationId application_17_0003`",
        ),
        (
            "local[2]",
            "Address already in use",
            ("local[2]", "Address already in use"),
            "",
        ),
        (
            "spark://m:7077",
            "Cannot call methods on a stopped SparkContext.",
            ("spark://m:7077", "master", "no answer", "executors"),
            "spark.authenticate.secret",
        ),
    ],
)
def test_why_spark_did_not_start_is_told(master: str, said: str, message: tuple[str, ...], hint: str) -> None:
    told = masters.start_failure(master, said)
    assert about(*message).search(told.message) and hint in told.hint
    # The engine's own log is told where there is no better hint.
    assert bool(told.hint) is bool(hint)


def test_a_faulty_time_is_named() -> None:
    assert cluster_at("yarn", {}).seconds == 60
    with pytest.raises(Unavailable, match=EXECUTORS_TIMEOUT):
        cluster_at("yarn", {EXECUTORS_TIMEOUT: "soon"})


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "Job aborted due to stage failure: Master removed our application: FAILED",
            ("spark://m:7077", "ended", "application"),
        ),
        (
            "Lost task 0.3 in stage 0.0 (TID 3) (node2 executor 1): java.io.IOException: a\nb",
            ("first task", "executor node2", "java.io.IOException: a b"),
        ),
    ],
)
def test_why_the_first_task_failed(said: str, expected: tuple[str, ...]) -> None:
    assert about(*expected).search(cluster._unfit(said, "spark://m:7077").message)


def test_a_machine_that_does_not_see_the_warehouse_is_named() -> None:
    cluster._require(ClusterNode("node1", "17.0.1", True), "/w")
    with pytest.raises(Unavailable, match=about("executor node1", "warehouse /w")):
        cluster._require(ClusterNode("node1", "17.0.1", False), "/w")

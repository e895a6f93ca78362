"""On a real YARN: a ResourceManager and a NodeManager in one process, executors in containers of theirs."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.config import Settings
from core.spark.client.client import Engine
from core.spark.launch.session_settings import EXECUTORS_TIMEOUT
from tests.interop.java_server import SPARK_JARS, start_java_server
from tests.interop.stock import ToolMissing
from tests.spark.engine_fixture import rows
from tests.spark.standalone import SPARING
from tests.storage.hadoop.hdfs_server import CLUSTER

SOURCE = Path(__file__).parent / "MiniYarn.java"
# Hadoop's, and what its mini-cluster takes and does not bring.
JARS = (
    CLUSTER,
    "junit:junit:4.13.2",
    "org.bouncycastle:bcprov-jdk18on:1.78.1",
    "org.bouncycastle:bcpkix-jdk18on:1.78.1",
    "org.bouncycastle:bcutil-jdk18on:1.78.1",
    "javax.xml.bind:jaxb-api:2.3.1",
    "com.sun.xml.bind:jaxb-impl:2.3.1",
    "com.sun.xml.bind:jaxb-core:2.3.0.1",
    "javax.activation:javax.activation-api:1.2.0",
)

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]


@pytest.fixture
def yarn(tmp_path: Path) -> Iterator[Path]:
    """The directory with its configuration. Skips without a JDK and Maven."""
    options = ["--add-opens", "java.base/java.lang=ALL-UNNAMED"]
    try:
        server = start_java_server(SOURCE, tmp_path, os.getpid(), JARS, options)
    except ToolMissing as missing:
        pytest.skip(f"no YARN to test with: {missing}")
    yield tmp_path
    os.kill(server.pid, signal.SIGKILL)


def test_executors_in_containers_that_come_with_the_work(
    yarn: Path, engine_warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration, staging = tmp_path / "spark-conf", tmp_path / "staging"
    configuration.mkdir()
    staging.mkdir()
    (configuration / "spark-env.sh").write_text(f"HADOOP_CONF_DIR='{yarn}'\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(configuration))
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": SPARING,
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.executor.extraJavaOptions": SPARING,
        "spark.yarn.am.memory": "384m",
        "spark.yarn.jars": f"local:{SPARK_JARS}",
        "spark.yarn.stagingDir": f"file://{staging}",
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.dynamicAllocation.maxExecutors": "2",
        EXECUTORS_TIMEOUT: "5 min",
    }
    engine = Engine(
        Settings(str(engine_warehouse), spark_master="yarn", spark_conf=settings), tmp_path / "engine.log"
    )
    try:
        engine.wait_ready(600)
        [node] = engine.nodes
        assert "pypaimon 2." in node
        # Spark's own are where the setting says, so none of them was uploaded.
        assert not list(staging.rglob("*.jar")) and not list(staging.rglob("__spark_libs__*"))
        assert list(staging.rglob("__spark_conf__.zip"))
        assert len(rows(engine, "SELECT * FROM shop.orders")) == 8
        counted = rows(engine, "SELECT id FROM range(0, 100000, 1, 7)")
        assert [row["id"] for row in counted] == [*range(100000)]
    finally:
        engine.close()

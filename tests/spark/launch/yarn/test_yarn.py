"""On a real YARN: a ResourceManager and a NodeManager in one process, executors in containers of theirs."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from tests.interop.stock import ToolMissing
from tests.spark.engine_fixture import rows
from tests.spark.launch.yarn.yarn_server import SMALL_EXECUTORS, start_yarn

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]


@pytest.fixture
def yarn(tmp_path: Path) -> Iterator[Path]:
    """The directory with its configuration. Skips without a JDK and Maven."""
    try:
        server = start_yarn(tmp_path, os.getpid())
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
        **SMALL_EXECUTORS,
        "spark.yarn.stagingDir": f"file://{staging}",
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.dynamicAllocation.maxExecutors": "2",
    }
    engine = Engine(
        Settings(str(engine_warehouse), spark_master="yarn", spark_conf=settings), tmp_path / "engine.log"
    )
    try:
        engine.wait_ready(600)
        [node] = engine.nodes
        assert ": Java " in node
        # Spark's own are where the setting says, so none of them was uploaded.
        own = {jar.name for jar in (Path(pyspark.__file__).parent / "jars").iterdir()}
        assert not own.intersection(each.name for each in staging.rglob("*.jar"))
        assert not list(staging.rglob("__spark_libs__*"))
        assert list(staging.rglob("__spark_conf__.zip"))
        assert len(rows(engine, "SELECT * FROM shop.orders")) == 8
        counted = rows(engine, "SELECT id FROM range(0, 100000, 1, 7)")
        assert [row["id"] for row in counted] == [*range(100000)]
    finally:
        engine.close()

"""On a real YARN: a ResourceManager and a NodeManager in one process, executors in containers of theirs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from core.config import Settings
from core.spark.client.client import Engine
from core.spark.launch.session_settings import EXECUTORS_TIMEOUT
from tests.interop.stock import SMALL, download, jdk_tool
from tests.spark.engine_fixture import rows
from tests.spark.standalone import SPARING

SOURCE = Path(__file__).parent / "MiniYarn.java"
# Hadoop's, and what its mini-cluster takes and does not bring.
JARS = (
    "org.apache.hadoop:hadoop-client-minicluster:3.4.2",
    "junit:junit:4.13.2",
    "org.bouncycastle:bcprov-jdk18on:1.78.1",
    "org.bouncycastle:bcpkix-jdk18on:1.78.1",
    "org.bouncycastle:bcutil-jdk18on:1.78.1",
    "javax.xml.bind:jaxb-api:2.3.1",
    "com.sun.xml.bind:jaxb-impl:2.3.1",
    "com.sun.xml.bind:jaxb-core:2.3.0.1",
    "javax.activation:javax.activation-api:1.2.0",
)
SPARK = f"{Path(pyspark.__file__).parent}/jars/*"

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]


@pytest.fixture
def yarn(tmp_path: Path) -> Iterator[Path]:
    """The directory with its configuration. Skips without a JDK and Maven."""
    java, javac, maven = jdk_tool("java"), jdk_tool("javac"), shutil.which("mvn")
    if java is None or javac is None or maven is None:
        pytest.skip("a JDK and Maven are needed")
    jars, classes = tmp_path / "jars", tmp_path / "classes"
    for each in JARS:
        download(maven, each, jars)
    class_path = os.pathsep.join([str(classes), SPARK, f"{jars}/*"])
    subprocess.run([javac, "-nowarn", "-d", str(classes), "-cp", class_path, str(SOURCE)], check=True)
    command = [java, *SMALL, "--add-opens", "java.base/java.lang=ALL-UNNAMED", "-cp", class_path, SOURCE.stem]
    with (tmp_path / "yarn.log").open("w") as log:
        process = subprocess.Popen(
            [*command, str(tmp_path), str(os.getpid())],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdout is not None
    with process, process.stdout as said:
        try:
            assert said.readline().strip() == "ready", (tmp_path / "yarn.log").read_text()[-2000:]
            yield tmp_path
        finally:
            process.kill()


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
        "spark.yarn.jars": f"local:{SPARK}",
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

"""YARN in a process of its own, with or without Kerberos, and settings of engines on it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from paimark.core.spark.launch.session_settings import EXECUTORS_TIMEOUT
from tests.interop.java_server import SPARK_JARS, JavaServer, start_java_server
from tests.once import once_a_run
from tests.spark.standalone import SPARING
from tests.storage.hadoop.hdfs_server import CLUSTER
from tests.storage.hadoop.secure_server import SecureHdfs

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
# Executors are small, and Spark's own jars are on every node.
SMALL_EXECUTORS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": SPARING,
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": SPARING,
    "spark.yarn.am.memory": "384m",
    "spark.yarn.jars": f"local:{SPARK_JARS}",
    EXECUTORS_TIMEOUT: "5 min",
}


def start_yarn(directory: Path, until: int, options: Sequence[str] = ()) -> JavaServer:
    """Start it, until the process of that number ends; `directory` is then a HADOOP_CONF_DIR.

    Raises `ToolMissing` without a JDK and Maven.
    """
    opened = ["--add-opens", "java.base/java.lang=ALL-UNNAMED"]
    return start_java_server(SOURCE, directory, until, JARS, [*opened, *options])


def _start_secure(secure: SecureHdfs, directory: Path, until: int) -> str:
    return start_yarn(directory, until, [f"-Dsecure={secure.directory}", *java_options(secure)]).said


def java_options(secure: SecureHdfs) -> list[str]:
    """What /etc/krb5.conf makes unnecessary on a real node."""
    return [f"-Djava.security.krb5.conf={secure.directory}/krb5.conf"]


@pytest.fixture(scope="session")
def secure_yarn(secure: SecureHdfs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The HADOOP_CONF_DIR of a YARN that accepts only tickets, on the HDFS of `secure`."""
    # Containers inherit this process's environment, and must find no ticket.
    assert "KRB5CCNAME" not in os.environ and "HADOOP_CONF_DIR" not in os.environ
    start = partial(_start_secure, secure)
    directory, _ = once_a_run(tmp_path_factory, "secure-yarn", start, "YARN with Kerberos")
    return directory

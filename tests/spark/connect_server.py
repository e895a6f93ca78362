"""A real Spark Connect server on this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from paimark.core.spark.launch.home import find_spark
from paimark.core.spark.launch.java import find_java
from paimark.core.spark.launch.jvm import FLAGS
from paimark.core.spark.library.catalog_settings import EXTENSIONS, LAKE_EXTENSIONS
from tests.spark.standalone import SPARING, wait_for_log


@contextmanager
def connect_server(directory: Path, jars: Sequence[Path] = ()) -> Iterator[str]:
    """Its address, `sc://host:port`. It has these jars beside Spark's own, with their extension."""
    directory.mkdir(parents=True)
    spark, log = find_spark({}), directory / "server.log"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {
        "spark.master": "local[2]",
        "spark.app.name": "connect",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.local.dir": str(directory / "blocks"),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
    }
    if jars:
        settings[EXTENSIONS] = LAKE_EXTENSIONS
    classes = ":".join(map(str, (*jars, spark.home / "jars" / "*")))
    command = [
        *(str(find_java().executable), "-cp", classes, "-Xmx1g", *FLAGS),
        # Killed in the end, it leaves what it was sent there.
        *(
            *SPARING.split(),
            f"-Djava.io.tmpdir={directory}",
            *(f"-D{name}={value}" for name, value in settings.items()),
        ),
        "org.apache.spark.sql.connect.service.SparkConnectServer",
    ]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYTHON"))},
        **{"SPARK_HOME": str(spark.home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
    }
    with open(log, "wb") as out:
        server = subprocess.Popen(
            command, stdout=out, stderr=out, env=environment, cwd=directory, start_new_session=True
        )
    try:
        wait_for_log("(Spark Connect server started)", log, server)
        yield f"sc://127.0.0.1:{port}"
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()

"""Starts Spark's Java process, without the shell scripts and the launcher JVM in between.

Any Java will do that way, also one without the module `jdk.incubator.vector` that Spark's own launcher asks
for. Runs in the engine's process.
"""

from __future__ import annotations

import os
import struct
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from core.errors import Unavailable
from core.spark.java import Java
from core.spark.settings import properties_file

# What org.apache.spark.launcher.JavaModuleOptions of Spark 4.1 asks for, without the module above.
_OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
_FLAGS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
    "--enable-native-access=ALL-UNNAMED",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    # From release 24 on Netty needs to be told, and without it no Arrow batch leaves Java.
    "-Dio.netty.noUnsafe=false",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
)
# The exit code of a JVM under -XX:+ExitOnOutOfMemoryError, and of Spark's executor on the same.
OUT_OF_MEMORY = frozenset({3, 52})
_POLL_SECONDS = 0.02


def launch(
    java: Java, spark_home: Path, settings: Mapping[str, str], scratch: Path
) -> subprocess.Popen[bytes]:
    """Start it. It ends when its stdin is closed."""
    properties = scratch / "spark.properties"
    # Settings can hold secrets, so they are in a file of ours and not on a command line.
    properties.touch(mode=0o600)
    properties.write_text(properties_file(settings))
    own = settings.get("spark.driver.defaultJavaOptions", "").split()
    extra = settings.get("spark.driver.extraJavaOptions", "").split()
    command = [
        str(java.executable),
        "-cp",
        os.pathsep.join(_class_path(spark_home, settings)),
        f"-Xmx{settings['spark.driver.memory']}",
        *_FLAGS,
        f"-Djava.io.tmpdir={scratch}",
        f"-Dderby.system.home={scratch}",
        *own,
        *extra,
        "org.apache.spark.deploy.SparkSubmit",
        "--properties-file",
        str(properties),
        "pyspark-shell",
    ]
    environment = {
        **os.environ,
        "SPARK_HOME": str(spark_home),
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(_connection(scratch)),
    }
    return subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)


def listening(process: subprocess.Popen[bytes], java: Java, scratch: Path) -> tuple[int, str]:
    """Wait until it listens for PySpark: the port and the secret. Raises `Unavailable` when it ends."""
    connection = _connection(scratch)
    # Spark writes the file under another name first, so what is there is whole.
    while not connection.exists():
        if process.poll() is not None:
            raise Unavailable(
                f"Java {java.version} ({java.executable}) ended while Spark was starting "
                f"(exit code {process.returncode})"
            )
        time.sleep(_POLL_SECONDS)
    data = connection.read_bytes()
    connection.unlink()
    port, length = struct.unpack_from(">ii", data)
    return port, data[8 : 8 + length].decode()


def _connection(scratch: Path) -> Path:
    return scratch / "connection"


def _class_path(spark_home: Path, settings: Mapping[str, str]) -> list[str]:
    configuration = os.environ.get("SPARK_CONF_DIR", str(spark_home / "conf"))
    hadoop = [os.environ[name] for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR") if name in os.environ]
    extra = settings.get("spark.driver.extraClassPath", "")
    return [*([extra] if extra else []), configuration, str(spark_home / "jars" / "*"), *hadoop]

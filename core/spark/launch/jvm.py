"""Starts Spark's Java process, without the shell scripts and the launcher JVM in between.

Any Java will do that way, also one without the module `jdk.incubator.vector` that Spark's own launcher asks
for. Runs in the engine's process.
"""

from __future__ import annotations

import os
import re
import shlex
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from core.errors import Unavailable
from core.spark.compiling.kept_jars import PROPERTY
from core.spark.launch.cds import Archive, archive_for
from core.spark.launch.cluster import PACKAGE
from core.spark.launch.home import SparkHome
from core.spark.launch.java import Java
from core.spark.launch.settings import properties_file
from core.spark.stores.tickets import realm_option

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
FLAGS = (
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
# A start runs little code often, and the second compiler would take a third of its CPU time. What a scan runs
# goes round loops so often that these are reached at once all the same.
LATE_SECOND_COMPILER = (
    "-XX:Tier4InvocationThreshold=20000",
    "-XX:Tier4MinInvocationThreshold=2500",
    "-XX:Tier4CompileThreshold=50000",
    "-XX:Tier4BackEdgeThreshold=160000",
)
# Scans make much that is garbage at once: Java's own choice takes a tenth more CPU, and threads of its own.
COLLECTOR = "-XX:+UseParallelGC"
_A_COLLECTOR = re.compile(r"-XX:\+Use\w*GC\b")
# Where Java itself looks for options, beside its command line.
_OPTION_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
# What a person who asks for one of these has in mind is not ours.
_NOT_WITH_ARCHIVE = ("-Xshare", "-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit", "-XX:AOT", "-javaagent")
# The exit code of a JVM under -XX:+ExitOnOutOfMemoryError, and of Spark's executor on the same.
OUT_OF_MEMORY = frozenset({3, 52})
_POLL_SECONDS = 0.02
_LIBRARIES = "DYLD_LIBRARY_PATH" if sys.platform == "darwin" else "LD_LIBRARY_PATH"
# Where a Hadoop that Spark does not bring has its settings and its jars.
_HADOOP = ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")


def class_archive(java: Java, spark: SparkHome, settings: Mapping[str, str]) -> Archive | None:
    """The archive of classes for this start, None where Java is started in a way that none would fit."""
    # A class path of one's own comes first, and Java takes no archive that was made without it.
    if settings.get("spark.driver.extraClassPath") or any(
        option.startswith(_NOT_WITH_ARCHIVE) for option in _java_options(settings)
    ):
        return None
    return archive_for(java.executable, str(spark.home / "jars" / "*"), spark.jars, FLAGS)


def launch(
    java: Java,
    spark: SparkHome,
    settings: Mapping[str, str],
    scratch: Path,
    archive: Archive | None,
    jars: Sequence[Path] = (),
) -> subprocess.Popen[bytes]:
    """Start it, with `jars` behind Spark's own. It ends when its stdin is closed."""
    properties = scratch / "spark.properties"
    # Settings can hold secrets, so they are in a file of ours and not on a command line.
    properties.touch(mode=0o600)
    properties.write_text(properties_file(settings))
    command = [
        str(java.executable),
        "-cp",
        os.pathsep.join(_class_path(spark, settings, jars)),
        f"-Xmx{settings['spark.driver.memory']}",
        *FLAGS,
        *LATE_SECOND_COMPILER,
        *collector(_java_options(settings), os.environ),
        *(archive.start_flags(scratch) if archive is not None else ()),
        *([f"-D{PROPERTY}={archive.path.with_suffix('')}"] if archive is not None else ()),
        f"-Djava.io.tmpdir={scratch}",
        f"-Dderby.system.home={scratch}",
        *realm_option(_java_options(settings), os.environ),
        *_java_options(settings),
        "org.apache.spark.deploy.SparkSubmit",
        "--properties-file",
        str(properties),
        "pyspark-shell",
    ]
    environment = {
        **os.environ,
        "SPARK_HOME": str(spark.home),
        # Spark's scripts set it for whatever starts executors.
        "SPARK_SCALA_VERSION": spark.scala,
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(_connection(scratch)),
    }
    if os.environ["PYSPARK_PYTHON"] != sys.executable:
        # Spark's own way, for what runs beside executors, is not for what plans beside the driver.
        theirs = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(scratch / PACKAGE), theirs)))
    if libraries := settings.get("spark.driver.extraLibraryPath"):
        environment[_LIBRARIES] = os.pathsep.join(filter(None, (libraries, environment.get(_LIBRARIES))))
    if _imports_pyspark_here(spark, settings):
        del environment["SPARK_HOME"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)


def collector(options: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """The option for the garbage collector, none where one was chosen: with two Java does not start."""
    given = [*options, *(environment.get(name, "") for name in _OPTION_VARIABLES)]
    return () if any(map(_A_COLLECTOR.search, given)) else (COLLECTOR,)


def _imports_pyspark_here(spark: SparkHome, settings: Mapping[str, str]) -> bool:
    """Whether Python workers are this Python on this machine, with the PySpark that Spark came with.

    By its home Spark has them import the zip there, which holds no compiled modules: each kind of worker
    would take a second to start, and every task would begin with reading the names in it again.
    """
    is_here = settings["spark.master"].startswith("local") and "cluster" not in settings["spark.master"]
    is_this_python = os.environ["PYSPARK_PYTHON"] == sys.executable and "spark.pyspark.python" not in settings
    return is_here and is_this_python and spark.is_of_pyspark


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


def _java_options(settings: Mapping[str, str]) -> list[str]:
    names = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
    given = [*(settings.get(name, "") for name in names), os.environ.get("SPARK_SUBMIT_OPTS", "")]
    return [word for options in given for word in shlex.split(options)]


def _class_path(spark: SparkHome, settings: Mapping[str, str], jars: Sequence[Path]) -> list[str]:
    hadoop = [os.environ[name] for name in _HADOOP if os.environ.get(name)]
    extra = settings.get("spark.driver.extraClassPath", "")
    # Java takes an archive of classes only where directories come last; no jar of Spark's has files of the
    # names that are looked for in them.
    own = [*([extra] if extra else []), str(spark.home / "jars" / "*")]
    return [*own, *map(str, jars), str(spark.configuration), *hadoop]

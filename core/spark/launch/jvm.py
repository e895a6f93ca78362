"""Start Spark's Java process, without the shell scripts and the launcher JVM in between.

This also works with a Java without the module `jdk.incubator.vector`, which Spark's own launcher requires.
Runs in the engine's process.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import struct
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from paimark.core.errors import PaimarkError, Unavailable
from paimark.core.processes import ending, was_killed
from paimark.core.spark.launch.cds import Archive, archive_for
from paimark.core.spark.launch.home import SparkHome, own_home
from paimark.core.spark.launch.java import Java
from paimark.core.spark.launch.session_settings import less_memory
from paimark.core.spark.launch.settings import properties_file
from paimark.core.spark.stores.failures import realm_option

# As in org.apache.spark.launcher.JavaModuleOptions of Spark 4.1, without the module above.
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
# Spark's classes have a quarter of a million names. Java's table for 32,768 grows too late: until then each
# is searched for in long lists, for a tenth of the CPU time of a start.
MANY_NAMES = ("-XX:+UnlockExperimentalVMOptions", "-XX:SymbolTableSize=524288")
FLAGS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *MANY_NAMES,
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
    "--enable-native-access=ALL-UNNAMED",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    # From release 24 on Netty needs this option: without it Java can't send Arrow batches.
    "-Dio.netty.noUnsafe=false",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
)
# At the start little code runs often, and the second compiler would take a third of the CPU time. Scans run
# loops so often that they reach these thresholds at once.
LATE_SECOND_COMPILER = (
    "-XX:Tier4InvocationThreshold=20000",
    "-XX:Tier4MinInvocationThreshold=2500",
    "-XX:Tier4CompileThreshold=50000",
    "-XX:Tier4BackEdgeThreshold=160000",
)
# Scans make much short-lived garbage: Java's default collector takes a tenth more CPU, and more threads.
COLLECTOR = "-XX:+UseParallelGC"
_A_COLLECTOR = re.compile(r"-XX:\+Use\w*GC\b")
# Variables from which Java reads options, in addition to its command line.
_OPTION_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
# With one of these options the user has their own plans for class archives.
_NOT_WITH_ARCHIVE = ("-Xshare", "-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit", "-XX:AOT", "-javaagent")
# Java runs this when it has no memory left. Its exit code proves nothing: a statement can end Java with it.
_MEMORY_MARK = "_PAIMARK_MEMORY_MARK"
_MARK_MEMORY = f'-XX:OnOutOfMemoryError=: >"${_MEMORY_MARK}"'
_MACHINE_LEARNING = "spark-mllib_"
_BRINGING_CODE = (
    "spark.driver.extraClassPath",
    "spark.jars",
    "spark.jars.packages",
    "spark.plugins",
    "spark.sql.queryExecutionListeners",
    "spark.submit.pyFiles",
)
_POLL_SECONDS = 0.02
# Connections break, and Spark stops, shortly before the process has ended.
_DEATH_SECONDS = 3.0
_LIBRARIES = "DYLD_LIBRARY_PATH" if sys.platform == "darwin" else "LD_LIBRARY_PATH"
# Variables for the settings and the jars of a Hadoop outside of Spark.
_HADOOP = ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")


def class_archive(
    java: Java, spark: SparkHome, settings: Mapping[str, str], jars: Sequence[Path]
) -> Archive | None:
    """The archive of classes for this start; None if no archive would fit its options."""
    # The user's class path comes first, and Java refuses an archive that was made without it.
    if settings.get("spark.driver.extraClassPath") or any(
        option.startswith(_NOT_WITH_ARCHIVE) for option in _java_options(settings)
    ):
        return None
    loaded = (*jars_of(spark, settings), *jars)
    return archive_for(java.executable, os.pathsep.join(map(str, loaded)), loaded, FLAGS)


def launch(
    java: Java,
    spark: SparkHome,
    settings: Mapping[str, str],
    scratch: Path,
    archive: Archive | None,
    jars: Sequence[Path] = (),
) -> subprocess.Popen[bytes]:
    """Start Java, with `jars` after Spark's own. It ends when its stdin is closed."""
    properties = scratch / "spark.properties"
    # Settings can hold secrets, so they are in a private file and not on the command line.
    properties.touch(mode=0o600)
    properties.write_text(properties_file(settings))
    command = [
        str(java.executable),
        "-cp",
        os.pathsep.join(_class_path(spark, settings, jars)),
        f"-Xmx{settings['spark.driver.memory']}",
        *FLAGS,
        _MARK_MEMORY,
        *LATE_SECOND_COMPILER,
        *collector(_java_options(settings), os.environ),
        *(archive.start_flags(scratch) if archive is not None else ()),
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
        # As in Spark's scripts, for the start of executors.
        "SPARK_SCALA_VERSION": spark.scala,
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(_connection(scratch)),
        _MEMORY_MARK: str(_memory_mark(scratch)),
    }
    if workers_find_pyspark(spark, settings):
        del environment["SPARK_HOME"]
    if libraries := settings.get("spark.driver.extraLibraryPath"):
        environment[_LIBRARIES] = os.pathsep.join(filter(None, (libraries, environment.get(_LIBRARIES))))
    return subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)


def workers_find_pyspark(spark: SparkHome, settings: Mapping[str, str]) -> bool:
    """The Python workers of this Spark have the PySpark of `spark` without being told where it is.

    Told, by SPARK_HOME, they import it from a zip archive: they compile what they import, half a second each,
    and read the archive's directory anew for each package and task.
    """
    is_ours = settings.get("spark.pyspark.python") is None and os.environ.get("PYSPARK_PYTHON") in (
        None,
        sys.executable,
    )
    return is_ours and settings["spark.master"].startswith("local") and spark.home == own_home()


def collector(options: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """The option for the garbage collector; none if the user chose one, because Java refuses two."""
    given = [*options, *(environment.get(name, "") for name in _OPTION_VARIABLES)]
    return () if any(map(_A_COLLECTOR.search, given)) else (COLLECTOR,)


def listening(process: subprocess.Popen[bytes], java: Java, scratch: Path) -> tuple[int, str]:
    """Wait until Java listens for PySpark; return port and secret. Raises `Unavailable` if it ends."""
    connection = _connection(scratch)
    # Spark writes the file under another name first, so it is complete once it exists.
    while not connection.exists():
        if process.poll() is not None:
            raise start_failed(process, java)
        time.sleep(_POLL_SECONDS)
    data = connection.read_bytes()
    connection.unlink()
    port, length = struct.unpack_from(">ii", data)
    return port, data[8 : 8 + length].decode()


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether Java has ended, or ends in a moment."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_DEATH_SECONDS)
    return process.poll() is not None


def ran_out_of_memory(scratch: Path) -> bool:
    """Whether Java has ended because it had no memory left."""
    return _memory_mark(scratch).exists()


@contextmanager
def starting(process: subprocess.Popen[bytes], java: Java) -> Iterator[None]:
    """Within the context, the end of Java raises `Unavailable`, whatever call finds Java gone."""
    try:
        yield
    except PaimarkError:
        raise
    except Exception as error:
        if not has_ended(process):
            raise
        raise start_failed(process, java) from error


def start_failed(process: subprocess.Popen[bytes], java: Java) -> Unavailable:
    """The error for a Java process that ended before Spark was ready."""
    end = ending(process.returncode)
    hint = f"Start it again. {less_memory()}" if was_killed(process.returncode) else ""
    return Unavailable(f"Java {java.version} ({java.executable}) {end} while Spark was starting", hint)


def _connection(scratch: Path) -> Path:
    return scratch / "connection"


def _memory_mark(scratch: Path) -> Path:
    return scratch / "out-of-memory"


def _java_options(settings: Mapping[str, str]) -> list[str]:
    names = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
    given = [*(settings.get(name, "") for name in names), os.environ.get("SPARK_SUBMIT_OPTS", "")]
    return [word for options in given for word in shlex.split(options)]


def _class_path(spark: SparkHome, settings: Mapping[str, str], jars: Sequence[Path]) -> list[str]:
    hadoop = [os.environ[name] for name in _HADOOP if os.environ.get(name)]
    extra = settings.get("spark.driver.extraClassPath", "")
    # Java accepts an archive of classes only if directories come last. No jar of Spark has files with the
    # names of those that are searched for in the directories.
    loaded = map(str, (*jars_of(spark, settings), *jars))
    return [*([extra] if extra else []), *loaded, str(spark.configuration), *hadoop]


def jars_of(spark: SparkHome, settings: Mapping[str, str]) -> list[Path]:
    """Spark's own part of the class path.

    At each start its machine learning would register functions that no statement can call: a second of CPU.
    Only code that the user brings can use it.
    """
    brings_code = any(settings.get(name) for name in _BRINGING_CODE)
    return [jar for jar in spark.jars if brings_code or not jar.name.startswith(_MACHINE_LEARNING)]


def kill_descendants(pid: int) -> None:
    """Kill all descendants of a process."""
    children = _children()
    waiting = [*children[pid]]
    while waiting:
        each = waiting.pop()
        waiting += children[each]
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def _children() -> defaultdict[int, list[int]]:
    """The children of every process."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for pid, parent in _processes():
        children[parent].append(pid)
    return children


def _processes() -> list[tuple[int, int]]:
    proc = Path("/proc")
    if not (proc / "self" / "stat").exists():
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=False)
        pairs = (line.split() for line in listed.stdout.splitlines())
        return [(int(pid), int(parent)) for pid, parent in pairs]
    processes = []
    for entry in proc.iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                # The name in parentheses may contain anything; the parent is the second word after it.
                processes.append(
                    (int(entry.name), int((entry / "stat").read_text().rpartition(")")[2].split()[1]))
                )
    return processes

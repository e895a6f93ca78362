"""Start Spark in the engine's process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paimark.core.errors import Unavailable
from paimark.core.redaction import keep_secrets
from paimark.core.spark.java.objects import remember_classes
from paimark.core.spark.launch import cluster, jvm
from paimark.core.spark.launch.cds import Archive
from paimark.core.spark.launch.home import find_spark, load_spark_env
from paimark.core.spark.launch.jars import loaded_jars
from paimark.core.spark.launch.java import Java, find_java
from paimark.core.spark.launch.masters import require_known, require_master, start_failure
from paimark.core.spark.launch.session_settings import require_obeyed
from paimark.core.spark.launch.settings import LOOPBACK, ResultPort, result_port, spark_settings
from paimark.core.spark.protocol import Start
from paimark.core.spark.stores.launching import prepared

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_STOP_SECONDS = 3.0
_SWITCH_SECONDS = 0.0005
# Each of these variables would make PySpark use another process than the Java started here.
_REDIRECTIONS = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "PYSPARK_SUBMIT_ARGS")


@dataclass(frozen=True, slots=True)
class Spark:
    """A running Spark. `port` receives its tasks' rows.

    `archive` is the archive of its classes, or None. `nodes` describes the nodes of the cluster `joined`, a
    line each.
    """

    session: SparkSession
    process: subprocess.Popen[bytes]
    scratch: Path
    port: ResultPort
    memory: str
    archive: Archive | None
    nodes: tuple[str, ...]
    joined: cluster.Cluster | None

    def has_ended(self) -> bool:
        """Whether the Java process has ended. Ends it if it is ending already, or gives no answer."""
        if self._is_running():
            return False
        if not jvm.has_ended(self.process):
            self.process.kill()
            self.process.wait()
        return True

    def _is_running(self) -> bool:
        from py4j.protocol import Py4JError

        try:
            java: Any = self.session.sparkContext._jsc
            # A cluster can end its application while Java goes on. On one machine only the end of Java does.
            return not (java.sc().isStopped() and self.joined is None)
        except (Py4JError, OSError, EOFError):
            return False

    def stop(self) -> None:
        """End the Java process: first by a request (its hooks leave a cluster cleanly), then by force."""
        if self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_STOP_SECONDS)
        self.process.kill()
        self.process.wait()


def start_spark(start: Start, imports: Callable[[], None] = lambda: None) -> Spark:
    """Start Spark. Raises `Unavailable` if there is no Java, or if it ends while Spark starts.

    `imports` is called in a thread while Java starts.
    """
    scratch = Path(start.scratch)
    require_obeyed(start.conf)
    spark = find_spark()
    load_spark_env(spark)
    given = {**spark.defaults(), **start.conf}
    settings = spark_settings(start.master, given, scratch)
    own = loaded_jars(spark, start.options)
    settings, environment, jars = prepared(settings, start.warehouse, start.options, spark.hadoop, own)
    os.environ.update(environment)
    require_possible(settings)
    require_no_redirection(os.environ, start.master, given)
    # The secrets in configuration files were not known before.
    keep_secrets("", settings)
    master = settings["spark.master"]
    require_known(master)
    joined = None
    if cluster.is_cluster(master):
        require_master(master, settings, os.environ)
        joined = cluster.cluster_at(master, settings)
    result = result_port(settings, is_cluster=joined is not None)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    _prepare_environment(settings)
    java = find_java()
    if java.remark:
        print(f"paimark: {java.remark}", file=sys.stderr)
    archive = jvm.class_archive(java, spark, settings, jars)
    process = jvm.launch(java, spark, settings, scratch, archive, jars)
    with jvm.starting(process, java):
        session, nodes = _session(process, java, settings, start, joined, imports)
    result = result.at(session.sparkContext.getConf().get("spark.driver.host") or LOOPBACK)
    memory = settings["spark.driver.memory"]
    return Spark(session, process, scratch, result, memory, archive, tuple(map(str, nodes)), joined)


def _session(
    process: subprocess.Popen[bytes],
    java: Java,
    settings: Mapping[str, str],
    start: Start,
    joined: cluster.Cluster | None,
    imports: Callable[[], None],
) -> tuple[SparkSession, Sequence[cluster.ClusterNode]]:
    """Wait for Java, and begin a session in it. Returns also the nodes of the cluster `joined`."""
    import pyspark.sql.datasource  # noqa: F401
    from pyspark.sql import SparkSession

    importing = threading.Thread(target=_import_libraries, args=(imports,), name="imports", daemon=True)
    importing.start()
    scratch = Path(start.scratch)
    port, secret = jvm.listening(process, java, scratch)
    os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"] = str(port), secret
    with _java_errors_explained(settings["spark.master"]):
        with cluster.started_in_time(process, joined):
            _require_sql_settings(settings)
            session = SparkSession.builder.getOrCreate()
        remember_classes(session._jvm)
        importing.join()
        session.sparkContext.setInterruptOnCancel(True)
        context = session.sparkContext
        return session, cluster.prepare(context, joined, start.warehouse) if joined else []


def _import_libraries(others: Callable[[], None]) -> None:
    """Call `others`, which import what takes about as long as the start of Java."""
    interval = sys.getswitchinterval()
    # So that this thread soon releases the GIL: another one handles Java's answers.
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        # A failed import is reported where the module is needed.
        with suppress(ImportError):
            others()
    finally:
        sys.setswitchinterval(interval)


@contextmanager
def _java_errors_explained(master: str) -> Iterator[None]:
    """Turn an error of Java while Spark starts into `Unavailable`."""
    from py4j.protocol import Py4JJavaError

    try:
        yield
    except Py4JJavaError as error:
        raise start_failure(master, str(error.java_exception.getMessage())) from error


def _require_sql_settings(settings: Mapping[str, str]) -> None:
    """Start Spark's context. Raises `Unavailable` for a value that Spark SQL does not accept.

    In a session such a value makes PySpark recurse without end: it reads the settings to report the error.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark import SparkContext

    context = SparkContext.getOrCreate()
    assert context._jvm is not None
    taken = context._jvm.org.apache.spark.sql.internal.SQLConf()
    for name, value in settings.items():
        if name.startswith("spark.sql."):
            try:
                taken.setConfString(name, value)
            except Py4JJavaError as error:
                why = str(error.java_exception.getMessage()).splitlines()[0]
                raise Unavailable(
                    f"Spark does not take {name}={value}: {why}", "Check --spark-conf."
                ) from error


def _prepare_environment(settings: Mapping[str, str]) -> None:
    for name in _REDIRECTIONS:
        os.environ.pop(name, None)
    # To look for data sources, Spark runs Python: this one, which must not import from the working directory.
    os.environ.setdefault("PYSPARK_PYTHON", settings.get("spark.pyspark.python", sys.executable))
    os.environ["PYTHONSAFEPATH"] = "1"


_KEYTAB, _PRINCIPAL = "spark.kerberos.keytab", "spark.kerberos.principal"
# The names of both before Spark 3.
_ONCE = {"spark.yarn.keytab": _KEYTAB, "spark.yarn.principal": _PRINCIPAL}


def require_possible(settings: Mapping[str, str]) -> None:
    """Raises `Unavailable`, which names the first such setting."""
    if settings.get("spark.submit.deployMode", "client") != "client":
        raise Unavailable(
            "spark.submit.deployMode=cluster is not possible: rows come to this machine, Spark's driver",
            "Leave it out, or say client.",
        )
    for name, value in (("spark.api.mode", "connect"), ("spark.remote", None)):
        if name in settings and value in (None, settings[name]):
            raise Unavailable(
                f"{name} is not obeyed here", "Say --spark-master sc://host:15002 for Spark Connect."
            )
    _require_keytab(settings)


def require_no_redirection(
    environment: Mapping[str, str], master: str | None, given: Mapping[str, str]
) -> None:
    """Raises `Unavailable` for an environment variable that would redirect PySpark to another master.

    `given` are the user's settings.
    """
    if environment.get("SPARK_REMOTE") and not (master or given.get("spark.master")):
        raise Unavailable(
            "SPARK_REMOTE is not obeyed here",
            "Say --spark-master sc://host:15002 for Spark Connect, or --spark-master local for none.",
        )
    arguments = environment.get("PYSPARK_SUBMIT_ARGS", "").split()
    if arguments and arguments != ["pyspark-shell"]:
        raise Unavailable(
            "PYSPARK_SUBMIT_ARGS is not obeyed here",
            "Unset it: --spark-master and --spark-conf say the same, or spark-defaults.conf.",
        )


def _require_keytab(settings: Mapping[str, str]) -> None:
    named = {_ONCE.get(name, name) for name in (_KEYTAB, _PRINCIPAL, *_ONCE) if settings.get(name)}
    if len(named) == 1:
        [there] = named
        other = _PRINCIPAL if there == _KEYTAB else _KEYTAB
        raise Unavailable(
            f"{there} is of no use without {other}", "Give both, or neither and a ticket of kinit."
        )
    keytab = settings.get(_KEYTAB) or settings.get("spark.yarn.keytab")
    if keytab and not os.access(keytab.removeprefix("file://"), os.R_OK):
        raise Unavailable(f"{_KEYTAB}={keytab} can't be read", "Is it there, and readable by this user?")

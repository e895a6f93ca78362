"""Spark on other machines: wait for executors, check that they see the warehouse, and watch them.

Executors need no Python: their Java gets our jars from Spark. A warehouse in files must be mounted at the
same path.
"""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from paimark.core.durations import parse_duration
from paimark.core.errors import Unavailable, UsageError
from paimark.core.spark.launch.masters import KUBERNETES
from paimark.core.spark.launch.session_settings import DEFAULTS, EXECUTORS_TIMEOUT
from paimark.core.table.definition.kind_signs import is_on

if TYPE_CHECKING:
    from pyspark import SparkContext

_POLL_SECONDS = 0.2
_WATCH_SECONDS = 2.0
# Tasks that examine nodes: enough for each executor.
_MOST_LOOKS = 64
_LOOK_TAG = "paimark-look"
_START_SECONDS = 30.0
_OWN_WAIT = "spark.scheduler.maxRegisteredResourcesWaitingTime"
# Spark's messages for a job whose application the master has ended.
WAS_ENDED = ("SparkContext was shut down", "Master removed our application")


class ClusterNode(NamedTuple):
    """A machine with executors. `java` is the version of Java there."""

    host: str
    java: str
    sees_warehouse: bool

    def __str__(self) -> str:
        return f"{self.host}: Java {self.java}"


class Cluster(NamedTuple):
    """A master, and the seconds to wait for its executors.

    An elastic cluster has executors only while there is work. `own_seconds` is the time that Spark itself may
    take before.
    """

    master: str
    seconds: float
    is_elastic: bool = False
    own_seconds: float = 0.0

    def no_answer(self) -> Unavailable:
        return Unavailable(
            f"Spark did not start on {self.master} in {self.seconds + self.own_seconds:.0f} seconds",
            "May this user list, watch and create pods and config maps in spark.kubernetes.namespace? "
            f"--spark-conf '{EXECUTORS_TIMEOUT}=10 min' waits longer.",
        )

    def none_came(self) -> Unavailable:
        return Unavailable(
            f"{self.master} gave no executor in {self.seconds:.0f} seconds",
            "Are its workers alive, with the cores and the memory that spark.executor.* ask for? "
            f"--spark-conf '{EXECUTORS_TIMEOUT}=10 min' waits longer.",
        )


def is_cluster(master: str) -> bool:
    """Whether tasks run in other processes than the driver."""
    return not (master == "local" or master.startswith("local["))


def cluster_at(master: str, conf: Mapping[str, str]) -> Cluster:
    """The cluster by its settings. Raises `Unavailable` for an invalid setting."""
    try:
        seconds = parse_duration(conf.get(EXECUTORS_TIMEOUT, DEFAULTS[EXECUTORS_TIMEOUT])) / 1000
    except UsageError as error:
        raise Unavailable(f"{EXECUTORS_TIMEOUT}: {error.message}", error.hint) from error
    is_elastic = is_on(conf, "spark.dynamicAllocation.enabled")
    return Cluster(master, seconds, is_elastic, _own_seconds(conf))


def _own_seconds(conf: Mapping[str, str]) -> float:
    """The time that Spark's start takes, plus the time that Spark itself waits for executors."""
    text = conf.get(_OWN_WAIT, "30s")
    try:
        return _START_SECONDS + parse_duration(text) / 1000
    except UsageError:
        # A number without a unit is in milliseconds; for invalid values Spark reports an error.
        return _START_SECONDS + (int(text) / 1000 if text.strip().isdigit() else 0.0)


@contextmanager
def started_in_time(process: subprocess.Popen[bytes], of: Cluster | None) -> Iterator[None]:
    """A time limit for the start of Spark in its block: Kubernetes' API server may never answer.

    Only for Kubernetes. After the limit it kills Java, and raises `Unavailable`.
    """
    if of is None or not of.master.startswith(KUBERNETES):
        yield
        return
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        process.kill()

    timer = threading.Timer(of.seconds + of.own_seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception as error:
        if is_late.is_set():
            raise of.no_answer() from error
        raise
    finally:
        timer.cancel()


def prepare(context: SparkContext, of: Cluster, warehouse: str) -> list[ClusterNode]:
    """Wait for executors, and examine their machines. Raises `Unavailable`, which names what they lack."""
    nodes = _nodes(context, of, warehouse)
    for node in nodes:
        _require(node, warehouse)
    return nodes


def executors(context: SparkContext) -> int:
    """The present number of executors."""
    assert context._jsc is not None
    # One of these is the driver.
    return len(context._jsc.sc().statusTracker().getExecutorInfos()) - 1


def loss(context: SparkContext, of: Cluster) -> Unavailable | None:
    """Wait until the cluster becomes unusable, and return the reason; None if Spark ends before."""
    from py4j.protocol import Py4JError

    assert context._jsc is not None
    spark = context._jsc.sc()
    last = time.monotonic()
    while time.monotonic() - last < of.seconds:
        time.sleep(min(_WATCH_SECONDS, of.seconds / 2))
        try:
            if spark.isStopped():
                return _ended(of.master)
            # In an elastic cluster it is normal to have no executors without work.
            is_idle = of.is_elastic and not spark.statusTracker().getActiveJobIds()
            if is_idle or executors(context) > 0:
                last = time.monotonic()
        except (Py4JError, OSError):
            return None
    if of.is_elastic:
        return of.none_came()
    return Unavailable(
        f"All executors of {of.master} are gone, and for {of.seconds:.0f} seconds none came",
        "Are its workers alive? The next statement tries again.",
    )


def _nodes(context: SparkContext, of: Cluster, warehouse: str) -> list[ClusterNode]:
    """Examine nodes by tasks. This is the first job: in an elastic cluster it requests the executors."""
    from py4j.protocol import Py4JJavaError

    looks = min(max(context.defaultParallelism, executors(context)), _MOST_LOOKS)
    jvm: Any = context._jvm

    def looked() -> Sequence[str]:
        context.addJobTag(_LOOK_TAG)
        directory = warehouse if _is_local(warehouse) else None
        found: Sequence[str] = jvm.paimark.scans.Nodes.look(context._jsc, looks, directory)
        return found

    with ThreadPoolExecutor(1, "look") as thread:
        job, last = thread.submit(looked), time.monotonic()
        while not wait([job], _POLL_SECONDS).done:
            if executors(context) > 0:
                last = time.monotonic()
            elif time.monotonic() - last > of.seconds:
                context.cancelJobsWithTag(_LOOK_TAG)
                raise of.none_came()
    try:
        nodes = job.result()
    except Py4JJavaError as error:
        raise _unfit(str(error.java_exception.getMessage()), of.master) from error
    told = sorted({tuple(each.split("\t")) for each in nodes})
    return [ClusterNode(host, java, sees == "true") for host, java, sees in told]


def _require(node: ClusterNode, warehouse: str) -> None:
    if not node.sees_warehouse:
        raise Unavailable(
            f"Executor {node.host} does not see the warehouse {warehouse}",
            "Mount it at the same place on every machine, or keep it in an object store or HDFS.",
        )


def _ended(master: str) -> Unavailable:
    return Unavailable(
        f"{master} ended this application",
        "Somebody stopped it there, or its executors failed too often: its logs say which. "
        "The next statement tries again.",
    )


def _unfit(message: str, master: str) -> Unavailable:
    if any(words in message for words in WAS_ENDED):
        return _ended(master)
    host = re.search(r"\(TID \d+\) \((\S+) executor", message)
    where = f"executor {host[1]}" if host else "an executor"
    return Unavailable(f"The first task failed at {where}: {' '.join(message.split())[:300]}")


def _is_local(warehouse: str) -> bool:
    return "://" not in warehouse

"""Check that a master is reachable, before Spark tries for minutes.

Begin with `require_master`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from paimark.core.errors import Unavailable
from paimark.core.spark.launch.home import other_version, pyspark_version
from paimark.core.spark.launch.masters.listening import refusal_of
from paimark.core.spark.launch.masters.yarn import require_yarn
from paimark.core.spark.launch.masters.yarn_reasons import reason_of

KUBERNETES = "k8s://"
# The patterns by which Spark distinguishes masters.
_MASTERS = [
    re.compile(each)
    for each in (
        r"local(?:\[(?:\*|0*[1-9]\d*)(?:\s*,\s*\d+)?\])?",
        r"local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]",
        r"yarn|(?:spark|k8s)://.*",
    )
]
# Spark's client connects to the API server through one of these proxies.
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
# A ResourceManager's names for an application, and for an unknown queue.
_APPLICATION = re.compile(r"\bapplication_\d+_\d+\b")
_NO_QUEUE = re.compile(r"unknown queue: (\S+)")
_PLACE = re.compile(r".+:\d+")
_WITH_PORT = re.compile(r":[^\]]*$")


def require_known(master: str) -> None:
    """Raises `Unavailable` for a master that Spark does not know."""
    if not any(each.fullmatch(master) for each in _MASTERS):
        raise Unavailable(
            f"{master} is no master of Spark",
            "There are local, local[4], spark://host:7077, yarn, k8s://https://host and sc://host:15002.",
        )


def require_master(master: str, settings: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Raises `Unavailable` for a master that Spark would try for minutes, or fail on with a Java stack."""
    if master == "yarn":
        require_yarn(settings, environment)
    if master.startswith(KUBERNETES) and not any(name.upper() in _PROXIES for name in environment):
        require_listening(master, _api_server(master))
    if not master.startswith("spark://"):
        return
    home = environment.get("SPARK_HOME")
    if home and (theirs := other_version(Path(home))):
        raise Unavailable(
            f"SPARK_HOME ({home}) is Spark {theirs}, and PySpark here is {pyspark_version()}: "
            "they can't be one cluster",
            f"Unset SPARK_HOME if the cluster is Spark {pyspark_version()}, or install pyspark {theirs}.",
        )
    addresses = master.removeprefix("spark://").split(",")
    if not all(map(_PLACE.fullmatch, addresses)):
        raise Unavailable(
            f"{master} is no address of a master", "Write it as spark://host:7077; several end ,host:7077."
        )
    require_listening(master, *addresses)


def start_failure(master: str, java_message: str) -> Unavailable:
    """The error for a failed start of Spark, made from Java's message."""
    message = java_message.splitlines()[0]
    hint = "" if master.startswith("local") else "The workers' logs say more."
    if master == "yarn":
        if queue := _NO_QUEUE.search(java_message):
            return Unavailable(
                f"YARN has no queue {queue[1]}",
                "Name another: --spark-conf spark.yarn.queue=NAME. `yarn queue -list` knows them.",
            )
        message = reason_of(java_message)
        application = _APPLICATION.search(java_message)
        hint = f"`yarn logs -applicationId {application[0] if application else 'ID'}` says more."
    if "stopped SparkContext" in message:
        message = "the master ended it, as when executors can't be started there"
        if master.startswith("spark://"):
            message = "its master took no answer, or ended it, as when executors can't be started there"
            hint = f"Where it has spark.authenticate it lets in who has its spark.authenticate.secret. {hint}"
    return Unavailable(f"Spark did not start on {master}: {message}", hint)


def require_listening(master: str, *addresses: str) -> None:
    """Raises `Unavailable` if none of the places of this master, `host:port` each, accepts connections."""
    if refused := refusal_of(*addresses):
        what = "Kubernetes" if master.startswith(KUBERNETES) else "Spark"
        raise Unavailable(
            f"There is no {what} at {master} ({refused})", "Is it running, and is that its port?"
        )


def _api_server(master: str) -> str:
    """`host:port` of a Kubernetes master. Without a scheme Spark uses HTTPS."""
    address = master.removeprefix(KUBERNETES)
    url = urlsplit(address if "://" in address else f"https://{address}")
    address = url.netloc.rpartition("@")[2]
    # An IPv6 address, which is in brackets, contains colons as well.
    return address if _WITH_PORT.search(address) else f"{address}:{80 if url.scheme == 'http' else 443}"

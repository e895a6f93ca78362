"""Check that a master is reachable, before Spark tries for minutes.

Begin with `require_master`.
"""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from paimark.core.errors import Unavailable
from paimark.core.listening import refusal_of
from paimark.core.spark.launch.home import other_version, pyspark_version
from paimark.core.table.definition.kind_signs import is_on

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


_FAILED = re.compile(r"Application \S+ failed \d+ times.*? due to (?P<reason>.*)", re.DOTALL)
# What precedes YARN's own words.
_PREFIX = re.compile(
    r"^(?:Failing this attempt\.)?\s*(?:Diagnostics:)?\s*(?:\[\d{4}-\d\d-\d\d [\d:.]+\])?\s*"
)
_ERROR = r"((?:[\w$]+\.)+[\w$]*(?:Exception|Error)\b.*)"
# The lines that say why, the best first: an exception's cause, an exception, Java's own messages.
_BEST = (
    re.compile(f"^Caused by: {_ERROR}"),
    re.compile(f'^(?:Exception in thread "[^"]*" )?{_ERROR}'),
    re.compile(r"^(?:Error: )?((?:Could not|Unrecognized|Invalid) .+)"),
)
_SURROUNDINGS = re.compile(
    r"AM Container for |For more detailed output|\. Failing the application|at "
    r"|Exception from container-launch|Container id:|Exit code:|Exception message:|Shell output:"
    r"|Last \d+ bytes|Container exited|WARNING:"
)
_PACKAGE = re.compile(r"\b(?:[a-z]\w*\.)+(?=[A-Z][\w$]*(?:Exception|Error)\b)")
_EXIT = re.compile(r"exited with\s+exitCode: (-?\d+)")
_LONGEST = 300


# The first line of such a report only names an attempt and an exit code.
def reason_of(report: str) -> str:
    """The line that says most, without Java's packages; the first line if the report says nothing more."""
    failed = _FAILED.match(report)
    if failed is None:
        return report.splitlines()[0]
    lines = [_PREFIX.sub("", line.strip()) for line in failed["reason"].splitlines()]
    return _PACKAGE.sub("", _best(lines) or _exit(report))[:_LONGEST]


def _best(lines: Sequence[str]) -> str:
    for pattern in _BEST:
        if match := next(filter(None, map(pattern.match, lines)), None):
            return match[1]
    return next((line for line in lines if line and not _SURROUNDINGS.match(line)), "")


def _exit(report: str) -> str:
    code = _EXIT.search(report)
    return f"its ApplicationMaster ended with exit code {code[1]}" if code else report.splitlines()[0]


_DIRECTORIES = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_CORE, _FILE = "core-site.xml", "yarn-site.xml"
# With this proxy the machines can't be reached directly.
_SOCKS = "hadoop.socks.server"
_OF_SPARK = "spark.hadoop."
_MANAGER = "yarn.resourcemanager."
_PORT = "8032"
# Hadoop's syntax for a reference to another setting in a value.
_NAMED = re.compile(r"\$\{([^}]+)\}")


# Spark itself would try for a quarter of an hour to reach it, and would try this machine if no file names it.
def require_yarn(settings: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Raises `Unavailable` if no ResourceManager is named, or none answers. `settings` are Spark's."""
    given = {name: environment[name] for name in _DIRECTORIES if environment.get(name)}
    if not given:
        raise Unavailable(
            "YARN's configuration is not known here",
            "Set HADOOP_CONF_DIR to the directory with core-site.xml and yarn-site.xml.",
        )
    told = {
        name.removeprefix(_OF_SPARK): value
        for name, value in settings.items()
        if name.startswith(_OF_SPARK + _MANAGER)
    }
    # Java reads the first file that it finds on its class path.
    directories = [each for value in given.values() for each in value.split(os.pathsep)]
    named = [each for each in directories if os.path.isfile(os.path.join(each, _FILE))][:1]
    if not told and not named:
        [(name, value), *_] = given.items()
        what = f"has no {_FILE}" if any(map(os.path.isdir, directories)) else "is no directory"
        raise Unavailable(
            f"{name}={value} {what}", "Let it name the directory with core-site.xml and yarn-site.xml."
        )
    known = {**site_settings(named, (_CORE, _FILE)), **told}
    places = [] if _SOCKS in known else managers(known)
    if places and (refused := refusal_of(*places)):
        raise Unavailable(
            f"There is no ResourceManager of YARN at {' or '.join(places)} ({refused})",
            f"Is it running? {' and '.join(given)} and spark.hadoop.{_MANAGER}* say where it is.",
        )


def managers(settings: Mapping[str, str]) -> list[str]:
    """`host:port` of each ResourceManager; empty if one is unknown, or refers to an unknown setting."""
    ids = [""]
    if is_on(settings, f"{_MANAGER}ha.enabled"):
        ids = [f".{each.strip()}" for each in settings.get(f"{_MANAGER}ha.rm-ids", "").split(",")]
    places = []
    for each in ids:
        host = settings.get(f"{_MANAGER}hostname{each}", "")
        address = settings.get(f"{_MANAGER}address{each}") or (f"{host}:{_PORT}" if host else "")
        address = _NAMED.sub(lambda match: settings.get(match[1], match[0]), address)
        if not address or "$" in address:
            return []
        places.append(address if ":" in address else f"{address}:{_PORT}")
    return places


def site_settings(directories: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """The settings in these files. Unreadable files are skipped: their own readers report them."""
    settings: dict[str, str] = {}
    for path in (Path(directory, name) for directory in directories for name in names):
        with suppress(OSError, ET.ParseError):
            for each in ET.parse(path).getroot().iterfind("property"):
                settings[(each.findtext("name") or "").strip()] = (each.findtext("value") or "").strip()
    return settings

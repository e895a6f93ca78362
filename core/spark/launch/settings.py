"""Spark's settings on this machine, their precedence, and the port that takes rows of statements."""

from __future__ import annotations

import os
import string
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from paimark.core.errors import Unavailable
from paimark.core.spark.launch.session_settings import DEFAULTS, RESULT_PORT
from paimark.core.table.definition.kind_signs import is_on

# The catalog of our tables in Spark, and the setting that registers it.
CATALOG_NAME = "paimark"
CATALOG_CLASS = f"spark.sql.catalog.{CATALOG_NAME}"
_EXTENSIONS = "spark.sql.extensions"
_GIB = 1 << 30
_CGROUPS = Path("/sys/fs/cgroup")
_PLAIN = frozenset(string.ascii_letters + string.digits + "._-/")


def spark_settings(master: str | None, conf: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """All settings for the start of Spark: our defaults for one machine, overridden by the user's.

    With them Spark writes nothing outside `scratch`.
    """
    settings = {
        "spark.master": "local[*]",
        "spark.app.name": "paimark",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        "spark.driver.memory": os.environ.get("SPARK_DRIVER_MEMORY")
        or f"{driver_memory(machine_memory()) >> 20}m",
        "spark.local.dir": str(scratch / "blocks"),
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        "spark.sql.catalogImplementation": "in-memory",
        # A longer IN becomes a set, by which files can't be pruned.
        "spark.sql.optimizer.inSetConversionThreshold": "100",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Not Parquet: its statistics ignore NaN, so rows with NaN would be skipped.
        "spark.sql.optimizer.nestedPredicatePushdown.supportedFileSources": "orc",
    }
    if conf.get("spark.ui.enabled", "false").lower() == "false":
        # Without its UI Spark would still make and keep the data for it.
        settings |= {
            "spark.sql.ui.explainMode": "simple",
            "spark.sql.ui.retainedExecutions": "20",
            "spark.ui.retainedJobs": "100",
            "spark.ui.retainedStages": "500",
            "spark.ui.retainedTasks": "5000",
        }
    if (master or conf.get("spark.master", "local")).startswith("local"):
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # Any user of the machine can reach its ports. Spark generates the secret.
            "spark.authenticate": "true",
            "spark.sql.shuffle.partitions": "4",
            # A file is cheap to open here; with Spark's 4 MB small files would make too many tasks.
            "spark.sql.files.openCostInBytes": "262144",
        }
    if master:
        settings["spark.master"] = master
    settings |= {name: value for name, value in conf.items() if not (master and name == "spark.master")}
    extensions = filter(None, [settings.get(_EXTENSIONS), "paimark.catalog.Extensions"])
    return settings | {CATALOG_CLASS: "paimark.catalog.Tables", _EXTENSIONS: ",".join(extensions)}


def driver_memory(total: int) -> int:
    """Bytes for the Java process: a quarter of all, as this process needs memory, too; 1 to 8 GiB."""
    return min(max(total // 4, _GIB), 8 * _GIB)


def machine_memory() -> int:
    """Bytes that this process may use: the machine's memory, or its container's limit if that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _cgroup_limits():
        try:
            total = min(total, int(path.read_text()))
        except (OSError, ValueError):
            # No cgroup (not Linux), or no limit ("max").
            continue
    return total


def _cgroup_limits(cgroups: Path = _CGROUPS, own: Path = Path("/proc/self/cgroup")) -> Iterator[Path]:
    """The files with the memory limits of this process's cgroup and its parents, of both cgroup versions."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        lines = []
    for line in [*lines, "0::/"]:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top, name = (cgroups / "memory", "memory.limit_in_bytes") if controllers else (cgroups, "memory.max")
        group = PurePosixPath(path.lstrip("/"))
        yield from (top / each / name for each in (group, *group.parents))
    yield cgroups / "memory" / "memory.limit_in_bytes"


def properties_file(settings: Mapping[str, str]) -> str:
    """The settings as a Java properties file: escapes keep each setting on one line."""
    return "".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(text: str) -> str:
    """Escape every UTF-16 unit that might have a meaning there as its number."""
    units = (code for (code,) in struct.iter_unpack(">H", text.encode("utf-16-be")))
    return "".join(chr(code) if chr(code) in _PLAIN else f"\\u{code:04x}" for code in units)


LOOPBACK = "127.0.0.1"
_OFF = "off"
_TRIES = "spark.port.maxRetries"
_USUAL_TRIES = 16
_LAST_PORT = 65_535
# With one of these, rows must go through Spark, which encrypts them or handles duplicate attempts of a task.
_SPARKS_OWN = (
    "spark.speculation",
    "spark.network.crypto.enabled",
    "spark.authenticate.enableSaslEncryption",
    "spark.ssl.enabled",
    "spark.ssl.rpc.enabled",
    "spark.io.encryption.enabled",
)


@dataclass(frozen=True, slots=True)
class ResultPort:
    """`bind` is the address to listen at, `host` the address for tasks to connect to.

    Both may be empty until Spark has chosen its driver's address: see `at`. `ports` are tried in turn; 0 is
    any port. With `is_direct` tasks send their rows to it. Otherwise Spark fetches the rows from tasks, and
    only the driver's Java process, on this machine, sends them.
    """

    bind: str
    host: str
    ports: range
    is_direct: bool = True

    def at(self, host: str) -> ResultPort:
        """The port with the driver's address in place of unset ones."""
        return replace(self, bind=self.bind or host, host=self.host or host)


def result_port(settings: Mapping[str, str], *, is_cluster: bool) -> ResultPort:
    """The port by the settings. Raises `Unavailable` for an invalid one."""
    wanted = settings.get(RESULT_PORT, DEFAULTS[RESULT_PORT]).strip().lower()
    if wanted == _OFF or (is_cluster and _is_on(settings)):
        return ResultPort(LOOPBACK, LOOPBACK, range(1), is_direct=False)
    ports = _ports(wanted, settings)
    if not is_cluster:
        # All tasks run on this machine, even if Spark has another address.
        return ResultPort(LOOPBACK, LOOPBACK, ports)
    host = settings.get("spark.driver.host", "")
    return ResultPort(settings.get("spark.driver.bindAddress", host), host, ports)


def _is_on(settings: Mapping[str, str]) -> bool:
    return any(is_on(settings, name) for name in _SPARKS_OWN)


def _ports(wanted: str, settings: Mapping[str, str]) -> range:
    tries = settings.get(_TRIES, str(_USUAL_TRIES)).strip()
    if not wanted.isdecimal() or int(wanted) > _LAST_PORT:
        raise Unavailable(f"{RESULT_PORT} is a port or {_OFF}, not {wanted}")
    first = int(wanted)
    if not first:
        return range(1)
    if not tries.isdecimal():
        raise Unavailable(f"{_TRIES} is a number, not {tries}")
    return range(first, min(first + int(tries), _LAST_PORT) + 1)

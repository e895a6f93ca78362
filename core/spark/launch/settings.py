"""Spark's settings on this machine, and their precedence."""

from __future__ import annotations

import os
import string
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

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
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        # A longer IN becomes a set, by which files can't be pruned.
        "spark.sql.optimizer.inSetConversionThreshold": "100",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.python.daemon.module": "paimark.core.spark.launch.worker_daemon",
        # Not Parquet: its statistics ignore NaN, so rows with NaN would be skipped.
        "spark.sql.optimizer.nestedPredicatePushdown.supportedFileSources": "orc",
        # How long a Python worker may continue after its task was cancelled.
        "spark.python.task.killTimeout": "500ms",
    }
    if conf.get("spark.ui.enabled", "false").lower() == "false":
        # Without its UI Spark would still keep the data for it.
        settings |= {
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
    """Bytes for the Java process: a quarter of all, as the Python workers need memory, too; 1 to 8 GiB."""
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

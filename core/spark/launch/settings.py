"""Spark's settings on this machine, and which of them win."""

from __future__ import annotations

import os
import string
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

_GIB = 1 << 30
_CGROUPS = Path("/sys/fs/cgroup")
_PLAIN = frozenset(string.ascii_letters + string.digits + "._-/")


def spark_settings(master: str | None, conf: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """Everything Spark starts with: our defaults for one machine, over them what the user set.

    Nothing is written outside `scratch`.
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
        # A longer IN becomes a set, which nothing can be pruned by.
        "spark.sql.optimizer.inSetConversionThreshold": "100",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.python.daemon.module": "core.spark.launch.worker_daemon",
        # Not Parquet: its statistics leave NaN out, and rows of it would be passed over.
        "spark.sql.optimizer.nestedPredicatePushdown.supportedFileSources": "orc",
        # How long a Python worker may go on after its task was cancelled.
        "spark.python.task.killTimeout": "500ms",
    }
    if conf.get("spark.ui.enabled", "false").lower() == "false":
        # Spark goes on keeping what pages of its own would show.
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
            # Anybody on the machine reaches its ports. Spark makes the secret itself, and keeps it to itself.
            "spark.authenticate": "true",
            "spark.sql.shuffle.partitions": "4",
            # A file costs little to open here; by Spark's own 4 MB small files would fill tasks of their own.
            "spark.sql.files.openCostInBytes": "262144",
        }
    if master:
        settings["spark.master"] = master
    return settings | {name: value for name, value in conf.items() if not (master and name == "spark.master")}


def driver_memory(total: int) -> int:
    """Bytes for the Java process: a quarter of what there is, the Python workers need theirs; 1 to 8 GiB."""
    return min(max(total // 4, _GIB), 8 * _GIB)


def machine_memory() -> int:
    """Bytes this process may use: the machine's, or its container's limit where that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _cgroup_limits():
        try:
            total = min(total, int(path.read_text()))
        except (OSError, ValueError):
            # Not on Linux, or "max".
            continue
    return total


def _cgroup_limits(cgroups: Path = _CGROUPS, own: Path = Path("/proc/self/cgroup")) -> Iterator[Path]:
    """The files that say how much memory this process and the groups around it may use, of both versions."""
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
    """The settings as a Java properties file, which only escapes keep one line a setting."""
    return "".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(text: str) -> str:
    """Every unit of UTF-16 that might mean something there as its number."""
    units = (code for (code,) in struct.iter_unpack(">H", text.encode("utf-16-be")))
    return "".join(chr(code) if chr(code) in _PLAIN else f"\\u{code:04x}" for code in units)

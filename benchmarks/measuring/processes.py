"""Facts about processes from Linux: the children of each, the CPU they used, the memory they hold."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

_TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
# How to recognize the engine's processes: words of their command lines.
_ENGINE = {b"pyspark-shell": "Java", b"paimark.core.spark.engine": "Python"}


def below(pid: int) -> Iterator[int]:
    """The descendants of a process."""
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(each) for each in thread.read_text().split()]
        except OSError:
            continue
        for child in children:
            yield child
            yield from below(child)


def cpu_ms(pid: int) -> float:
    """CPU of a process and of all its descendants, including those that ended."""
    return sum(map(_own_cpu_ms, (pid, *below(pid))))


def _own_cpu_ms(pid: int) -> float:
    """CPU of a process and of the children that it waited for."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, words[11:15])) * _TICK_MS


def java_below(pid: int) -> int:
    """Spark's Java process below a process. Raises `ValueError` if there is none, or more than one."""
    [java] = [each for each in below(pid) if _runs_spark(each)]
    return java


def _runs_spark(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0].endswith(b"java") and b"org.apache.spark.deploy.SparkSubmit" in words


def engine_memory(field: Literal["VmRSS", "VmHWM"]) -> dict[str, int]:
    """Bytes that the engine's processes below this one hold now, or held at most, by kind of process."""
    held: dict[str, int] = {}
    for pid in below(os.getpid()):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            size = re.search(rf"{field}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
        except OSError:
            continue
        for word, what in _ENGINE.items():
            if size and word in words:
                held[what] = max(held.get(what, 0), int(size[1]) << 10)
    return held


def told_memory(field: Literal["VmRSS", "VmHWM"]) -> str:
    return ", ".join(f"{what} {size >> 20} MiB" for what, size in engine_memory(field).items())

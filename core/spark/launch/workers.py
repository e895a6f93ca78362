"""Kill processes that Spark started: workers that ignore a cancel inside C code, or all of them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import defaultdict
from contextlib import suppress
from pathlib import Path


def kill_workers(java_pid: int) -> None:
    """Kill the workers that this Java process's daemons have forked; the daemons fork others on demand."""
    children = _children()
    for daemon in children[java_pid]:
        for worker in children[daemon]:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)


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

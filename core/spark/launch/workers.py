"""Ends processes that Spark started: workers deaf inside C code to a cancel, or all of them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import defaultdict
from contextlib import suppress
from pathlib import Path


def kill_workers(java_pid: int) -> None:
    """End the workers that this Java process's daemons have forked; they fork others when asked."""
    children = _children()
    for daemon in children[java_pid]:
        for worker in children[daemon]:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)


def kill_descendants(pid: int) -> None:
    """End everything that a process started, and what that started."""
    children = _children()
    waiting = [*children[pid]]
    while waiting:
        each = waiting.pop()
        waiting += children[each]
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def _children() -> defaultdict[int, list[int]]:
    """Every process's children."""
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
                # The name in parentheses may hold anything; the parent is the second word behind it.
                processes.append(
                    (int(entry.name), int((entry / "stat").read_text().rpartition(")")[2].split()[1]))
                )
    return processes

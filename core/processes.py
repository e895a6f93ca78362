"""Whether a process that left its mark somewhere still lives."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path


@cache
def machine() -> str:
    """Tells apart hosts, reboots and containers of one name; empty where the system does not say."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def start_of(pid: int) -> str:
    """When the process began, in the kernel's ticks; `ended` for one that only waits to be collected.

    Empty where the system does not say, and for no such process.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, UnicodeDecodeError):
        return ""
    return "ended" if fields[0] in "ZX" else fields[19]


def lives(pid: int, start: str) -> bool:
    """Whether the process of this number and start lives on this machine. When in doubt it does."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        # Somebody else's process; where its start can be read, that decides.
        pass
    except (ProcessLookupError, OverflowError):
        return False
    now = start_of(pid)
    return not now or not start or now == start

"""Who runs this process; whether a process that left its mark somewhere is alive, and how one ended."""

from __future__ import annotations

import getpass
import os
import signal
from functools import cache
from pathlib import Path


@cache
def machine() -> str:
    """Tells apart hosts, reboots and containers with the same name; empty if the system does not show it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def user_name() -> str:
    """The user of this process. In a container the uid may belong to no user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def start_of(pid: int) -> str:
    """The start of the process, in the kernel's ticks; `ended` for one that only waits to be collected.

    Empty if the system does not show it, and if there is no such process.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, UnicodeDecodeError):
        return ""
    return "ended" if fields[0] in "ZX" else fields[19]


def lives(pid: int, start: str) -> bool:
    """Whether the process with this number and start is alive on this machine. If in doubt, it is."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        # Another user's process: its start decides, if it can be read.
        pass
    except (ProcessLookupError, OverflowError):
        return False
    now = start_of(pid)
    return not now or not start or now == start


def was_killed(code: int) -> bool:
    """Whether a process with this exit code was ended by SIGKILL, also as a shell tells it."""
    return code in (-signal.SIGKILL, 128 + signal.SIGKILL)


def ending(code: int) -> str:
    """The end of a process with that exit code, as the rest of a sentence."""
    if was_killed(code):
        return "was killed by SIGKILL (signal 9), most likely because the system ran out of memory"
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended (exit code {code})"

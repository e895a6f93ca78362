"""A program in a terminal of its own, timed from its start until given words are in its output."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass

LINES, COLUMNS = 40, 120
_PATIENCE = 30.0


@dataclass(frozen=True)
class Start:
    """Seconds until the words came, seconds of CPU until then, and bytes sent to the terminal."""

    wall: float
    cpu: float
    sent: int


def time_start(command: Sequence[str], words: bytes, environment: dict[str, str]) -> Start:
    """Start the command, wait for the words, kill it. Raises `TimeoutError` with the end of its output."""
    began = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        os.execvpe(command[0], list(command), environment)
    try:
        output = _read_until(terminal, words, began)
        wall = time.perf_counter() - began
        return Start(wall, cpu_seconds(pid), len(output))
    finally:
        # It has a session of its own, so this also ends the processes that it started.
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def _read_until(terminal: int, words: bytes, began: float) -> bytes:
    output = b""
    while words not in output:
        if time.perf_counter() - began > _PATIENCE:
            raise TimeoutError(f"{words!r} did not come: {output[-600:]!r}")
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                output += os.read(terminal, 1 << 16)
            except OSError as error:
                raise TimeoutError(f"it ended without {words!r}: {output[-600:]!r}") from error
    return output


def cpu_seconds(pid: int) -> float:
    """CPU seconds of the process so far, without those of its children."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

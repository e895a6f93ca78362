"""A line to a far machine: `python -m benchmarks.terminal_line SECONDS COUNT_FILE COMMAND ...`.

Runs the command in a terminal of its own and passes bytes on both ways, each SECONDS late (a 200 ms link is
0.1 each way). COUNT_FILE always holds the numbers of bytes that went to the terminal and that came from it.
LINE_RATE in the environment limits the bytes a second of each way.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time
import tty
from collections import deque
from pathlib import Path

_CHUNK = 1 << 16
# The bytes of one packet, if the line has a rate.
_PACKET = 512


class Way:
    """One direction: the bytes that came, and the time when each may go on."""

    def __init__(self, source: int, target: int, delay: float, rate: float) -> None:
        """`rate` is in bytes a second."""
        self.source, self.target = source, target
        self.count = 0
        self._delay, self._rate = delay, rate
        self._free = 0.0
        self._waiting: deque[tuple[float, bytes]] = deque()

    def take(self) -> bool:
        """Read the available bytes, and return whether the other end is still open."""
        try:
            data = os.read(self.source, _CHUNK)
        except OSError:
            # Linux reports a closed terminal as an I/O error.
            return False
        for start in range(0, len(data), _PACKET):
            packet = data[start : start + _PACKET]
            # A packet goes out after those before it.
            self._free = max(self._free, time.monotonic()) + len(packet) / self._rate
            self._waiting.append((self._free + self._delay, packet))
        return bool(data)

    def pass_on(self) -> None:
        while self._waiting and self._waiting[0][0] <= time.monotonic():
            data = self._waiting.popleft()[1]
            self.count += len(data)
            while data:
                data = data[os.write(self.target, data) :]

    @property
    def wait(self) -> float:
        """Seconds until there are bytes to pass on, at most one."""
        return max(0.0, min(1.0, self._waiting[0][0] - time.monotonic())) if self._waiting else 1.0

    @property
    def empty(self) -> bool:
        return not self._waiting


def run(delay: float, rate: float, counts: Path, command: list[str]) -> int:
    """Run until the command ends, and return its exit code."""
    size = fcntl.ioctl(0, termios.TIOCGWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, size)
        os.execvp(command[0], command)
    before = termios.tcgetattr(0)
    tty.setraw(0)
    out, keys = Way(terminal, 1, delay, rate), Way(0, terminal, delay, rate)
    try:
        alive = True
        while alive or not out.empty:
            wanted = [terminal, 0] if alive else []
            ready = select.select(wanted, [], [], min(out.wait, keys.wait))[0]
            if terminal in ready:
                alive = out.take()
            if alive and 0 in ready:
                keys.take()
            out.pass_on()
            if alive:
                keys.pass_on()
            counts.write_text(f"{out.count} {keys.count}")
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    rate = float(os.environ.get("LINE_RATE", "inf"))
    sys.exit(run(float(sys.argv[1]), rate, Path(sys.argv[2]), sys.argv[3:]))

"""P11: from a key to its repaint, in a real terminal, while a query runs and 100,000 snapshots are shown.

`python -m benchmarks.terminal_keys [--moves N] [--snapshots N]`. Time is from the byte written to the
terminal to the first byte that comes back; the bytes are all that a move sends.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from statistics import median, quantiles

from benchmarks.console import environment
from benchmarks.measuring.words import parser_of
from benchmarks.metadata import write_warehouse
from benchmarks.screen import Screen
from benchmarks.terminal import cpu_seconds

LINES, COLUMNS = 40, 120
_PATIENCE = 300.0
# A repaint is over if nothing comes for so long.
_QUIET = 0.12
# By then everything that a key starts (a plan, a read from the store) is on the screen.
_ALL = 1.2
_QUERY = "SELECT count(*) FROM range(1000000000000) a CROSS JOIN range(10) b"


class Terminal:
    """A program in a terminal of its own."""

    def __init__(
        self,
        command: list[str],
        environment: dict[str, str],
        size: tuple[int, int] = (LINES, COLUMNS),
        heard: Callable[[bytes], object] = len,
    ) -> None:
        """`heard` is called with all bytes that come."""
        self._screen = Screen()
        self._heard = heard
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            _set_size(0, *size)
            os.execvpe(command[0], command, environment)

    @property
    def text(self) -> str:
        """The text on the screen."""
        return self._screen.text

    def resize(self, lines: int, columns: int) -> None:
        # After a change of size, the program paints the whole screen again.
        self._screen = Screen()
        _set_size(self._terminal, lines, columns)

    def send(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def read(self, seconds: float) -> bytes:
        if not self._comes(seconds):
            return b""
        data = os.read(self._terminal, 1 << 16)
        self._screen.feed(data)
        self._heard(data)
        return data

    def _comes(self, seconds: float) -> bool:
        """Wait for bytes, so many seconds at most; whether some are there."""
        return bool(select.select([self._terminal], [], [], seconds)[0])

    def wait_for(self, *words: str) -> None:
        began = time.perf_counter()
        while not all(word in self._screen.text for word in words):
            self.read(0.2)
            if time.perf_counter() - began > _PATIENCE:
                raise TimeoutError(f"{words} did not come:\n{self._screen.text}")
        self.settle()

    def settle(self) -> int:
        """Wait until nothing comes any more, and return the number of bytes until then."""
        count = 0
        while data := self.read(_QUIET):
            count += len(data)
        return count

    def move(self, key: str) -> tuple[float, int]:
        """Seconds until the first bytes of the repaint, and the bytes of all of it."""
        began = time.perf_counter()
        self.send(key)
        if not self._comes(_PATIENCE):
            raise TimeoutError(f"{key!r} moved nothing:\n{self._screen.text}")
        # To read them into the screen takes time, too, but not the program's.
        took = time.perf_counter() - began
        return took, self.settle()

    def press(self, key: str) -> int:
        """The number of bytes that a key sends, with all that it starts."""
        self.send(key)
        began, count = time.perf_counter(), 0
        while time.perf_counter() - began < _ALL:
            count += len(self.read(_QUIET))
        return count

    def close(self) -> None:
        # It has a session of its own, so this also ends the processes that it started.
        os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._terminal)


def _set_size(terminal: int, lines: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


@dataclass(frozen=True)
class Moves:
    """Seconds and bytes of each move, and the console's seconds of CPU for each move."""

    walls: list[float]
    sent: list[int]
    cpu: float


def paimark(*arguments: str) -> list[str]:
    """The command line of this environment's `paimark`."""
    return [str(Path(sys.executable).with_name("paimark")), *arguments]


def measure(moves: int, snapshots: int) -> dict[str, Moves]:
    with tempfile.TemporaryDirectory() as place:
        warehouse = write_warehouse(Path(place) / "warehouse", range(1, snapshots + 1))
        # Else the system writes these files to the disk while keys are timed.
        os.sync()
        terminal = Terminal(paimark(f"{warehouse}/"), environment(place))
        try:
            terminal.wait_for("Spark ready")
            terminal.send("\t6")
            terminal.wait_for("[6 Query", "SELECT")
            # If there are several statements, the one at the caret runs.
            terminal.send(";" + _QUERY)
            terminal.settle()
            terminal.send("\x12")
            terminal.wait_for("Spark busy")
            terminal.send("\x1b")
            # The program reads an Escape and a byte that follows it closely as one key.
            time.sleep(1.0)
            terminal.settle()
            terminal.send("1")
            terminal.wait_for(f"1 of {snapshots:,}")
            terminal.send("G")
            terminal.wait_for(f"{snapshots:,} of {snapshots:,}")
            terminal.send("g")
            terminal.settle()
            within = {"a row": _moved(terminal, "jk", moves)}
            # From the last visible row on, every move scrolls.
            for _ in range(LINES):
                terminal.move("j")
            return within | {
                "a row, scrolling": _moved(terminal, "j", moves),
                "a page": _moved(terminal, ["\x1b[6~"], moves),
            }
        finally:
            terminal.close()


def _moved(terminal: Terminal, keys: Sequence[str], moves: int) -> Moves:
    """Move by these keys in turn."""
    before = cpu_seconds(terminal.pid)
    found = [terminal.move(key) for key in islice(cycle(keys), moves)]
    cpu = (cpu_seconds(terminal.pid) - before) / moves
    return Moves([wall for wall, _ in found], [count for _, count in found], cpu)


def parser() -> argparse.ArgumentParser:
    words = parser_of(__doc__)
    words.add_argument("--moves", type=int, default=200)
    words.add_argument("--snapshots", type=int, default=100_000)
    return words


def main() -> None:
    chosen = parser().parse_args()
    found = measure(chosen.moves, chosen.snapshots)
    print(f"\nP11 key -> repaint while a query runs, {chosen.snapshots:,} rows ({chosen.moves} moves each)")
    print(f"  {'':18}{'median ms':>12}{'p99 ms':>10}{'cpu ms':>10}{'median bytes':>14}{'most bytes':>12}")
    for name, moves in found.items():
        middle, p99 = median(moves.walls) * 1e3, quantiles(moves.walls, n=100)[98] * 1e3
        sent = f"{median(moves.sent):14.0f}{max(moves.sent):12,}"
        print(f"  {name:18}{middle:12.1f}{p99:10.1f}{moves.cpu * 1e3:10.1f}{sent}")


if __name__ == "__main__":
    main()

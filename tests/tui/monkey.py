"""Random keys at the real console, in a real terminal, on tables that others write to.

`python -m tests.tui.monkey [--minutes N] [--seed S] [--writing]`. The seed gives the keys; how the console
answers them depends on the machine. Nothing may fail: no traceback, no fault that nobody foresaw, no lost
engine, no change that was on no plan first. A read-only console may change nothing at all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pyarrow as pa

from benchmarks.console import environment
from benchmarks.terminal_keys import COLUMNS, LINES, Terminal, paimark
from paimark.core.actions.registry import ACTIONS
from paimark.core.demo.build import build_demo
from paimark.core.demo.rows import EVENTS, ORDERS
from paimark.tui.work.unexpected_errors import problem_of
from tests.paimon import commit

_KEYS = [*"jjjkkkhlgGoO/:?@spyiYrzL[]12345678tTbmRBuUxPDVJCMcwvfe{}<>+-*. "]
_CODES = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "backtab": "\x1b[Z",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "delete": "\x1b[3~",
    "backspace": "\x7f",
    **{f"ctrl+{letter}": chr(ord(letter) - 96) for letter in "abcdefklnoprstuvwxyz"},
    **{
        f"f{number}": code
        for number, code in ((4, "\x1bOS"), (5, "\x1b[15~"), (8, "\x1b[19~"), (9, "\x1b[20~"))
    },
}
_WORDS = [
    "shop.orders",
    "fix",
    "main",
    "SELECT 1",
    "price>10",
    "yesterday 03:10",
    "2 h ago",
    "[red]",
    "../x",
    "é日",
]
# A savepoint is made, a tag, a change is taken back: keys that are there before the plan is.
_DEEDS = ["1sa", "2sa", "ua", "\x1b\x1b\x1b", "\x1b\x1b\x1b1sa"]
# Lines and columns.
_SIZES = [(24, 80), (40, 120), (40, 120), (12, 40), (50, 200)]
# On the screen only when something failed that nobody foresaw. Some words of it: lines break anywhere.
_FAULTS = ("Traceback", " ".join(problem_of(ValueError()).hint.split()[2:6]))
_QUIT = 0.0005
_MOST_HEARD = 20_000
_TOLD_SECONDS = 3.0


class Monkey:
    """One console, started again whenever the monkey has left it."""

    def __init__(self, warehouse: Path, state: Path, seed: int, *, read_only: bool) -> None:
        self._random = random.Random(seed)
        self._environment = {**environment(str(state)), "EDITOR": "true"}
        self._command = paimark(*(["--read-only"] if read_only else []), str(warehouse))
        self._actions = [each.name for each in ACTIONS.values()]
        self._audit = state / "paimark" / "audit.jsonl"
        self._planned: set[str] = set()
        self._recent: list[str] = []
        self.keys = self.starts = 0
        self._start()

    def run(self, seconds: float) -> None:
        """Raises `AssertionError` with the last keys and the screen."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for name, code in self._next():
                self._press(name, code)
        self._go_on()
        self._answer()

    def close(self) -> None:
        with suppress(ProcessLookupError):
            self._terminal.close()

    def _start(self) -> None:
        self.starts += 1
        self._heard = b""
        self._terminal = Terminal(self._command, self._environment, heard=self._hear)
        self._terminal.wait_for("Spark")

    def _next(self) -> Iterator[tuple[str, str]]:
        """A key, the same one twice, a word, another size of the window, or leaving."""
        chance = self._random.random()
        if chance < _QUIT:
            yield "ctrl+q", "\x11"
        elif chance < 0.01:
            self._terminal.resize(*self._random.choice(_SIZES))
        elif chance < 0.06:
            word = self._random.choice([*_WORDS, *_DEEDS])
            yield word, word
        else:
            name = self._random.choice([*_KEYS, *_CODES])
            for _ in range(2 if chance > 0.9 else 1):
                yield name, _CODES.get(name, name)

    def _press(self, name: str, code: str) -> None:
        self._recent = [*self._recent[-40:], name]
        self.keys += 1
        try:
            self._terminal.send(code)
            for _ in range(self._random.choice((0, 0, 1, 1, 4))):
                self._terminal.read(0.05)
        except OSError:
            self._left()
            return
        self._go_on()
        self._look()

    def _go_on(self) -> None:
        """After ctrl+z, as `fg` in a shell does."""
        # It may have ended just now: the next key finds that out.
        with suppress(ChildProcessError):
            if os.waitid(os.P_PID, self._terminal.pid, os.WSTOPPED | os.WNOHANG) is not None:
                os.kill(self._terminal.pid, signal.SIGCONT)

    def _hear(self, data: bytes) -> None:
        self._heard = (self._heard + data)[-_MOST_HEARD:]

    def _left(self) -> None:
        """The console has ended: it may only have been left."""
        _, status = os.waitpid(self._terminal.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        # Its last words are on no screen: the terminal went back to what was there before.
        last = re.sub("\x1b\\[[0-9;?<>=]*[ -/]*[@-~]", "", self._heard.decode(errors="replace"))
        self._require(code == 0, f"it ended with {code}: {last}")
        self._start()

    def _look(self) -> None:
        text = self._terminal.text
        for fault in _FAULTS:
            if fault in text:
                self._hear_all()
            self._require(fault not in text, fault)
        if "Apply ]" in text:
            self._planned |= {name for name in self._actions if name in text}
        if self._audit.exists():
            for line in self._audit.read_text().splitlines():
                name = json.loads(line)["action"]
                self._require(name in self._planned, f"{name} was on no plan")

    def _hear_all(self) -> None:
        """What is still being told of a fault."""
        with suppress(OSError):
            while self._terminal.read(_TOLD_SECONDS):
                pass

    def _answer(self) -> None:
        """The engine is there still: out of all dialogs, a new sheet, and a statement."""
        for lines in (LINES - 1, LINES):
            # One of them is another size than it is, so that all is painted.
            self._terminal.resize(lines, COLUMNS)
            self._terminal.settle()
        for _ in range(12):
            # A busy machine's console may meet ctrl+z only now.
            self._go_on()
            self._terminal.send("\x1b")
            time.sleep(0.3)
            self._terminal.settle()
        self._terminal.send("6")
        self._terminal.settle()
        self._terminal.send("\x14")
        self._terminal.settle()
        # All of it is selected, and goes when something is typed.
        self._terminal.send("\x1b[18~")
        self._terminal.settle()
        self._terminal.send("SELECT 40 + 2 AS answer\x12")
        try:
            self._terminal.wait_for("answer", "42", "✓")
        except TimeoutError as error:
            raise AssertionError(f"no answer after {self._recent}: {error}") from error

    @property
    def changes(self) -> int:
        return len(self._audit.read_text().splitlines()) if self._audit.exists() else 0

    def _require(self, holds: bool, why: str) -> None:
        if not holds:
            raise AssertionError(f"{why}, after {self._recent}\n{self._terminal.text}")


@contextmanager
def busy(warehouse: Path) -> Iterator[None]:
    """Somebody else commits to the tables, as a stock engine does: to the main that it knows."""
    ended = threading.Event()

    def write() -> None:
        for number in count(1_000_000):
            orders = pa.Table.from_pylist([{"order_id": number}], schema=ORDERS)
            events = pa.Table.from_pylist([{"day": "2026-07-01", "duration_ms": number}], schema=EVENTS)
            for name, rows in (("shop.orders", orders), ("shop.events", events)):
                try:
                    commit(warehouse, name, rows)
                # While a branch is main the commit is refused, which is the point of it.
                except Exception:
                    continue
            if ended.wait(2.0):
                return

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def tree(directory: Path) -> dict[str, str]:
    """Every file below it, and a digest of what is in it."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def looked_only(place: Path, seed: int, seconds: float) -> str:
    """A read-only console changes nothing."""
    before = tree(place / "demo")
    monkey = Monkey(place / "demo", place / "looking", seed, read_only=True)
    try:
        monkey.run(seconds)
    finally:
        monkey.close()
    changed = before.items() ^ tree(place / "demo").items()
    assert not changed, f"a read-only console changed {changed}"
    return f"read-only: {monkey.keys:,} keys, {monkey.starts} starts, nothing changed"


def worked(place: Path, seed: int, seconds: float) -> str:
    """A console changes what was planned, and nothing else fails."""
    with busy(place / "demo"):
        monkey = Monkey(place / "demo", place / "working", seed, read_only=False)
        try:
            monkey.run(seconds)
        finally:
            monkey.close()
    return f"{monkey.keys:,} keys, {monkey.starts} starts, {monkey.changes} changes, each on a plan first"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--writing", action="store_true", help="leave out the quarter that is read-only")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        # Exports and saved statements go to where the console was started.
        (place / "here").mkdir()
        os.chdir(place / "here")
        build_demo(place / "demo", lambda line: None)
        if not given.writing:
            print(looked_only(place, given.seed, given.minutes * 15), flush=True)
        print(worked(place, given.seed + 1, given.minutes * (60 if given.writing else 45)), flush=True)


if __name__ == "__main__":
    main()

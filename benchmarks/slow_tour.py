"""The demo's tour over a slow line, at 80x24: how long each step takes, and the bytes that it sends.

`python -m benchmarks.slow_tour [--delay SECONDS] [--rate BYTES]`: by default 0.1 s each way, 10 kB a second.
With `--record FILE` it writes what the terminal got as a recording for asciinema, at the pace of a reader.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.console import environment
from benchmarks.measuring.words import parser_of
from benchmarks.terminal_keys import Terminal, paimark

LINES, COLUMNS = 24, 80
_ESCAPE = "\x1b"
_RUN = "\x12"
_SKIP = "\x1b[20~"
# A name, the keys in turn, and the words that are on the screen when it is done.
Step = tuple[str, Sequence[str], Sequence[str]]


@dataclass(frozen=True)
class Took:
    name: str
    seconds: float
    sent: int


STEPS: list[Step] = [
    ("write when", [_SKIP], ["CALL sys.when", "Spark ready"]),
    ("ask it", [_RUN], ["It began with snapshot 12", "Tour 2 of 9"]),
    ("write a query", [_SKIP], ["ORDER BY order_id"]),
    ("run it", [_RUN], ["first 500 rows of more"]),
    ("ask of a row", [_ESCAPE, "jH"], ["CALL sys.history", "order_id=131"]),
    ("run that", [_RUN], ["2 changes, newest first", "Tour 3 of 9"]),
    ("mark two", [_ESCAPE, "1", "gjjjjjj", " ", "j", " "], ["2 marked"]),
    ("difference", ["D"], ["250 changed", " -> "]),
    ("back", [_ESCAPE], ["Tour 4 of 9"]),
    ("write a try", [_SKIP], ["CALL sys.try"]),
    ("plan it", [_RUN], ["[ Apply ]"]),
    # A long dialog covers the tour.
    ("apply it", ["a"], ["Check no price below zero fails", "[ Close ]"]),
    ("close", [_ESCAPE], ["Tour 5 of 9"]),
    ("write it right", [_SKIP], ["name => 'repair'"]),
    ("plan it", [_RUN], ["[ Apply ]", "branch repair"]),
    ("apply it", ["a"], ["2 checks pass", "[ Close ]"]),
    ("close", [_ESCAPE], ["Tour 6 of 9"]),
    ("to the branches", [_ESCAPE, "3"], ["[3 Branch", "repair"]),
    ("difference from main", ["/repair", "\r", "D"], ["600 changed", " -> "]),
    ("back", [_ESCAPE], ["Tour 7 of 9"]),
    ("plan the replacement", ["R"], ["Make branch repair main"]),
    ("apply it", ["a"], ["✓ done"]),
    ("close", [_ESCAPE], ["Tour 8 of 9", "MAIN = repair"]),
    ("plan the undo", ["u"], ["Take back", "[ Apply ]"]),
    ("apply it", ["a"], ["✓ done"]),
    ("close", [_ESCAPE], ["Tour 9 of 9", "MAIN = main"]),
]


class Tourist:
    """Presses the keys and reads the screen."""

    def __init__(self, command: list[str], place: Path, pace: float) -> None:
        self._pace = pace
        self._began = time.monotonic()
        self.frames: list[tuple[float, str]] = []
        # Paimon's library was fetched once: a tour does not fetch it again.
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        home = {**environment(str(place)), "HOME": str(place), "XDG_CACHE_HOME": cache}
        self._terminal = Terminal(command, home, (LINES, COLUMNS), self._take)

    def _take(self, data: bytes) -> None:
        self.frames.append((time.monotonic() - self._began, data.decode(errors="replace")))

    def tour(self) -> Iterator[Took]:
        yield self._do("build and start", [], ["A tour?", "snapshot 18"])
        self._terminal.wait_for("Spark ready")
        yield self._do("begin", ["\r"], ["Tour 1 of 9"])
        for name, keys, words in STEPS:
            yield self._do(name, keys, words)

    def _do(self, name: str, keys: Sequence[str], words: Sequence[str]) -> Took:
        before = sum(len(data) for _, data in self.frames)
        began = time.monotonic()
        for key in keys:
            self._type(key)
        self._terminal.wait_for(*words)
        took = self.frames[-1][0] + self._began - began
        time.sleep(self._pace)
        return Took(name, took, sum(len(data) for _, data in self.frames) - before)

    def _type(self, key: str) -> None:
        """Type words a letter at a time, as a person does."""
        for letter in [key] if key.startswith(_ESCAPE) else key:
            self._terminal.send(letter)
            time.sleep(self._pace / 20)
        if key == _ESCAPE:
            # The program reads an Escape and a byte that follows it closely as one key.
            time.sleep(0.2)

    def close(self) -> None:
        self._terminal.close()


def tour(delay: float, rate: float, pace: float) -> tuple[list[Took], list[tuple[float, str]]]:
    """The steps, and what the terminal got: seconds since the start, and text."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        line = [sys.executable, "-m", "benchmarks.terminal_line", str(delay), str(place / "counts")]
        os.environ["LINE_RATE"] = str(rate)
        tourist = Tourist([*line, *paimark("demo", str(place / "paimark-demo"))], place, pace)
        try:
            took = list(tourist.tour())
            # So that the recording names no directory of this machine.
            return took, [(when, text.replace(name, "~")) for when, text in tourist.frames]
        finally:
            tourist.close()


def record(path: Path, frames: Sequence[tuple[float, str]]) -> None:
    """Write asciinema's format: a line with the header, then a line for each frame."""
    head = {"version": 2, "width": COLUMNS, "height": LINES, "title": "Paimark: a branch becomes main"}
    lines = [head, *([round(when, 3), "o", text] for when, text in frames)]
    path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in lines))


def parser() -> argparse.ArgumentParser:
    words = parser_of(__doc__)
    words.add_argument("--delay", type=float, default=0.1, help="seconds each way")
    words.add_argument("--rate", type=float, default=10_000, help="bytes a second")
    words.add_argument("--record", type=Path, help="a file for asciinema, of a line without delay")
    return words


def main() -> None:
    given = parser().parse_args()
    if given.record is not None:
        record(given.record, tour(0.0, float("inf"), pace=1.5)[1])
        return
    took, _ = tour(given.delay, given.rate, pace=0.0)
    print(f"\nThe tour over {2000 * given.delay:.0f} ms and {given.rate / 1000:.0f} kB/s, {COLUMNS}x{LINES}")
    print(f"  {'':24}{'seconds':>10}{'bytes':>10}")
    for step in took:
        print(f"  {step.name:24}{step.seconds:10.1f}{step.sent:10,}")


if __name__ == "__main__":
    main()

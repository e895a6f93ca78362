"""P11: the bytes that each single key sends to the terminal, on the demo warehouse.

`python -m benchmarks.terminal_bytes`. It also counts the bytes that are sent while nobody types.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.console import environment
from benchmarks.measuring.words import parser_of
from benchmarks.terminal_keys import Terminal, paimark
from paimark.core.demo.build import build_demo

_IDLE_SECONDS = 8.0
_ESCAPE = "\x1b"
# A name, the keys in turn, and how often they are pressed.
_STEPS = (
    ("a row", ["j", "k"], 10),
    ("a pane", ["2", "3", "4", "5", "1"], 10),
    ("sorted by a column", ["o"], 4),
    ("the help, and away", ["?", _ESCAPE], 2),
    ("a plan, and away", ["s", _ESCAPE], 2),
    ("the palette, and away", [":", _ESCAPE], 2),
    ("to the tables and back", [_ESCAPE, "l"], 4),
)


def measure(place: str) -> dict[str, list[int]]:
    warehouse = Path(place) / "demo"
    build_demo(warehouse, lambda line: None)
    terminal = Terminal(paimark(f"{warehouse}/"), environment(place))
    try:
        terminal.wait_for("Spark ready")
        sent = {"a table": [terminal.press(key) for key in "jj"]}
        terminal.press("l")
        for name, keys, times in _STEPS:
            sent[name] = [terminal.press(key) for key in keys * (times // len(keys) or 1)]
        terminal.press(":")
        sent["the palette, 1 s of waiting"] = [idle(terminal)]
        terminal.press(_ESCAPE)
        sent["1 s of waiting"] = [idle(terminal)]
        return sent
    finally:
        terminal.close()


def idle(terminal: Terminal) -> int:
    """Bytes a second while nobody types."""
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < _IDLE_SECONDS:
        count += len(terminal.read(0.2))
    return round(count / _IDLE_SECONDS)


def parser() -> argparse.ArgumentParser:
    return parser_of(__doc__)


def main() -> None:
    parser().parse_args()
    with tempfile.TemporaryDirectory() as place:
        found = measure(place)
    print(f"\nP11 bytes sent to a terminal of 120x40\n  {'':32}{'median':>10}{'most':>10}")
    for name, sent in found.items():
        print(f"  {name:32}{median(sent):10,.0f}{max(sent):10,}")


if __name__ == "__main__":
    main()

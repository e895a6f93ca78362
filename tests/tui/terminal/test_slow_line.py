"""Over a line where a key and its answer take 200 ms together: main replaced and taken back, at 80 by 24."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.table.branches import create_branch
from tests.tui.terminal.test_terminal import PATIENCE, Tmux, terminal_in

ONE_WAY = "0.1"
MOVES = 4
HELP = 5500


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Tmux]:
    yield from terminal_in(tmp_path)


class Line:
    """What the relay counts."""

    def __init__(self, counts: Path) -> None:
        self._counts = counts

    @property
    def sent(self) -> int:
        text = self._counts.read_text().split()
        return int(text[0]) if text else 0

    def settled(self) -> int:
        """The bytes sent once no more of them come."""
        began, seen, same = time.monotonic(), -1, 0
        while same < 6:
            assert time.monotonic() - began < PATIENCE
            now = self.sent
            same = same + 1 if now == seen else 0
            seen = now
            time.sleep(0.1)
        return seen


@pytest.mark.long
def test_main_is_replaced_and_taken_back_over_a_slow_line(
    warehouse: Path, terminal: Tmux, tmp_path: Path
) -> None:
    create_branch(warehouse, "shop.orders", "fix", "v2")
    pointer = warehouse / "shop.db/orders/branch/MAIN-BRANCH"
    counts = tmp_path / "counts"
    counts.write_text("0 0")
    program = [sys.executable, "-c", "from paimark.core.cli.main import main; main()", f"{warehouse}/"]
    relay = [sys.executable, "-m", "benchmarks.terminal_line", ONE_WAY, str(counts), *program]
    terminal.start("sh", "-c", f"{shlex.join(relay)}; echo left with $?; sleep 100")
    terminal.sees("● events", "snapshot 2", "MAIN = main")
    terminal.keys("j")
    terminal.sees("● orders", "1 of 5")
    terminal.keys("l")
    line = Line(counts)
    before = line.settled()
    for _ in range(MOVES):
        terminal.keys("j")
    terminal.sees("5 of 5", "snapshot 1 ")
    assert line.settled() - before <= 1000 * MOVES
    before = line.settled()
    terminal.keys("?")
    terminal.sees("Everywhere", "more lines below")
    # Its panel is painted once, and blanks only where their background differs.
    assert line.settled() - before <= HELP
    terminal.keys("Escape")
    terminal.sees("5 of 5")
    terminal.keys("3")
    terminal.sees("! exposed")
    # Typed ahead, as one does who knows the way.
    terminal.keys("j", "R")
    terminal.sees("Make branch fix main", "▸[ Cancel ]", "type fix to go on")
    terminal.keys("BTab", "f", "i", "x", "Enter")
    terminal.sees("[ Apply ]")
    terminal.keys("a")
    terminal.sees("✓ done", "undo")
    assert pointer.read_text() == "fix"
    terminal.keys("Enter")
    terminal.sees("MAIN = fix")
    terminal.keys("u")
    terminal.sees("Take back", "[ Apply ]")
    terminal.keys("a")
    terminal.sees("✓ done")
    assert not pointer.exists() or not pointer.read_text().strip()
    terminal.keys("Enter")
    terminal.sees("MAIN = main")
    terminal.keys("C-q")
    terminal.sees("left with 0")

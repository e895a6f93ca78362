"""What stderr says while a statement runs: lines that stay, and on a terminal one that does not."""

from __future__ import annotations

import shutil
import sys

from core.cli.table_rows import cut
from core.text import clean_text


class Narrator:
    """Waiting lines are drawn over each other and only where a person sees them."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._drawn = False

    def say(self, line: str) -> None:
        self.clear()
        print(clean_text(line), file=sys.stderr, flush=True)

    def wait(self, line: str) -> None:
        """Say what is waited for."""
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{cut(clean_text(line), width)}", end="", file=sys.stderr, flush=True)
            self._drawn = True

    def clear(self) -> None:
        """Take the waiting line away."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._drawn = False

    def point(self, text: str, position: int) -> None:
        """The line of a text that holds a position, and a caret below it."""
        start = text.rfind("\n", 0, position) + 1
        line = text[start:].partition("\n")[0]
        before = clean_text(line[: position - start])
        self.say(f"  {line}")
        self.say(f"  {' ' * len(before)}^")

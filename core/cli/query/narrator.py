"""What stderr says while a statement runs: lines that stay, and on a terminal one that does not."""

from __future__ import annotations

import shutil
import sys

from core.actions.context import Counting, Remark
from core.cells import cut
from core.cli.output import narrate, tell
from core.text import clean_text

_INDENT = "  "


class Narrator:
    """Waiting lines are drawn over each other and only where a person sees them (`is_live`)."""

    def __init__(self) -> None:
        self.is_live = sys.stderr.isatty()
        self._drawn = False

    def say(self, line: str) -> None:
        self.clear()
        narrate(line)

    def wait(self, line: str) -> None:
        if self.is_live:
            width = shutil.get_terminal_size().columns - 1
            tell(f"\r\x1b[K{cut(clean_text(line), width)}")
            self._drawn = True

    def step(self, line: str) -> None:
        """What an action tells while it runs. Without a terminal nobody watches: only what must be known."""
        if isinstance(line, Remark):
            self.say(line)
        elif isinstance(line, Counting):
            self.wait(line)
        elif self.is_live:
            self.say(line)

    def clear(self) -> None:
        """Take the waiting line away."""
        if self._drawn:
            tell("\r\x1b[K")
            self._drawn = False

    def point(self, text: str, position: int) -> None:
        """The line of a text that holds a position, and a caret below it."""
        from core.travel.parse.pointing import pointed

        width = shutil.get_terminal_size().columns - len(_INDENT) - 1 if self.is_live else None
        for line in pointed(text, position, width):
            self.say(_INDENT + line)

"""Writes to stderr while a statement runs: lines that stay, and on a terminal one that is redrawn."""

from __future__ import annotations

import shutil
import sys

from paimark.core.actions.context import Counting, Remark
from paimark.core.cells import cut
from paimark.core.cli.output import narrate, tell
from paimark.core.text import clean_text

_INDENT = "  "
# The width of a line of a statement where there is no terminal.
_COLUMNS = 110


class Narrator:
    """Waiting lines replace each other, and appear only on a terminal (`is_live`).

    `label` names the statement of several: `statement 2 of 3`.
    """

    def __init__(self) -> None:
        self.is_live = sys.stderr.isatty()
        self.label = ""
        self._drawn = False

    def say(self, line: str, ink: str = "") -> None:
        self.clear()
        narrate(line, ink)

    def result(self, line: str) -> None:
        """Say what came of the statement."""
        self.say(self.labelled(line))

    def wait(self, line: str) -> None:
        if self.is_live:
            width = shutil.get_terminal_size().columns - 1
            tell(f"\r\x1b[K{cut(clean_text(self.labelled(line)), width)}")
            self._drawn = True

    def labelled(self, line: str) -> str:
        """The line behind the name of the statement, if it is one of several."""
        return f"{self.label}: {line}" if self.label else line

    def step(self, line: str) -> None:
        """Take a line of a running action. Without a terminal only a `Remark` is shown."""
        if isinstance(line, Remark):
            self.say(line)
        elif isinstance(line, Counting):
            self.wait(line)
        elif self.is_live:
            self.say(line)

    def clear(self) -> None:
        """Remove the waiting line."""
        if self._drawn:
            tell("\r\x1b[K")
            self._drawn = False

    def point(self, text: str, position: int) -> None:
        """Show the line of a text at a position, with a caret below it."""
        from paimark.core.travel.parse.errors import pointed

        columns = shutil.get_terminal_size().columns if self.is_live else _COLUMNS
        for line in pointed(text, position, columns - len(_INDENT) - 1):
            self.say(_INDENT + line)

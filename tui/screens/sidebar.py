"""The width of the tables at the left, also remembered for the next session."""

from __future__ import annotations

from paimark.tui.memory import Memory
from paimark.tui.messages import Say
from paimark.tui.named_keys import key
from paimark.tui.panes.tables import TablesPane

# In cells, including the line at its right.
_NARROWEST = 12
_STEP = 4


class Sidebar:
    """Until a person sets a width, the style sheet defines it, for wide and for narrow terminals."""

    def __init__(self, tables: TablesPane, memory: Memory, say: Say) -> None:
        self._tables = tables
        self._memory = memory
        self._say = say

    def show(self, terminal: int) -> None:
        """Apply the remembered width, but at most half of a terminal of this width."""
        width = self._memory.sidebar
        if width is not None:
            self._tables.styles.width = _within(width, terminal)

    def resize(self, steps: int, terminal: int) -> None:
        """Make it wider by some steps, or narrower if they are negative."""
        if not self._tables.display:
            self._say(f"The tables are hidden: {key('browse.up', 'esc')} brings them back", "warn")
            return
        width = _within(self._tables.outer_size.width + steps * _STEP, terminal)
        self._memory.keep_sidebar(width)
        self.show(terminal)


def _within(width: int, terminal: int) -> int:
    return max(_NARROWEST, min(width, terminal // 2))

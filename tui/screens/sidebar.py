"""The tables at the left: how wide they are, now and in the next sitting."""

from __future__ import annotations

from tui.messages import Say
from tui.named_keys import key
from tui.panes.tables import TablesPane
from tui.remembered.memory import Memory

# In cells, with the line at its right.
_NARROWEST = 12
_STEP = 4


class Sidebar:
    """Without a width of one's own it is as the style sheet says, for wide and for narrow terminals."""

    def __init__(self, tables: TablesPane, memory: Memory, say: Say) -> None:
        self._tables = tables
        self._memory = memory
        self._say = say

    def show(self, terminal: int) -> None:
        """As wide as remembered; in a terminal of so many cells at most half of it."""
        width = self._memory.sidebar
        if width is not None:
            self._tables.styles.width = _within(width, terminal)

    def resize(self, steps: int, terminal: int) -> None:
        """Wider or, below 0, narrower."""
        if not self._tables.display:
            self._say(f"The tables are hidden: {key('browse.up', 'esc')} brings them back", "warn")
            return
        width = _within(self._tables.outer_size.width + steps * _STEP, terminal)
        self._memory.keep_sidebar(width)
        self.show(terminal)


def _within(width: int, terminal: int) -> int:
    return max(_NARROWEST, min(width, terminal // 2))

"""The key that closed a dialog, pressed once more than it had to be: it is nothing for what is there then.

No text for an editor; and Enter neither cancels the next dialog nor opens the row below.
"""

from __future__ import annotations

import time

from textual.events import Key
from textual.screen import Screen

from tui.keys.early_keys import Typed, awaited

# As long as a key that is pressed twice by mistake.
_SECONDS = 0.5


class ClosingKey:
    """One key, until another is typed."""

    def __init__(self) -> None:
        self._key = ""
        self._at = 0.0

    def closed(self, event: Typed) -> None:
        """It closed a dialog."""
        if isinstance(event, Key):
            self._key, self._at = event.key, time.monotonic()

    def is_again(self, screen: Screen[object], event: Typed) -> bool:
        """Whether this is the same key at once, or before there is what it made, and would do something."""
        if not isinstance(event, Key) or event.key != self._key:
            self._key = ""
            return False
        # By what an editor has: importing it would cost the first frame. Enter answers whatever has come.
        is_meant_for_it = not hasattr(screen.focused, "document") and event.key != "enter"
        is_soon = time.monotonic() - self._at < _SECONDS or bool(awaited(screen, event))
        return is_soon and not is_meant_for_it

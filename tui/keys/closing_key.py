"""The key that closed a dialog, pressed once more than it had to be: it is no text for what lies below."""

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
        """Whether this is the same key at once, or before there is what it made, and would be text now."""
        if not isinstance(event, Key) or event.key != self._key:
            self._key = ""
            return False
        # By what an editor has: importing it would cost the first frame.
        is_text = hasattr(screen.focused, "document")
        is_soon = time.monotonic() - self._at < _SECONDS or bool(awaited(screen, event))
        return is_text and is_soon

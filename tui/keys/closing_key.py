"""Ignore a repeated press of the key that closed a dialog: it is not meant for the screen below.

It must not become text in an editor; and Enter must neither cancel the next dialog nor open the row below.
"""

from __future__ import annotations

import time

from textual.events import Key
from textual.screen import Screen

from paimark.tui.keys.early_keys import Typed, awaited

# The longest time between two presses of which the second is a mistake.
_SECONDS = 0.5


class ClosingKey:
    """Remembers the key that closed a dialog, until another key is typed."""

    def __init__(self) -> None:
        self._key = ""
        self._at = 0.0

    def closed(self, event: Typed) -> None:
        """Remember the key: it closed a dialog."""
        if isinstance(event, Key):
            self._key, self._at = event.key, time.monotonic()

    def is_again(self, screen: Screen[object], event: Typed) -> bool:
        """Whether to ignore a key: the same one comes again at once, or before the new screen is ready."""
        if not isinstance(event, Key) or event.key != self._key:
            self._key = ""
            return False
        # An editor is recognized by its attribute: its import would delay the first frame. Enter always acts.
        is_meant_for_it = not hasattr(screen.focused, "document") and event.key != "enter"
        is_soon = time.monotonic() - self._at < _SECONDS or bool(awaited(screen, event))
        return is_soon and not is_meant_for_it

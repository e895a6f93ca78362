"""Keys that are typed too early, before their rows are read: they are kept, shown, and handled later."""

from __future__ import annotations

import time

from textual.events import Key, Paste
from textual.screen import Screen
from textual.widget import Widget

from paimark.core.figures import counted
from paimark.tui.terminal.key_order import ROWS, WaitingScreen, binding_of
from paimark.tui.widgets.grid.record_grid import RecordGrid
from paimark.tui.widgets.key_bar import KeyBar

Typed = Key | Paste

# Prefixes of binding ids: keys that open a dialog, a line of text or a branch. What is typed next is for what
# opens.
_OPENS = (
    "act.",
    "grid.filter",
    "grid.columns",
    "timeline.jump",
    "branches.view",
    "pane.query",
    "browse.diff",
    "browse.peek",
    "browse.record",
    "peek.record",
    "peek.cell",
)
# Keys that leave, stop or suspend never wait behind such a key.
_NEVER_KEPT = ("escape", "ctrl+c", "ctrl+q", "ctrl+z")


class EarlyKeys:
    """The kept keys belong to the screen on which they were typed: another one over it never gets them."""

    def __init__(self) -> None:
        self._keys: list[Typed] = []
        self._screen: Screen[object] | None = None
        # The event that the first of them waits for.
        self._awaited = ""
        # Whether one of them opens something.
        self._opens = False

    def __bool__(self) -> bool:
        return bool(self._keys)

    def kept(self, screen: Screen[object], event: Typed) -> bool:
        """Keep a key whose data is still being read; return False if it can be handled now."""
        reason = awaited(screen, event) or self._reason_before(screen, event)
        if not reason:
            return False
        if screen is not self._screen:
            self.forget()
        self._screen, self._awaited = screen, self._awaited if self._keys else reason
        self._opens = self._opens or _id_of(screen, event).startswith(_OPENS)
        self._keys.append(event)
        kept = counted(len(self._keys), "key")
        for bar in screen.query(KeyBar):
            bar.say(f"{kept} kept until {reason}: esc forgets", stays=True)
        return True

    def _reason_before(self, screen: Screen[object], event: Typed) -> str:
        """The event that a kept key waits for, if it opens something that this key is for; else empty."""
        leaves = isinstance(event, Key) and event.key in _NEVER_KEPT
        return self._awaited if self._opens and screen is self._screen and not leaves else ""

    def forget(self) -> Screen[object] | None:
        """Drop the kept keys; return their screen, if there were any."""
        screen, self._screen = self._screen, None
        self._keys, self._opens = [], False
        if screen is not None:
            for bar in screen.query(KeyBar):
                bar.hush()
        return screen

    def given_up_by(self, screen: Screen[object], event: Typed) -> bool:
        """Forget the kept keys, as this one does not wait for them; return whether that is all it does."""
        lost = counted(len(self._keys), "key")
        if self.forget() is not screen:
            return False
        if isinstance(event, Key) and event.key == "escape":
            return True
        for bar in screen.query(KeyBar):
            bar.say(f"You went elsewhere: {lost} forgotten", "warn")
        return False

    def ready(self, screen: Screen[object]) -> list[Typed]:
        """Return the keys that can be handled now, and drop them.

        Returns none if there is no row: a key for a row must not act on the table or its newest snapshot.
        """
        if self._screen is screen and awaited(screen, self._keys[0]):
            return []
        keys, grid = self._keys, screen.focused
        why_not = ""
        if self.forget() is not screen:
            why_not = "This opened meanwhile"
        elif self._awaited == ROWS and isinstance(grid, RecordGrid) and not grid.count:
            why_not = "There are no rows"
        for bar in screen.query(KeyBar) if why_not else ():
            bar.say(f"{why_not}: {counted(len(keys), 'key')} forgotten", "warn")
        return [] if why_not else keys


def awaited(screen: Screen[object], event: Typed) -> str:
    """The event that a key must wait for on a screen; empty for none."""
    if not isinstance(screen, WaitingScreen):
        return ""
    return screen.waits_for(_id_of(screen, event))


def _id_of(screen: Screen[object], event: Typed) -> str:
    return binding_of(screen, event.key) if isinstance(event, Key) else ""


# The longest time between two presses of which the second is a mistake.
_SECONDS = 0.5


# It must not become text in an editor; and Enter must neither cancel the next dialog nor open the row below.
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


class OpeningKey:
    """Keeps the key that opened a line of text out of that text, if it is pressed twice.

    If it is the first letter of a word, the next letter follows at once.
    """

    def __init__(self) -> None:
        self._key = ""
        self._at = 0.0
        self._again: list[Typed] = []

    def opened(self, event: Typed, focused: Widget | None) -> None:
        """Remember the key if it has moved the focus to a widget in which it would be text."""
        if isinstance(event, Key) and focused is not None and _is_text(focused, event):
            self._key, self._at = event.key, event.time

    def due(self, event: Typed, focused: Widget | None) -> list[Typed]:
        """The keys to handle now: not the same one again, unless it turns out to begin a word."""
        is_soon = event.time - self._at < _SECONDS
        is_letter = isinstance(event, Key) and focused is not None and _is_text(focused, event)
        if is_letter and is_soon and isinstance(event, Key) and event.key == self._key:
            self._again.append(event)
            self._at = event.time
            return []
        word = self._again if is_soon and is_letter else []
        self._key, self._again = "", []
        return [*word, event]


def _is_text(focused: Widget, event: Key) -> bool:
    return focused.check_consume_key(event.key, event.character)

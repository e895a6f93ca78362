"""Keys typed before that is there which they are for: kept, shown, and done when it comes."""

from __future__ import annotations

from textual.events import Key, Paste
from textual.screen import Screen

from core.figures import counted
from tui.terminal.key_order import ROWS, WaitingScreen, binding_of
from tui.widgets.grid.record_grid import RecordGrid
from tui.widgets.key_bar import KeyBar

Typed = Key | Paste


class EarlyKeys:
    """They are for the screen on which they were typed: another one over it never gets them."""

    def __init__(self) -> None:
        self._keys: list[Typed] = []
        self._screen: Screen[object] | None = None
        # For what the first of them is kept.
        self._awaited = ""

    def __bool__(self) -> bool:
        return bool(self._keys)

    def kept(self, screen: Screen[object], event: Typed) -> bool:
        """Keep it, where what it is for is still being read; False where it can be done."""
        reason = awaited(screen, event)
        if not reason:
            return False
        if screen is not self._screen:
            self.forget()
        self._screen, self._awaited = screen, self._awaited if self._keys else reason
        self._keys.append(event)
        kept = counted(len(self._keys), "key")
        for bar in screen.query(KeyBar):
            bar.say(f"{kept} kept until {reason}: esc forgets", stays=True)
        return True

    def forget(self) -> Screen[object] | None:
        """On which screen they were, if there were any."""
        screen, self._screen = self._screen, None
        self._keys = []
        if screen is not None:
            for bar in screen.query(KeyBar):
                bar.hush()
        return screen

    def ready(self, screen: Screen[object]) -> list[Typed]:
        """Those that can be done now; they are not kept any more.

        None where there is no row: what was meant for one must not be done to the table, or to its newest.
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
    """Until what a key must wait on a screen; empty: it need not."""
    if not isinstance(screen, WaitingScreen):
        return ""
    return screen.waits_for(binding_of(screen, event.key) if isinstance(event, Key) else "")

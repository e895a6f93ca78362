"""Keys typed before the rows are there that they are for: kept, shown, and done when the rows come."""

from __future__ import annotations

from textual.events import Key
from textual.screen import Screen

from core.figures import counted
from tui.terminal.key_order import RowsScreen, binding_of
from tui.widgets.grid.record_grid import RecordGrid
from tui.widgets.key_bar import KeyBar


class EarlyKeys:
    """They are for the screen on which they were typed: another one over it never gets them."""

    def __init__(self) -> None:
        self._keys: list[Key] = []
        self._screen: Screen[object] | None = None

    def __bool__(self) -> bool:
        return bool(self._keys)

    def kept(self, screen: Screen[object], event: Key) -> bool:
        """Keep it, where its rows are still being read; False where it can be done."""
        if not _must_wait(screen, event):
            return False
        if screen is not self._screen:
            self.forget()
        self._screen = screen
        self._keys.append(event)
        kept = counted(len(self._keys), "key")
        for bar in screen.query(KeyBar):
            bar.say(f"{kept} kept until the rows are there: esc forgets", stays=True)
        return True

    def forget(self) -> Screen[object] | None:
        """On which screen they were, if there were any."""
        screen, self._screen = self._screen, None
        self._keys = []
        if screen is not None:
            for bar in screen.query(KeyBar):
                bar.hush()
        return screen

    def ready(self, screen: Screen[object]) -> list[Key]:
        """Those that can be done now; they are not kept any more.

        None where there is no row: what was meant for one must not be done to the table, or to its newest.
        """
        if self._screen is screen and _must_wait(screen, self._keys[0]):
            return []
        keys, grid = self._keys, screen.focused
        if self.forget() is not screen:
            return []
        if isinstance(grid, RecordGrid) and not grid.count:
            for bar in screen.query(KeyBar):
                bar.say(f"There are no rows: {counted(len(keys), 'key')} forgotten", "warn")
            return []
        return keys


def _must_wait(screen: Screen[object], event: Key) -> bool:
    return isinstance(screen, RowsScreen) and screen.must_wait(binding_of(screen, event.key))

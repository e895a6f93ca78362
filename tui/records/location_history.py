"""The history of locations: `[` goes back and `]` forward again."""

from __future__ import annotations

from paimark.tui.memory import Memory, Spot
from paimark.tui.session import Target
from paimark.tui.tabs import Tab

Visit = tuple[Target, Tab]
_KEPT = 100


class LocationHistory:
    """The visited tables and branches with their tabs, oldest first."""

    def __init__(self) -> None:
        self._visits: list[Visit] = []
        self._index = -1

    def add(self, target: Target, tab: Tab) -> None:
        """Add a visit. Like a browser, it drops the visits that `step` went back over."""
        if self._index >= 0 and self._visits[self._index] == (target, tab):
            return
        self._visits = [*self._visits[: self._index + 1], (target, tab)][-_KEPT:]
        self._index = len(self._visits) - 1

    def step(self, by: int) -> Visit | None:
        """Go to the visit before (-1) or after (1) and return it; None if there is none."""
        if not 0 <= self._index + by < len(self._visits):
            return None
        self._index += by
        return self._visits[self._index]


def keep_place(memory: Memory, target: Target, tab: Tab) -> None:
    """Remember where the next session begins. Never in the query pane, where the first keys would be text."""
    shown = Tab.SNAPSHOTS if tab is Tab.QUERY else tab
    memory.keep_spot(Spot(target.table.database, target.table.name, target.branch, shown.name.lower()))

"""The tabs that were opened, the visible one, and the table and branch that all of them show.

Also the history of such locations, for `[` and `]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from paimark.core.figures import counted
from paimark.tui.memory import Memory, Spot
from paimark.tui.panes.pane import PANE_CLASSES, Desk, Pane
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.query.drafts import Texts
from paimark.tui.session import Session, Target
from paimark.tui.tabs import Tab
from paimark.tui.widgets.frame import Frame
from paimark.tui.widgets.tab_bar import TabBar

_COUNTED: Mapping[Tab, tuple[str, ...]] = {
    Tab.SAVEPOINTS: ("savepoint",),
    Tab.BRANCHES: ("branch", "branches"),
    Tab.TAGS: ("tag",),
}


class OpenTabs:
    """It makes the pane of a tab when the tab is first opened, and mounts it in `frame`."""

    def __init__(self, session: Session, desk: Desk, first: Pane, bar: TabBar, frame: Frame) -> None:
        self.target: Target | None = None
        self.current = Tab.SNAPSHOTS
        self.panes: dict[Tab, Pane] = {Tab.SNAPSHOTS: first}
        self._session = session
        self._desk = desk
        self._bar = bar
        self._frame = frame

    @property
    def pane(self) -> Pane:
        return self.panes[self.current]

    @property
    def pane_in_use(self) -> RecordPane[Any] | None:
        """The visible pane, if it shows rows of metadata and has the focus; else None."""
        pane = self.pane
        return pane if isinstance(pane, RecordPane) and pane.has_focus_within else None

    def aim(self, target: Target) -> None:
        """Show another table or branch: the visible pane reads it now, the others when they are opened."""
        self.forget_counts()
        for pane in self.panes.values():
            pane.aim(target)

    async def open(self, tab: Tab) -> Pane:
        if tab != self.current:
            self.pane.display = False
            self.current = tab
            self._bar.open(tab)
        pane = self.panes.get(tab)
        if pane is None:
            module, _, name = PANE_CLASSES[tab].partition(":")
            pane = self.panes[tab] = made = getattr(import_module(module), name)(self._session, self._desk)
            if self.target is not None:
                made.aim(self.target)
            await self._frame.mount(made)
        else:
            pane.display = True
            pane.load_if_stale()
            pane.follow()
        self.show_name()
        return pane

    @property
    def unsaved_queries(self) -> int:
        """The number of texts in the query pane that are neither saved nor run."""
        # By its attributes: importing the pane would delay the first frame.
        return sum(getattr(pane, "unsaved", 0) for pane in self.panes.values())

    @property
    def texts_at_stake(self) -> Texts:
        """The texts of the query pane that would be lost if the process were killed now."""
        return [text for pane in self.panes.values() for text in getattr(pane, "texts_at_stake", ())]

    def keep_texts(self) -> None:
        """Add texts that were typed and not run to the history, because this screen ends."""
        for pane in self.panes.values():
            if (keep := getattr(pane, "keep_texts", None)) is not None:
                keep()

    def reload(self) -> None:
        for pane in self.panes.values():
            pane.reload()

    def show_name(self) -> None:
        """Put the visible pane's name on the frame, with the number of its rows if that is known."""
        count = getattr(self.pane, "count_text", "") if self.pane.is_of(self.target) else ""
        self._frame.call(f"{self.current.title} {count}".rstrip())

    def show_counts(self, counts: Mapping[Tab, int]) -> None:
        """Put the numbers of the table's savepoints, branches and tags beside it."""
        self._frame.note(", ".join(counted(count, *_COUNTED[tab]) for tab, count in counts.items() if count))

    def forget_counts(self) -> None:
        self._frame.note("")
        self._frame.call(self.current.title)


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

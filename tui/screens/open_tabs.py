"""The tabs that were opened, the visible one, and the table and branch that all of them show."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from paimark.tui.panes.pane import PANE_CLASSES, Desk, Pane
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.session import Session, Target
from paimark.tui.tabs import Tab
from paimark.tui.widgets.painted import Column
from paimark.tui.widgets.tab_bar import TabBar


class OpenTabs:
    """It makes the pane of a tab when the tab is first opened, and mounts it in `column`."""

    def __init__(self, session: Session, desk: Desk, first: Pane, bar: TabBar, column: Column) -> None:
        self.target: Target | None = None
        self.current = Tab.SNAPSHOTS
        self.panes: dict[Tab, Pane] = {Tab.SNAPSHOTS: first}
        self._session = session
        self._desk = desk
        self._bar = bar
        self._column = column

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
            await self._column.mount(made)
        else:
            pane.display = True
            pane.load_if_stale()
            pane.follow()
        return pane

    @property
    def unsaved_queries(self) -> int:
        """The number of texts in the query pane that are neither saved nor run."""
        # By its attributes: importing the pane would delay the first frame.
        return sum(getattr(pane, "unsaved", 0) for pane in self.panes.values())

    def keep_texts(self) -> None:
        """Add texts that were typed and not run to the history, because this screen ends."""
        for pane in self.panes.values():
            if (keep := getattr(pane, "keep_texts", None)) is not None:
                keep()

    def reload(self) -> None:
        for pane in self.panes.values():
            pane.reload()

    def show_counts(self, counts: Mapping[Tab, int]) -> None:
        """Put counts beside the titles. The visible pane counts its own rows."""
        for tab, count in counts.items():
            if tab != self.current or not self.pane.is_of(self.target):
                self._bar.count(tab, f"{count:,}")

    def forget_counts(self) -> None:
        for tab in Tab:
            self._bar.count(tab, "")

    def show_count_of(self, changed: RecordPane[Any]) -> None:
        """Put the number of a pane's rows beside its title."""
        for tab, pane in self.panes.items():
            if pane is changed and changed.count_text and changed.is_of(self.target):
                self._bar.count(tab, changed.count_text)

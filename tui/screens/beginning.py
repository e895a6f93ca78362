"""Fill the screen at the start: go to the requested place, else to the first table, and show its rows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from textual.message import Message

from paimark.tui.messages import LogLineAdded
from paimark.tui.opening import Arrived, Chosen, Databases, Newest, Problem, Stage, Stopped, Tables
from paimark.tui.panes.pane import Pane
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.panes.snapshots import SnapshotsPane
from paimark.tui.panes.tables import TablesPane
from paimark.tui.screens.open_tabs import OpenTabs
from paimark.tui.session import Target
from paimark.tui.tabs import Tab


class Beginner(Protocol):
    """The screen, as `Beginning` uses it."""

    tables: TablesPane
    snapshots: SnapshotsPane
    tabs: OpenTabs

    def expect(self, target: Target) -> None: ...
    def say(self, text: str, ink: str = "") -> None: ...
    def go_left(self) -> None: ...
    def open_tab(self, tab: Tab) -> Awaitable[Pane]: ...
    def post_message(self, message: Message) -> bool: ...
    def call_after_refresh(self, callback: Callable[..., Any], *args: Any) -> bool: ...


class Beginning:
    """Shows each stage of the opening on the screen, unless the person has gone elsewhere."""

    def __init__(self, browse: Beginner) -> None:
        self._browse = browse

    def take(self, stage: Stage) -> None:
        browse = self._browse
        match stage:
            case Databases(names):
                browse.tables.take_databases(names)
            case Tables(database, tables):
                browse.tables.take_tables(database, tables)
            case Chosen():
                self._choose(stage)
            case Newest(opened) if opened.target == browse.tabs.target:
                browse.snapshots.first_page(stage)
            case Arrived(target) if target == browse.tabs.target and browse.tabs.current is Tab.SNAPSHOTS:
                browse.call_after_refresh(self._arrive, stage)
            case Problem(text):
                browse.post_message(LogLineAdded(text, "warn"))
            case Stopped("snapshots", error):
                browse.snapshots.fail(error)
            case Stopped(_, error):
                browse.tables.fail(error)
                browse.snapshots.grid.say("")

    def _choose(self, chosen: Chosen) -> None:
        browse = self._browse
        if browse.tabs.target in (None, browse.snapshots.awaited):
            browse.expect(chosen.target)
        if chosen.problem:
            browse.say(chosen.problem, "warn")
            browse.go_left()

    async def _arrive(self, at: Arrived) -> None:
        """Go to the row of the requested version."""
        pane = await self._browse.open_tab(at.tab)
        if at.row and isinstance(pane, RecordPane):
            pane.go_to(at.row)
        if at.note:
            self._browse.say(at.note)

"""A sheet's running work as a job of the console: it is watched while the sheet is visible."""

from __future__ import annotations

from collections.abc import Callable

from textual.message import Message
from textual.widget import Widget

from paimark.tui.panes.pane import Desk
from paimark.tui.tabs import Tab
from paimark.tui.terminal.key_order import settled
from paimark.tui.work.jobs import Job, Jobs


class SheetWanted(Message):
    """A person wants to see the sheet of a job."""

    def __init__(self, sheet: Widget) -> None:
        self.sheet = sheet
        super().__init__()


class SheetJob:
    """One job at a time. `stop` asks it to end."""

    def __init__(self, sheet: Widget, jobs: Jobs, desk: Desk, stop: Callable[[], bool]) -> None:
        self._sheet = sheet
        self._jobs = jobs
        self._desk = desk
        self._stop = stop
        self._job: Job | None = None

    def begin(self, title: str, how_far: Callable[[], str]) -> None:
        self._job = self._jobs.begin(Job(title, how_far, self._stop, self._show, self._is_in_view))

    def end(self, text: str, ink: str) -> None:
        if self._job is not None:
            self._jobs.end(self._job, text, ink)

    async def _show(self) -> None:
        await self._desk.open_tab(Tab.QUERY)
        self._sheet.post_message(SheetWanted(self._sheet))
        await settled(self._sheet)

    def _is_in_view(self) -> bool:
        return all(each.display for each in self._sheet.ancestors_with_self)

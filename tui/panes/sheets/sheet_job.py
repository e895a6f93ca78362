"""A sheet's running work as a job of the console: it is watched while the sheet is visible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual.message import Message
from textual.widget import Widget

from paimark.core.text import clean_text, cut_middle
from paimark.tui.panes.pane import Desk
from paimark.tui.tabs import Tab
from paimark.tui.terminal.key_order import settled
from paimark.tui.theme import Line, Piece
from paimark.tui.widgets.lines import Lines, line_width
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


_WIDEST = 28


@dataclass(frozen=True, slots=True)
class SheetName:
    """`is_unsaved` and `is_running` are shown by signs after the name. `folder` is that of a file, and is
    shown if files of several folders have the same name."""

    name: str
    is_unsaved: bool = False
    is_running: bool = False
    folder: str = ""

    def written(self, *, in_folder: bool) -> str:
        name = f"{self.folder}/{self.name}" if in_folder and self.folder else self.name
        signs = f"{'*' * self.is_unsaved}{' …' * self.is_running}"
        return cut_middle(clean_text(name), _WIDEST) + signs


class SheetBar(Lines):
    """Marks the visible sheet by brackets, in case colours can't be seen."""

    def __init__(self) -> None:
        super().__init__()
        self._names: Sequence[SheetName] = ()
        self._current = 0
        self.display = False

    def show(self, names: Sequence[SheetName], current: int, *, always: bool) -> None:
        self._names, self._current = names, current
        is_needed = always or len(names) > 1
        if self.display != is_needed:
            self.display = is_needed
        self.update_lines()

    def lines(self, width: int) -> Sequence[Line]:
        """All names, or if they do not fit, those around the visible sheet's."""
        pieces = [self._piece(number) for number in range(len(self._names))]
        first = 0
        while first < self._current and line_width(_line(pieces[first : self._current + 1])) > width:
            first += 1
        return [_line(pieces[first:])]

    def _piece(self, number: int) -> Piece:
        name = self._names[number]
        is_shared = sum(each.name == name.name for each in self._names) > 1
        written = name.written(in_folder=is_shared)
        return (f"[{written}]", "title") if number == self._current else (written, "quiet")


def _line(pieces: Sequence[Piece]) -> Line:
    return [(" ", ""), *(part for piece in pieces for part in (piece, ("  ", "")))]

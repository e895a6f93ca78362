"""The parts of a sheet: its text and its name, its running work as a job of the console, its exports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from textual.app import App
from textual.message import Message
from textual.widget import Widget

from paimark.core.errors import PaimarkError
from paimark.core.figures import counted
from paimark.core.spark.protocol import Finished
from paimark.core.text import clean_text, cut_middle
from paimark.tui.dialogs.record import row_of
from paimark.tui.formats import copied_cells
from paimark.tui.messages import StatusShown
from paimark.tui.named_keys import run_key
from paimark.tui.panes.pane import Desk
from paimark.tui.query.exporting import Export
from paimark.tui.query.query_result import QueryResult
from paimark.tui.query.sql_files import SqlFile
from paimark.tui.tabs import Tab
from paimark.tui.terminal.key_order import settled
from paimark.tui.theme import Line, Piece
from paimark.tui.widgets.detail_strip import Detail
from paimark.tui.widgets.grid.record_grid import RecordGrid
from paimark.tui.widgets.lines import Lines, line_width
from paimark.tui.work.background import Slot
from paimark.tui.work.engine_room import EngineRoom
from paimark.tui.work.jobs import Job, Jobs


@dataclass(frozen=True, slots=True)
class SheetText:
    """`kept` is a text that is not lost with the sheet: the history has it, or it can be made again.

    `number` tells the sheets without a file apart.
    """

    kept: str = ""
    file: SqlFile | None = None
    number: int = 1

    def is_unsaved(self, text: str) -> bool:
        """Whether the text was typed, and neither saved nor run. The text of a file must be saved."""
        if self.file is not None:
            return text != self.file.text
        return bool(text.strip()) and text != self.kept

    def is_free(self, text: str) -> bool:
        """Whether another statement may replace the text."""
        return self.file is None and not self.is_unsaved(text)

    def after_run(self, text: str, ran: str) -> SheetText:
        """After a run the history has what ran; the text is kept if that was all of it."""
        is_all = _without_end(ran) == _without_end(text)
        return replace(self, kept=text) if is_all else self

    def name(self, text: str, *, running: bool) -> SheetName:
        is_unsaved = self.is_unsaved(text)
        if self.file is None:
            return SheetName(f"query {self.number}", is_unsaved, running)
        return SheetName(self.file.name, is_unsaved, running, self.file.path.parent.name)

    @property
    def loss(self) -> str:
        """The warning before it is closed unsaved."""
        if self.file is None:
            return "This text is neither saved nor run. The history keeps it."
        return f"What was changed in {self.file.name} is not saved. The history keeps the text."


def _without_end(text: str) -> str:
    return text.strip().removesuffix(";").strip()


class SheetExports:
    """Runs one export at a time. `changed` is called when one begins or ends."""

    def __init__(self, app: App[Any], room: EngineRoom, job: SheetJob, changed: Callable[[], None]) -> None:
        self.running: Export | None = None
        self._app = app
        self._room = room
        self._job = job
        self._changed = changed
        self._writing: Slot[str] = Slot(app, "export", self._written, self._failed)

    async def ask(self, result: QueryResult | None, database: str | None) -> None:
        """Ask for the file, and export to it. It never overwrites a file."""
        from paimark.tui.dialogs.path_screen import ExportScreen

        if result is None or not isinstance(result.end, Finished) or not result.names:
            self._say(f"There are no rows to export: {run_key()} runs the statement", "warn")
            return
        what = f"The {counted(len(result.rows), 'row')} of the result, not sorted or filtered."
        if result.is_cut:
            shown = f"{len(result.rows):,}"
            what = f"All rows, more than the {shown} shown, not sorted or filtered: the statement runs again."
        await self._app.push_screen(ExportScreen(what), partial(self._export_to, result, database))

    def _export_to(self, result: QueryResult, database: str | None, path: Path | None) -> None:
        if path is not None:
            self.running = export = Export(path, self._room)
            export.thread = self._writing.ask(lambda report: report(export.write(result, database)))
            self._job.begin(f"export to {path}", lambda: "".join(text for text, _ in export.line))
            self._changed()

    def _written(self, sentence: str) -> None:
        self._ended(sentence, "good")

    def _failed(self, error: PaimarkError) -> None:
        self._ended(error.said, "bad")

    def _ended(self, sentence: str, ink: str) -> None:
        self.running = None
        self._job.end(sentence, ink)
        self._say(sentence, ink)
        self._changed()

    def _say(self, text: str, ink: str) -> None:
        self._app.post_message(StatusShown(text, ink))


def row_text(grid: RecordGrid) -> str | None:
    """The values of the row, separated by tabs; None if the cursor is on no row."""
    index = grid.index
    if index is None:
        return None
    return copied_cells(grid.source.row(index))


def narrowed(grid: RecordGrid, result: QueryResult) -> Line:
    """What filter and sorting do to the rows. On a low terminal only the status line shows it."""
    if result.is_cut and grid.order.done:
        return [(f"   {grid.order.done}: these rows only", "warn")]
    if not grid.order.filters:
        return []
    return [(f"   filtered: {grid.count:,} of them", "warn")]


def row_detail(grid: RecordGrid, result: QueryResult | None) -> Detail:
    """All fields in full, and the row and column of the cursor."""
    detail, column = row_of(grid), grid.column
    if detail is None or result is None or not len(result.rows):
        return Detail()
    title = "" if column is None else f", column {grid.columns[column].title}"
    return msgspec.structs.replace(detail, position=f"{grid.position}{title}")


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

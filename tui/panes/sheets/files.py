"""Read sheets from `.sql` files and save them, in threads. It asks before it overwrites another text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from textual.widget import Widget

from paimark.core.errors import PaimarkError
from paimark.core.figures import size
from paimark.tui.messages import StatusShown
from paimark.tui.panes.sheets.sheet import QuerySheet
from paimark.tui.query.sql_files import Changed, SqlFile, read_sql, write_sql
from paimark.tui.work.background import Slot

# The result of a thread; `Changed` if it wrote nothing, because the file holds another text.
_Saved = SqlFile | Changed


class SheetFiles:
    """`opened` shows a file on a sheet."""

    def __init__(self, pane: Widget, opened: Callable[[SqlFile], Awaitable[None]]) -> None:
        self._pane = pane
        self._opened = opened
        self._directory = ""
        app = pane.app
        self._reading: Slot[SqlFile] = Slot(app, "open", self._read, self._failed)
        self._writing: Slot[_Saved] = Slot(app, "save", self._written, self._failed)
        self._sheet: QuerySheet | None = None

    async def ask_open(self) -> None:
        from paimark.tui.dialogs.path_screen import PathScreen

        def chosen(path: Path | None) -> None:
            if path is not None:
                self.open(path)

        screen = PathScreen("Open a .sql file", exists=True, text=self._directory)
        await self._pane.app.push_screen(screen, chosen)

    def open(self, path: Path) -> None:
        """Read a file, and show it on a sheet."""
        self._reading.ask(lambda report: report(read_sql(path)))

    @property
    def keys_wait_for(self) -> str:
        """The event that keys must wait for: they may be for the text, or for a question after the write."""
        if self._reading.busy:
            return "the file is read"
        return "the file is written" if self._writing.busy else ""

    async def _read(self, file: SqlFile) -> None:
        self._remember(file)
        await self._opened(file)

    async def save(self, sheet: QuerySheet) -> None:
        """Save a sheet to its file; ask for a file if it has none."""
        if self._writing.busy:
            self._say("The file is still being written", "warn")
        elif sheet.draft.file is None:
            await self.ask_save(sheet)
        elif not sheet.has_unsaved:
            self._say(f"{sheet.draft.file.name} holds this text already", "")
        else:
            self._write(sheet, sheet.draft.file.path, sheet.draft.file.data)

    async def ask_save(self, sheet: QuerySheet) -> None:
        """Ask for a file, and save a sheet to it; ask again before an existing file is overwritten."""
        from paimark.tui.dialogs.path_screen import PathScreen

        def chosen(path: Path | None) -> None:
            if path is not None:
                self._write(sheet, path, None)

        text = self._directory if sheet.draft.file is None else str(sheet.draft.file.path)
        await self._pane.app.push_screen(PathScreen("Save the query", exists=False, text=text), chosen)

    def _write(self, sheet: QuerySheet, path: Path, over: bytes | None) -> None:
        self._sheet, text = sheet, sheet.editor.text

        def work() -> _Saved:
            try:
                return write_sql(path, text, over)
            except Changed as changed:
                return changed

        self._writing.ask(lambda report: report(work()))

    async def _written(self, saved: _Saved) -> None:
        if isinstance(saved, Changed):
            await self._ask_over(saved)
            return
        self._remember(saved)
        if self._sheet is not None:
            self._sheet.set_file(saved)
        self._say(f"Saved {saved.path}", "good")

    async def _ask_over(self, changed: Changed) -> None:
        """Ask whether to overwrite a file: it exists already, or has changed since it was read."""
        from paimark.tui.dialogs.confirm import ConfirmScreen

        sheet, path = self._sheet, changed.path
        if sheet is None:
            return
        is_own = sheet.draft.file is not None and sheet.draft.file.path == path
        question = f"{path} was changed by somebody since." if is_own else f"{path} is there already."
        dialog = ConfirmScreen(
            question,
            f"It holds another text of {size(len(changed.data))}, which would be lost.",
            title="Overwrite the file",
            agree="Overwrite",
        )
        await self._pane.app.push_screen(dialog, partial(self._agreed, sheet, path, changed.data))

    def _agreed(self, sheet: QuerySheet, path: Path, data: bytes, agreed: bool | None) -> None:
        # Overwrite only the text that was there when the question was asked.
        if agreed:
            self._write(sheet, path, data)

    def _failed(self, error: PaimarkError) -> None:
        self._say(error.said, "bad")

    def _remember(self, file: SqlFile) -> None:
        self._directory = f"{file.path.parent}/"

    def _say(self, text: str, ink: str) -> None:
        self._pane.post_message(StatusShown(text, ink))

"""Tab 6: statements, each on a sheet of its own, with the versions that it read and its rows."""

from __future__ import annotations

from itertools import count
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message

from paimark.core.text import clean_text
from paimark.tui.keymap import hidden
from paimark.tui.messages import StatusShown
from paimark.tui.named_keys import cancel_key, key
from paimark.tui.panes.pane import Desk
from paimark.tui.panes.sheets.files import SheetFiles
from paimark.tui.panes.sheets.sheet import QuerySheet
from paimark.tui.panes.sheets.sheet_parts import SheetBar, SheetWanted
from paimark.tui.query.drafts import Texts
from paimark.tui.query.query_result import QueryResult
from paimark.tui.query.sql_files import SqlFile
from paimark.tui.session import Session, Target
from paimark.tui.widgets.detail_strip import Detail
from paimark.tui.widgets.grid.record_grid import RecordGrid
from paimark.tui.widgets.lines import Column
from paimark.tui.widgets.query_status import QueryStatus
from paimark.tui.widgets.sql_editor import SqlEditor

_ALREADY = "It is open here already"


class QueryPane(Column):
    """The pane delegates to the visible sheet. One statement runs at a time, on any sheet."""

    DEFAULT_CSS = """
    QueryPane { height: 1fr; }
    QueryPane SheetBar { height: 1; background: $raised; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        hidden("sheet.new", "ctrl+t", "new", "another query beside this one"),
        hidden("sheet.back", "ctrl+pageup,alt+left", "step(-1)", "the query before"),
        hidden("sheet.next", "ctrl+pagedown,alt+right", "step(1)", "the next query"),
        hidden("sheet.close", "ctrl+g", "shut", "close the query"),
        hidden("sheet.open", "ctrl+f", "open", "open a .sql file"),
        hidden("sheet.save", "ctrl+s", "save", "save the query to a .sql file"),
    ]

    class RowHighlighted(Message):
        """Another row of the result is under the cursor."""

    def __init__(self, session: Session, desk: Desk) -> None:
        super().__init__(id="query")
        self.session = session
        self.desk = desk
        self.target: Target | None = None
        self.bar = SheetBar()
        self.sheets: list[QuerySheet] = []
        self.sheet = self._made()
        self.sheets.append(self.sheet)

    def compose(self) -> ComposeResult:
        yield self.bar
        yield self.sheet

    def on_mount(self) -> None:
        if self.target is not None and not self.editor.text:
            self.sheet.propose(f"SELECT *\nFROM {self.target.sql_name}")
        self._files = SheetFiles(self, self.show_file)

    # Files

    def key_waits_for(self, binding: str) -> str:
        """The event that every key must wait for: a file that is being read or written."""
        return self._files.keys_wait_for

    async def action_open(self) -> None:
        await self._files.ask_open()

    async def action_save(self) -> None:
        await self._files.save(self.sheet)

    async def action_save_as(self) -> None:
        await self._files.ask_save(self.sheet)

    async def show_file(self, file: SqlFile) -> None:
        """Show a file on the sheet that already has it open, else on a free one."""
        for sheet in self.sheets:
            known = sheet.draft.file
            if known is not None and known.path == file.path:
                self.show_sheet(sheet)
                is_same = known.data == file.data
                self.post_message(StatusShown(_ALREADY if is_same else _changed(), "" if is_same else "warn"))
                return
        await self._free_sheet()
        self.sheet.prepare(file.text)
        self.sheet.editor.move_cursor((0, 0))
        self.sheet.set_file(file)
        self.show_names()

    # Sheets

    def _made(self) -> QuerySheet:
        numbers = {each.draft.number for each in self.sheets}
        free = next(number for number in count(1) if number not in numbers)
        sheet = QuerySheet(self.session, self.desk, self.prepare, self.says_running, free)
        if self.target is not None:
            sheet.aim(self.target)
        return sheet

    async def add(self) -> QuerySheet:
        """Add an empty sheet behind the others, and show it."""
        sheet = self._made()
        self.sheets.append(sheet)
        await self.mount(sheet)
        self.show_sheet(sheet)
        return sheet

    def show_sheet(self, sheet: QuerySheet, *, in_rows: bool = False) -> None:
        """Show a sheet, and focus its text; or with `in_rows` its rows, if there are any."""
        self.sheet = sheet
        for each in self.sheets:
            each.display = each is sheet
        sheet.refresh_status()
        self.show_names()
        self.screen.set_focus(sheet.grid if in_rows and sheet.grid.count else sheet.editor)
        self.post_message(self.RowHighlighted())

    def on_sheet_wanted(self, event: SheetWanted) -> None:
        for each in self.sheets:
            if each is event.sheet:
                self.show_sheet(each, in_rows=True)

    def show_names(self) -> None:
        names = [each.short_name for each in self.sheets]
        self.bar.show(names, self.sheets.index(self.sheet), always=self.sheet.draft.file is not None)

    async def action_new(self) -> None:
        await self.add()

    def action_step(self, by: int) -> None:
        if len(self.sheets) == 1:
            self.post_message(StatusShown(f"There is one query: {key('sheet.new')} makes another", ""))
            return
        number = (self.sheets.index(self.sheet) + by) % len(self.sheets)
        self.show_sheet(self.sheets[number], in_rows=self.sheet.grid.has_focus)

    async def action_shut(self) -> None:
        """Close the visible sheet; ask first if its text would be lost."""
        sheet = self.sheet
        if sheet.running:
            self.post_message(
                StatusShown(f"Its statement is still running: {cancel_key()} cancels it", "warn")
            )
        elif not sheet.has_unsaved:
            await self._shut(sheet)
        else:
            from paimark.tui.dialogs.confirm import ConfirmScreen

            question = ConfirmScreen(
                sheet.draft.loss, sheet.editor.text, title="Close the query", agree="Close it"
            )

            async def close(agreed: bool | None) -> None:
                if agreed:
                    await self._shut(sheet)

            await self.app.push_screen(question, close)

    async def _shut(self, sheet: QuerySheet) -> None:
        if sheet not in self.sheets:
            return
        sheet.keep_text()
        index = self.sheets.index(sheet)
        if len(self.sheets) == 1:
            await self.add()
        self.sheets.remove(sheet)
        self.show_sheet(self.sheets[min(index, len(self.sheets) - 1)])
        await sheet.remove()

    def says_running(self) -> bool:
        """Whether a statement or an export runs on any sheet; shows which one, because others must wait."""
        running = next((each for each in self.sheets if each.running), None)
        if running is self.sheet:
            self.post_message(StatusShown(f"A statement is still running: {cancel_key()} cancels it", "warn"))
        elif running is not None:
            name = clean_text(running.short_name.name)
            self.post_message(
                StatusShown(f"The statement of {name} is still running: {cancel_key()} cancels it", "warn")
            )
        return running is not None

    @property
    def unsaved(self) -> int:
        """The number of sheets with text that is neither saved nor run."""
        return sum(sheet.has_unsaved for sheet in self.sheets)

    @property
    def texts_at_stake(self) -> Texts:
        """The texts that would be lost if the process were killed now."""
        return [text for sheet in self.sheets for text in sheet.texts_at_stake]

    def keep_texts(self) -> None:
        """Add the texts that would be lost now to the history."""
        for each in self.sheets:
            each.keep_text()

    # The sheet in view

    @property
    def editor(self) -> SqlEditor:
        return self.sheet.editor

    @property
    def status(self) -> QueryStatus:
        return self.sheet.status

    @property
    def grid(self) -> RecordGrid:
        return self.sheet.grid

    @property
    def result(self) -> QueryResult | None:
        return self.sheet.result

    def copy_text(self) -> str | None:
        return self.sheet.copy_text()

    @property
    def current_detail(self) -> Detail:
        return self.sheet.current_detail

    async def prepare(self, sql: str) -> None:
        """Put a statement into an editor, ready to run; it never replaces a text that would be lost."""
        await self._free_sheet()
        self.sheet.prepare(sql)

    async def _free_sheet(self) -> None:
        """Show a sheet whose text may be replaced: the visible one, or an empty one, or a new one."""
        if self.sheet.is_free:
            return
        empty = next((each for each in self.sheets if each.is_empty), None)
        if empty is None:
            await self.add()
        else:
            self.show_sheet(empty)

    @property
    def running(self) -> bool:
        return any(each.running for each in self.sheets)

    def cancel(self) -> bool:
        """Stop the running statement or export, on any sheet; return whether there was one."""
        return self.sheet.cancel() or any(each.cancel() for each in self.sheets)

    # The protocol of a pane

    def aim(self, target: Target) -> None:
        self.target = target
        for each in self.sheets:
            each.aim(target)

    def load_if_stale(self) -> None:
        """Do nothing: statements run only on request."""

    def reload(self) -> None:
        """Do nothing: the rows stay until the statement is run again."""

    def follow(self) -> None:
        """Do nothing: a result does not follow changes of its table."""

    def is_of(self, target: Target | None) -> bool:
        """False: a result belongs to no table in particular."""
        return False

    def focus_first(self) -> None:
        self.screen.set_focus(self.editor)

    def on_query_sheet_row_highlighted(self, event: QuerySheet.RowHighlighted) -> None:
        if event.sheet is self.sheet:
            self.post_message(self.RowHighlighted())

    def on_query_sheet_renamed(self) -> None:
        self.show_names()


def _changed() -> str:
    close, opened = key("sheet.close"), key("sheet.open")
    return (
        f"It is open here already, and was changed by somebody since: {close}, then {opened} reads it again"
    )

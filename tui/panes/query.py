"""Tab 6: statements, each on a sheet of its own, with what it was read at and its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message

from tui.panes.pane import Desk
from tui.panes.sheets.sheet import QuerySheet
from tui.query.query_result import QueryResult
from tui.session import Session, Target
from tui.widgets.detail_strip import Detail
from tui.widgets.grid.record_grid import RecordGrid
from tui.widgets.query_status import QueryStatus
from tui.widgets.sql_editor import SqlEditor

if TYPE_CHECKING:
    from core.travel.diff.diff import Difference


class QueryPane(Vertical):
    """What holds for the sheet in view holds for the pane."""

    DEFAULT_CSS = """
    QueryPane { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = []

    class RowHighlighted(Message):
        """Another row of the result is under the cursor."""

    def __init__(self, session: Session, desk: Desk) -> None:
        super().__init__(id="query")
        self.target: Target | None = None
        self.sheet = QuerySheet(session, desk)

    def compose(self) -> ComposeResult:
        yield self.sheet

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

    def prepare(self, sql: str) -> None:
        """Put a statement into the editor, ready to run; ctrl+z brings back what was there."""
        self.sheet.prepare(sql)

    def compare(self, difference: Difference) -> None:
        """Put the statement of a difference into the editor and run it."""
        self.sheet.compare(difference)

    @property
    def running(self) -> bool:
        return self.sheet.running

    def cancel(self) -> bool:
        """Stop what runs; whether there was anything."""
        return self.sheet.cancel()

    # As a tab

    def aim(self, target: Target) -> None:
        self.target = target
        self.sheet.aim(target)

    def load_if_stale(self) -> None:
        """Nothing is run without being asked."""

    def reload(self) -> None:
        """The rows stay: running again is `ctrl+r`."""

    def follow(self) -> None:
        """A result does not follow its table."""

    def is_of(self, target: Target | None) -> bool:
        """A result is of no table in particular."""
        return False

    def focus_first(self) -> None:
        self.screen.set_focus(self.editor)

    def on_query_sheet_row_highlighted(self) -> None:
        self.post_message(self.RowHighlighted())

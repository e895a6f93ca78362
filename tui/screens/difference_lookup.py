"""`D`: find the two versions that are compared, and show what they differ in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.app import App

from core.errors import PaimarkError
from tui.messages import Say
from tui.records.marks import Mark, moved_on, pair_to_compare, why_no_pair
from tui.screens.selected_rows import SelectedRows
from tui.session import Session, Target
from tui.work.background import Slot

if TYPE_CHECKING:
    from core.travel.diff.diff import Difference

MarkPair = tuple[Mark, Mark]


class DifferenceLookup:
    """Looks the two versions up in a thread. `prepare` gets a difference's statement when that is wanted."""

    def __init__(
        self,
        app: App[Any],
        session: Session,
        rows: SelectedRows,
        say: Say,
        prepare: Callable[[str], object],
    ) -> None:
        self.shown: Difference | None = None
        self._session = session
        self._rows = rows
        self._say = say
        self._prepare = prepare
        self._app = app
        self._slot: Slot[tuple[MarkPair, Difference]] = Slot(app, "diff", self._take, self._fail)

    def start(self, target: Target) -> None:
        """Compare the marked rows, or the row under the cursor."""
        from core.travel.diff.diff import make_difference

        marks = self._rows.marks
        if len(marks) != 2 and self._rows.says_no_row():
            return
        pair = pair_to_compare(marks, self._rows.under_cursor)
        if pair is None:
            self._say(why_no_pair(marks), "warn")
            return
        files, old, new = self._session.files, pair[0].wanted, pair[1].wanted
        self._slot.ask(lambda report: report((pair, make_difference(files, target.table, old, new))))

    def _take(self, compared: tuple[MarkPair, Difference]) -> None:
        (old, new), difference = compared
        self._rows.unmark()
        moved = moved_on(old, difference.old.snapshot) or moved_on(new, difference.new.snapshot)
        if moved:
            self._say(moved, "warn")
        else:
            self.shown = difference
            self._show(difference)

    def _show(self, difference: Difference) -> None:
        from tui.dialogs.difference.difference_screen import DifferenceScreen

        def closed(wants_statement: bool | None) -> None:
            if wants_statement:
                self._prepare(difference.statement)

        self._app.push_screen(DifferenceScreen(self._session.room, difference), closed)

    def _fail(self, error: PaimarkError) -> None:
        self._say(f"{error.message}. {error.hint}".rstrip(), "bad")

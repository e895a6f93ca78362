"""The rows that a key acts on: the one under the cursor, and those that are marked to be compared."""

from __future__ import annotations

from tui.messages import Say
from tui.panes.record_pane import RecordPane
from tui.records.marks import Mark, marked_words, toggled, why_not_one
from tui.screens.open_tabs import OpenTabs


class SelectedRows:
    """Where a key can't act on a row, `say` tells why."""

    def __init__(self, tabs: OpenTabs, say: Say) -> None:
        self.marks: list[Mark] = []
        self._tabs = tabs
        self._say = say

    @property
    def under_cursor(self) -> Mark | None:
        """The row that the keys go to, as it is marked or compared."""
        pane = self._tabs.pane_in_use
        return None if pane is None else pane.current_mark

    def toggle_mark(self) -> None:
        """Mark the row under the cursor, or take its mark away."""
        mark = self.under_cursor
        if mark is None:
            self.says_no_row()
        else:
            self._mark(toggled(self.marks, mark))
            self._say(marked_words(self.marks))

    def unmark(self) -> None:
        """Take all marks away."""
        self._mark([])

    def says_no_row(self) -> bool:
        """Whether the keys go to rows of which the cursor is on none; then it is said."""
        pane = self._tabs.pane_in_use
        return pane is not None and pane.says_no_row()

    def says_not_one(self) -> bool:
        """Whether it is unclear which row is meant; then it is said.

        Nobody should think that all marked rows are acted on, nor that it is a marked one.
        """
        if self.says_no_row():
            return True
        pane = self._tabs.pane
        reason = why_not_one(self.marks, pane.current_mark) if isinstance(pane, RecordPane) else ""
        if reason:
            self._say(reason, "warn")
        return bool(reason)

    def _mark(self, marks: list[Mark]) -> None:
        self.marks = marks
        for pane in self._tabs.panes.values():
            if isinstance(pane, RecordPane):
                pane.grid.repaint_rows()

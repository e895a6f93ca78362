"""The rows that a key acts on: the one under the cursor, and those that are marked."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import msgspec

from tui.messages import Say
from tui.named_keys import key, unmark_key
from tui.panes.record_pane import RecordPane
from tui.records.marks import Mark, marked_words, toggled, why_not_one
from tui.screens.open_tabs import OpenTabs

# More at once are refused by the actions, too.
_LONGEST = 500


class _Range(msgspec.Struct, frozen=True):
    """From the row with the key `anchor` to the cursor; `before` are the marks without it."""

    pane: RecordPane[Any]
    anchor: Hashable
    before: tuple[Mark, ...]


class SelectedRows:
    """Where a key can't act on a row, `say` tells why."""

    def __init__(self, tabs: OpenTabs, say: Say) -> None:
        self.marks: list[Mark] = []
        self._range: _Range | None = None
        self._tabs = tabs
        self._say = say

    @property
    def under_cursor(self) -> Mark | None:
        """The row that the keys go to, as it is marked or compared."""
        pane = self._tabs.pane_in_use
        return None if pane is None else pane.current_mark

    def name(self) -> str:
        """What one copies of the row; empty where the cursor is on none, and then it is said."""
        text = self._tabs.pane.copy_text()
        if not text:
            self.says_no_row()
        return text or ""

    def record(self) -> str:
        """The whole record as JSON; empty where the cursor is on no row, and then it is said."""
        from tui.dialogs.record import as_json

        detail = self._tabs.pane.current_detail
        if not detail.facts:
            self.says_no_row()
        return as_json(detail) if detail.facts else ""

    def toggle_mark(self) -> None:
        """Mark the row under the cursor, or take its mark away."""
        mark = self.under_cursor
        self._range = None
        if mark is None:
            self.says_no_row()
        else:
            self._mark(toggled(self.marks, mark))
            self._say(marked_words(self.marks))

    def toggle_range(self) -> None:
        """Mark rows from the one under the cursor to wherever that goes, until this is called again."""
        pane = self._tabs.pane_in_use
        if self._range is not None:
            self._range = None
            self._say(marked_words(self.marks))
        elif pane is None or pane.grid.index is None or pane.current_mark is None:
            self.says_no_row()
        else:
            self._range = _Range(pane, pane.grid.source.key(pane.grid.index), tuple(self.marks))
            self.cursor_moved()
            ends = f"{key('browse.mark_range', 'V')} ends it, {unmark_key()} takes the marks away"
            self._say(f"Marking from here to the cursor: {ends}")

    def cursor_moved(self) -> None:
        """The cursor is elsewhere: the range, if there is one, ends there."""
        marking = self._range
        if marking is None or marking.pane is not self._tabs.pane:
            return
        grid = marking.pane.grid
        anchor, cursor = grid.view.place(marking.anchor), grid.cursor
        if anchor is None:
            self._range = None
            self._say("The row that the range began at is not shown any more: its marks stay", "warn")
        elif abs(anchor - cursor) >= _LONGEST:
            self._say(f"A range has {_LONGEST} rows at most: it ends before the cursor", "warn")
        elif grid.count:
            rows = range(min(anchor, cursor), min(max(anchor, cursor) + 1, grid.count))
            marks = (marking.pane.mark_at(grid.view.index(place)) for place in rows)
            self._mark([*dict.fromkeys([*marking.before, *(mark for mark in marks if mark is not None)])])

    def unmark(self) -> None:
        """Take all marks away."""
        self._range = None
        if self.marks:
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
                pane.marks_changed()

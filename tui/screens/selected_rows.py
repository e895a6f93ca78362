"""The rows that a key acts on: the one under the cursor, and the marked ones."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import msgspec

from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.declared.kinds import Argument, RowVersion, Value
from paimark.core.figures import counted
from paimark.tui.messages import Say
from paimark.tui.named_keys import delete_key, key, mark_key, unmark_key
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.records.marks import Mark, marked_words, toggled, why_not_one
from paimark.tui.records.row_actions import DELETE, seen
from paimark.tui.screens.browse_keys import COMPARING
from paimark.tui.screens.open_tabs import OpenTabs
from paimark.tui.session import Target

# The actions refuse more rows, too.
_LONGEST = 500


class _Range(msgspec.Struct, frozen=True):
    """The rows from the one with the key `anchor` to the cursor; `before` are the marks without the range."""

    pane: RecordPane[Any]
    anchor: Hashable
    before: tuple[Mark, ...]


class SelectedRows:
    """If a key can't act on a row, it shows the reason by `say`."""

    def __init__(self, tabs: OpenTabs, say: Say) -> None:
        self.marks: list[Mark] = []
        self._range: _Range | None = None
        self._tabs = tabs
        self._say = say

    @property
    def pane(self) -> RecordPane[Any] | None:
        """The focused pane, if it has rows of metadata."""
        return self._tabs.pane_in_use

    @property
    def under_cursor(self) -> Mark | None:
        """The row under the cursor of the focused pane, as a mark; None if there is none."""
        pane = self._tabs.pane_in_use
        return None if pane is None else pane.current_mark

    @property
    def keys_without_effect(self) -> Sequence[str]:
        """The ids of the keys that compare rows, if no row has the focus and no two are marked."""
        if self._tabs.pane_in_use is not None:
            return ()
        return COMPARING if len(self.marks) != 2 else COMPARING[1:]

    def name(self) -> str:
        """The text to copy of the row; if the cursor is on no row: empty, with a message."""
        text = self._tabs.pane.copy_text()
        if not text and not self.says_no_row():
            self._say("There is no row to copy: go to one first", "warn")
        return text or ""

    def record(self) -> str:
        """The whole record as JSON; if the cursor is on no row: empty, with a message."""
        from paimark.tui.dialogs.record import as_json

        detail = self._tabs.pane.current_detail
        if not detail.facts and not self.says_no_row():
            self._say("There is no record to copy: go to a row first", "warn")
        return as_json(detail) if detail.facts else ""

    def toggle_mark(self) -> None:
        """Mark the row under the cursor, or remove its mark."""
        mark = self.under_cursor
        self._range = None
        if mark is None:
            self._says_unmarkable()
        else:
            self._mark(toggled(self.marks, mark))
            self._say(marked_words(self.marks))

    def toggle_range(self) -> None:
        """Mark the rows from the one under the cursor to its later position, until this is called again."""
        pane = self._tabs.pane_in_use
        if self._range is not None:
            self._range = None
            self._say(marked_words(self.marks))
        elif pane is None or pane.grid.index is None or pane.current_mark is None:
            self._says_unmarkable()
        else:
            self._range = _Range(pane, pane.grid.source.key(pane.grid.index), tuple(self.marks))
            self.cursor_moved()
            ends = f"{key('browse.mark_range')} ends it, {unmark_key()} takes the marks away"
            self._say(f"Marking from here to the cursor: {ends}")

    def cursor_moved(self) -> None:
        """Extend the range, if there is one, to the new position of the cursor."""
        marking = self._range
        if marking is None or marking.pane is not self._tabs.pane:
            return
        grid = marking.pane.grid
        anchor, cursor = grid.view.place(marking.anchor), grid.cursor
        if anchor is None:
            self._range = None
            self._say("The row that the range began at is not shown any more: its marks stay", "warn")
        elif grid.count:
            if abs(anchor - cursor) >= _LONGEST:
                self._say(f"A range has {_LONGEST} rows at most: it ends before the cursor", "warn")
            first = max(min(anchor, cursor), anchor - _LONGEST + 1)
            last = min(max(anchor, cursor), anchor + _LONGEST - 1, grid.count - 1)
            marks = (marking.pane.mark_at(grid.view.index(place)) for place in range(first, last + 1))
            self._mark([*dict.fromkeys([*marking.before, *(mark for mark in marks if mark is not None)])])

    def unmark(self) -> None:
        """Remove all marks."""
        self._range = None
        if self.marks:
            self._mark([])

    def says_no_row(self) -> bool:
        """Whether the focused pane has its cursor on no row; shows a message then."""
        pane = self._tabs.pane_in_use
        return pane is not None and pane.says_no_row()

    def _says_unmarkable(self) -> None:
        if not self.says_no_row():
            self._say("Go to a snapshot, savepoint, branch or tag: only such rows can be marked", "warn")

    def says_not_one(self) -> bool:
        """Whether it is unclear which row is meant; shows a message then.

        Without it a person could expect the action on all marked rows, or on a marked row elsewhere.
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


class Several(msgspec.Struct, frozen=True):
    """The arguments of an action on all marked rows, or in `why_not` the reason why it is impossible."""

    arguments: Mapping[str, object]
    why_not: str = ""


def several(name: str, target: Target, pane: object, marks: Sequence[Mark]) -> Several | None:
    """The action on the marked rows of the pane; None if it is for one row."""
    declared = DECLARED.get(name)
    varied = None if declared is None else declared.varied
    if len(marks) < 2 or not (varied or name == DELETE) or not isinstance(pane, RecordPane):
        return None
    if declared is None or varied is None:
        savepoints, branches = key("tab.savepoints"), key("tab.branches")
        tabs = f"{savepoints} savepoints, {branches} branches, {key('tab.tags')} tags"
        return Several({}, f"{delete_key()} deletes several on their own tabs: {tabs}")
    rows = marked_rows(pane, marks)
    if len(rows) < 2:
        here = f"{len(rows) or 'none'} of them here"
        return Several(
            {}, f"{counted(len(marks), 'row')} are marked, {here}: {unmark_key()} takes the marks away"
        )
    given = [(mark.label, declared.of(seen(target, row, newest=False))) for mark, row in rows]
    return _together(name, varied, given)


def marked_rows(pane: RecordPane[Any], marks: Sequence[Mark]) -> list[tuple[Mark, RowVersion]]:
    """The marked rows of the pane in their order, also those that a filter hides."""
    marked, rows = set(marks), list[tuple[Mark, RowVersion]]()
    for index in range(len(pane.grid.source)):
        if len(rows) == len(marked):
            break
        mark, row = pane.mark_at(index), pane.version(index)
        if mark is not None and row is not None and mark in marked:
            rows.append((mark, row))
    return rows


def _together(name: str, argument: Argument, rows: Sequence[tuple[str, dict[str, Value]]]) -> Several:
    varied = argument.name
    lacking = [label for label, arguments in rows if arguments.get(varied) is None]
    if lacking:
        return Several(
            {}, f"{name} can't be done to {', '.join(lacking[:5])}: {mark_key()} takes a mark away"
        )
    others = [{key: each for key, each in arguments.items() if key != varied} for _, arguments in rows]
    if any(each != others[0] for each in others):
        return Several({}, "The marked rows are of several branches: mark those of one")
    values = [*dict.fromkeys(arguments[varied] for _, arguments in rows)]
    if argument.takes is int:
        values.sort(key=int)
    return Several({**others[0], varied: values})

"""Combine several marked rows into one action on all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.declared.kinds import Argument, Value
from paimark.core.actions.declared.row import RowVersion
from paimark.core.figures import counted
from paimark.tui.named_keys import delete_key, key, mark_key, unmark_key
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.records.marks import Mark
from paimark.tui.records.row_actions import DELETE, seen
from paimark.tui.session import Target


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
        savepoints, branches = key("tab.savepoints", "2"), key("tab.branches", "3")
        tabs = f"{savepoints} savepoints, {branches} branches, {key('tab.tags', '4')} tags"
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

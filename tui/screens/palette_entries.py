"""What the palette offers: panes, actions, tables, and the console's own switches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from core.actions.registry import ACTIONS
from tui.dialogs.palette import Entry
from tui.panes.pane import TABS
from tui.session import Target

if TYPE_CHECKING:
    from tui.screens.browse import BrowseScreen

_ACTION_KEYS = {
    "create-savepoint": "s",
    "create-branch": "b",
    "create-tag": "t",
    "merge-branch": "m",
    "replace-main-branch": "R",
    "rollback": "B",
    "undo": "u",
    "redo": "U",
}


def entries(browse: BrowseScreen, own: Sequence[Entry]) -> list[Entry]:
    """In the order people look for them; all are found by typing. `own` are the application's."""
    found = [
        Entry(change.title, f"running, {change.elapsed}", "", partial(browse.show_change, change))
        for change in browse.session.changes
    ]
    if browse.target is not None:
        found += [
            Entry(name, action.summary, _ACTION_KEYS.get(name, ""), partial(browse.action_act, name))
            for name, action in ACTIONS.items()
        ]
    found += [
        Entry(name.lower(), "pane", str(number + 1), partial(browse.open_tab, number))
        for number, name in enumerate(TABS)
    ]
    if browse.target is not None:
        found += [
            Entry("diff", "rows that differ between two versions", "D", browse.action_diff),
            Entry("peek", "the first rows, without Spark", "p", browse.action_peek),
            Entry("protect", "switch stock expiry off on the branch", "P", browse.action_protect),
        ]
    found += [
        Entry("log", "what was done, and what went wrong", "L", browse.action_log),
        Entry("refresh", "read the pane again", "r", browse.action_refresh),
        Entry("zoom", "hide or show the tables", "z", browse.action_zoom),
        *own,
    ]
    for tables in browse.tables.tables.values():
        if isinstance(tables, list):
            found += [
                Entry(table.full_name, "table", "", partial(browse.show_table, Target(table)))
                for table in tables
            ]
    return found

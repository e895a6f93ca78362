"""The entries of the palette: panes, actions, tables, and the console's own commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from paimark.core.actions.declared.declarations import DECLARED
from paimark.tui.dialogs.palette import PaletteEntry
from paimark.tui.screens.palette.query_entries import query_entries
from paimark.tui.session import Target
from paimark.tui.tabs import Tab

if TYPE_CHECKING:
    from paimark.tui.screens.browse import BrowseScreen


def entries(browse: BrowseScreen, own: Sequence[PaletteEntry], keys: Mapping[str, str]) -> list[PaletteEntry]:
    """All entries, the most wanted first; typing finds any. `own` are the application's.

    `keys` maps the default keys to the keys that they were rebound to.
    """

    def named(listed: list[PaletteEntry]) -> list[PaletteEntry]:
        return [replace(each, keys=keys.get(each.keys, each.keys)) for each in listed]

    queries = query_entries(partial(browse.open_tab, Tab.QUERY))
    return [*named(_of_the_table(browse)), *queries, *named(_of_the_console(browse, own))]


def _of_the_table(browse: BrowseScreen) -> list[PaletteEntry]:
    offered = [
        PaletteEntry(
            change.title, f"running, {change.elapsed}", "", partial(browse.dialogs.open_running, change)
        )
        for change in browse.session.changes
    ]
    if browse.target is not None:
        open_action = partial(browse.dialogs.open_action, by_name=True)
        offered += [
            PaletteEntry(name, each.summary, each.key.key if each.key else "", partial(open_action, name))
            for name, each in DECLARED.items()
            if not each.of_no_table
        ]
    offered += [
        PaletteEntry(name, each.summary, "", partial(browse.dialogs.open_dropped, name))
        for name, each in DECLARED.items()
        if each.of_no_table
    ]
    offered += [PaletteEntry(tab.name.lower(), "pane", tab.key, partial(browse.open_tab, tab)) for tab in Tab]
    if browse.target is not None:
        offered += [
            PaletteEntry("diff", "rows that differ between two versions", "D", browse.action_diff),
            PaletteEntry("changes", "rows that one snapshot changed", "=", browse.action_changes),
            PaletteEntry(
                "chart", "records, files and bytes over time, or a histogram", "C", browse.action_chart
            ),
            PaletteEntry("when", "since when there are rows of a condition", "", browse.ask_when),
            PaletteEntry("peek", "the first rows, without Spark", "p", browse.action_peek),
            PaletteEntry("protect", "switch stock expiry off on the branch", "P", browse.action_protect),
        ]
    return offered


def _of_the_console(browse: BrowseScreen, own: Sequence[PaletteEntry]) -> list[PaletteEntry]:
    offered = [
        PaletteEntry("log", "what was done, and what went wrong", "L", browse.action_log),
        PaletteEntry("refresh", "read the pane again", "r", browse.action_refresh),
        PaletteEntry("zoom", "hide or show the tables", "z", browse.action_zoom),
        PaletteEntry("wider tables", "the tables at the left", "}", partial(browse.action_sidebar, 1)),
        PaletteEntry("narrower tables", "the tables at the left", "{", partial(browse.action_sidebar, -1)),
        *own,
    ]
    for tables in browse.tables.tables.values():
        if isinstance(tables, list):
            offered += [
                PaletteEntry(table.full_name, "table", "", partial(browse.show_table, Target(table)))
                for table in tables
            ]
    return offered

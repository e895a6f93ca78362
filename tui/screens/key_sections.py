"""The content of `?`: the bindings of all parts of the console, by the place where they apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from textual.binding import Binding, BindingType
from textual.screen import Screen

from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.dialogs.help import KeySection
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.panes.tab_keys import KEYS_OF_TABS
from paimark.tui.panes.tables import TablesPane
from paimark.tui.screens.browse import BrowseScreen
from paimark.tui.tabs import Tab
from paimark.tui.widgets.grid.record_grid import RecordGrid


def dialog_sections(screen: Screen[Any]) -> list[KeySection]:
    """For a dialog its own keys, and those of rows if a grid has the focus; for other screens nothing."""
    if not isinstance(screen, Dialog):
        return []
    active = [each for each in screen.active_bindings.values() if each.node is screen and each.enabled]
    here: dict[str, Binding] = {}
    for binding in (each.binding for each in active):
        # A binding with several keys is in the list once for each; Textual's own have no id.
        if binding.id:
            known = here.get(binding.id)
            here[binding.id] = replace(binding, key=f"{known.key},{binding.key}") if known else binding
    in_rows = isinstance(screen.focused, RecordGrid)
    return [("Here", [*here.values()]), *([("In rows", RecordGrid.BINDINGS)] if in_rows else [])]


def key_sections(everywhere: Sequence[BindingType], here: Tab | None = None) -> list[KeySection]:
    """All sections. `everywhere` are the application's bindings; the section of the tab `here` is first."""
    sections = [
        ("Everywhere: each change shows its plan first", [*BrowseScreen.BINDINGS, *everywhere]),
        ("In rows", RecordGrid.BINDINGS),
        ("On a snapshot, savepoint, branch or tag", RecordPane.BINDINGS),
        ("Tables", TablesPane.BINDINGS),
        *((tab.title, keys) for tab, keys in KEYS_OF_TABS.items()),
    ]
    return sorted(sections, key=lambda section: here is None or section[0] != here.title)

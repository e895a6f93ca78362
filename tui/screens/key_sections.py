"""The content of `?`: the bindings of all parts of the console, by where they hold."""

from __future__ import annotations

from collections.abc import Sequence

from textual.binding import BindingType

from tui.dialogs.help import KeySection
from tui.panes.branches import BranchesPane
from tui.panes.query import QueryPane
from tui.panes.record_pane import RecordPane
from tui.panes.schema import SchemaPane
from tui.panes.sheets.sheet import QuerySheet
from tui.panes.tables import TablesPane
from tui.panes.timeline.timeline_pane import TimelinePane
from tui.screens.browse import BrowseScreen
from tui.widgets.grid.record_grid import RecordGrid
from tui.widgets.sql_editor import SqlEditor


def key_sections(everywhere: Sequence[BindingType]) -> list[KeySection]:
    """`everywhere` are the application's own."""
    return [
        ("Everywhere", [*BrowseScreen.BINDINGS, *everywhere]),
        ("In rows", RecordGrid.BINDINGS),
        ("On a snapshot, savepoint, branch or tag", RecordPane.BINDINGS),
        ("Branches", BranchesPane.BINDINGS),
        ("Schema", SchemaPane.BINDINGS),
        ("Timeline", TimelinePane.BINDINGS),
        ("Tables", TablesPane.BINDINGS),
        ("Query", [*QueryPane.BINDINGS, *QuerySheet.BINDINGS, *SqlEditor.BINDINGS]),
    ]

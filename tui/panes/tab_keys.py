"""The keys that only the pane of one tab has. Imports every pane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.binding import BindingType

from paimark.tui.panes.branches import BranchesPane
from paimark.tui.panes.query import QueryPane
from paimark.tui.panes.schema import SchemaPane
from paimark.tui.panes.sheets.sheet import QuerySheet
from paimark.tui.panes.timeline.timeline_pane import TimelinePane
from paimark.tui.tabs import Tab
from paimark.tui.widgets.sql_editor import SqlEditor

KEYS_OF_TABS: Mapping[Tab, Sequence[BindingType]] = {
    Tab.BRANCHES: BranchesPane.BINDINGS,
    Tab.SCHEMA: SchemaPane.BINDINGS,
    Tab.TIMELINE: TimelinePane.BINDINGS,
    Tab.QUERY: [*QueryPane.BINDINGS, *QuerySheet.BINDINGS, *SqlEditor.BINDINGS],
}

"""What the screen asks of a tab, and the tabs there are; each is imported when it is first opened."""

from __future__ import annotations

from typing import Any, Protocol

from tui.session import Target
from tui.widgets.detail_strip import Detail
from tui.widgets.record_grid import RecordGrid

TABS = ("Snapshots", "Savepoints", "Branches", "Tags", "Schema", "Query")
TAB_CLASSES = (
    "tui.panes.snapshots:SnapshotsPane",
    "tui.panes.savepoints:SavepointsPane",
    "tui.panes.branches:BranchesPane",
    "tui.panes.tags:TagsPane",
    "tui.panes.schema:SchemaPane",
    "tui.panes.query:QueryPane",
)


class Pane(Protocol):
    """A tab's contents."""

    grid: RecordGrid
    display: Any

    def aim(self, target: Target) -> None: ...
    def load_if_stale(self) -> None: ...
    def reload(self) -> None: ...
    def follow(self) -> None: ...
    def focus_first(self) -> None: ...
    def copy_text(self) -> str | None: ...
    @property
    def current_detail(self) -> Detail: ...

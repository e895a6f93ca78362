"""The protocols between the screen and its panes. A pane is imported when its tab is first opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from core.table.layout import TablePath
from tui.session import RowVersion, Target
from tui.tabs import Tab
from tui.widgets.detail_strip import Detail
from tui.widgets.grid.record_grid import RecordGrid

if TYPE_CHECKING:
    from core.statements.call import Called
    from tui.records.marks import Mark

PANE_CLASSES: Mapping[Tab, str] = {
    Tab.SNAPSHOTS: "tui.panes.snapshots:SnapshotsPane",
    Tab.SAVEPOINTS: "tui.panes.savepoints:SavepointsPane",
    Tab.BRANCHES: "tui.panes.branches:BranchesPane",
    Tab.TAGS: "tui.panes.tags:TagsPane",
    Tab.SCHEMA: "tui.panes.schema:SchemaPane",
    Tab.QUERY: "tui.panes.query:QueryPane",
    Tab.TIMELINE: "tui.panes.timeline.timeline_pane:TimelinePane",
    Tab.SPACE: "tui.panes.space.space_pane:SpacePane",
}


class Pane(Protocol):
    """A tab's contents."""

    display: Any

    @property
    def grid(self) -> RecordGrid: ...
    def aim(self, target: Target) -> None: ...
    def load_if_stale(self) -> None: ...
    def reload(self) -> None: ...
    def follow(self) -> None: ...
    def focus_first(self) -> None: ...
    def is_of(self, target: Target | None) -> bool: ...
    def copy_text(self) -> str | None: ...
    @property
    def current_detail(self) -> Detail: ...


class Desk(Protocol):
    """The screen as a pane uses it. Called directly, not by message, so that the next key finds it done."""

    @property
    def marks(self) -> Sequence[Mark]: ...
    def cursor_moved(self) -> None: ...
    def open_table(self, table: TablePath) -> None: ...
    def go_left(self) -> None: ...
    def go_up(self) -> None: ...
    async def open_tab(self, tab: Tab) -> Pane: ...
    async def plan_call(self, called: Called) -> None: ...
    async def prepare(self, version: RowVersion) -> None: ...
    async def view_branch(self, branch: str | None) -> None: ...

"""The protocols between the screen and its panes. A pane is imported when its tab is first opened."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.errors import NotFound
from paimark.core.table.definition.file_sizes import unit_of
from paimark.core.table.layout import TablePath
from paimark.tui.records.sources import RowSource
from paimark.tui.session import Opened, Session, Target
from paimark.tui.tabs import Tab
from paimark.tui.widgets.detail_strip import Detail
from paimark.tui.widgets.grid.record_grid import RecordGrid
from paimark.tui.work.background import ThreadReport

if TYPE_CHECKING:
    from paimark.core.statements.call import ActionCall
    from paimark.tui.records.marks import Mark
    from paimark.tui.work.running_change import RunningChange


# Takes the change that a dialog has begun; None if it was closed before.
WithChange = Callable[["RunningChange | None"], object]

PANE_CLASSES: Mapping[Tab, str] = {
    Tab.SNAPSHOTS: "paimark.tui.panes.snapshots:SnapshotsPane",
    Tab.SAVEPOINTS: "paimark.tui.panes.savepoints:SavepointsPane",
    Tab.BRANCHES: "paimark.tui.panes.branches:BranchesPane",
    Tab.TAGS: "paimark.tui.panes.tags:TagsPane",
    Tab.SCHEMA: "paimark.tui.panes.schema:SchemaPane",
    Tab.QUERY: "paimark.tui.panes.query:QueryPane",
    Tab.TIMELINE: "paimark.tui.panes.timeline.timeline_pane:TimelinePane",
    Tab.SPACE: "paimark.tui.panes.space.space_pane:SpacePane",
    Tab.OPERATIONS: "paimark.tui.panes.operations:OperationsPane",
}


class Pane(Protocol):
    """A tab's contents."""

    display: Any

    @property
    def grid(self) -> RecordGrid: ...
    def key_waits_for(self, binding: str) -> str: ...
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
    """The screen as a pane uses it. Direct calls, not messages: they are done before the next key."""

    @property
    def marks(self) -> Sequence[Mark]: ...
    def cursor_moved(self) -> None: ...
    def open_table(self, table: TablePath) -> None: ...
    def show_table(self, target: Target) -> None: ...
    def go_left(self) -> None: ...
    def go_up(self) -> None: ...
    async def open_tab(self, tab: Tab) -> Pane: ...
    async def plan_call(self, called: ActionCall, sql: str, closed: WithChange) -> None: ...
    async def prepare(self, version: RowVersion) -> None: ...
    async def action_record(self) -> None: ...
    async def view_branch(self, branch: str | None) -> None: ...


S = TypeVar("S", bound=RowSource)


class PaneRows(msgspec.Struct, Generic[S], frozen=True):
    """The rows that a pane's thread read. `total` is their number if `rows` are not all of them yet.

    First rows, which the whole replaces, have no `fingerprint`. `left_out`: why files could not be read.
    `unit` is what counts in the rows count, as in `unit_of`."""

    opened: Opened
    rows: S
    fingerprint: Hashable
    total: int | None = None
    left_out: tuple[str, ...] = ()
    unit: str = unit_of(None)

    @property
    def is_part(self) -> bool:
        """Whether there are more rows than were read so far."""
        return self.total is not None and self.total > len(self.rows)


class RowsReport(ThreadReport[PaneRows[S]]):
    """Adds the unit. Raises `NotFound` instead of a report of no rows that were read where main no longer is.

    Another program that makes a branch main moves the files away, which looks like a table without any.
    """

    def __init__(
        self, report: ThreadReport[PaneRows[S]], session: Session, target: Target, unit: Callable[[], str]
    ) -> None:
        super().__init__(report.slot, report.generation)
        self._report = report
        self._session = session
        self._target = target
        self._unit = unit

    def __call__(self, result: PaneRows[S]) -> None:
        if not len(result.rows) and self._session.open(self._target).root != result.opened.root:
            raise NotFound(f"{self._target.table.full_name} moved while it was read")
        self._report(replace(result, unit=self._unit()))

"""Tab 7: the history of a table with all its branches, drawn as lanes, newest first."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import ClassVar

from textual.binding import Binding, BindingType

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.errors import PaimarkError
from paimark.core.figures import age, counted, exact_time
from paimark.core.table.operations import log_entries
from paimark.core.table.timeline.lane_data import LaneData, read_lane_data
from paimark.core.table.timeline.lanes import NEWEST_SHOWN, Lane, LaneCommit
from paimark.core.table.timeline.lanes import Opened as OpenedRun
from paimark.core.table.timeline.row_pages import RecordReader, commit_at, page_of_rows
from paimark.core.travel.times import HINT, read_spoken_time
from paimark.tui.messages import StatusShown
from paimark.tui.named_keys import key, unfilter_hint
from paimark.tui.panes.branch_heads import BranchHeads
from paimark.tui.panes.pane import Desk, PaneRows
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.panes.snapshots import tags_fingerprint
from paimark.tui.panes.timeline.timeline_rows import (
    COLUMNS,
    OLDER,
    TimelinePage,
    TimelineRows,
    View,
    actions_of,
    detail_of,
    read_past_events,
    unfolded_for,
    version_of,
)
from paimark.tui.records.row_actions import RowActions
from paimark.tui.records.sources import GridColumn
from paimark.tui.session import Opened, Session, Target
from paimark.tui.terminal.key_order import ROWS
from paimark.tui.widgets.clean_input import AskLine
from paimark.tui.widgets.detail_strip import Detail
from paimark.tui.work.background import Slot, ThreadReport

# The number of rows at first, and of more rows with each Enter on the last.
_ROWS = 500
# The number of commits that each Enter unfolds of a folded run.
_UNFOLDED = 50
# Prefixes of the ids of keys that need the branches, which come after main's newest rows.
_OF_ALL_LANES = ("act.", "timeline.jump")


@dataclass(frozen=True, slots=True)
class Jump:
    """The target of a jump: the view that shows it, and a sentence. `commit` is None if all is younger."""

    loaded: PaneRows[TimelineRows]
    view: View
    commit: LaneCommit | None
    message: str


class TimelinePane(RecordPane[TimelineRows]):
    """Shows main's newest commits at once, then all lanes. It reads records only for shown rows."""

    TITLE = "Timeline"
    # Lanes only make sense in the order of time.
    SORTS: ClassVar[bool] = False
    ONE_ROOT: ClassVar[bool] = False
    SAME_FOR_BRANCHES: ClassVar[bool] = True
    COLUMNS: ClassVar[tuple[GridColumn, ...]] = COLUMNS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("@", "jump", "jump", tooltip="go to a time: yesterday 03:10, 2 h ago", id="timeline.jump"),
        Binding("f", "fold", "fold", tooltip="fold the commits of this branch again", id="timeline.fold"),
    ]

    def empty_note(self) -> str:
        query = key("tab.query")
        return f"No commits. {query} opens the query pane: an INSERT makes one."

    def __init__(self, session: Session, desk: Desk) -> None:
        super().__init__(session, desk)
        self._view = View(_ROWS)
        self._go_to: LaneCommit | None = None
        self._heads = BranchHeads()

    def on_mount(self) -> None:
        self._jumping: Slot[Jump] = Slot(self.app, "jump", self._jumped, self._jump_failed)

    def aim(self, target: Target) -> None:
        if self.target is None or self.target.table != target.table:
            self._view, self._go_to = View(_ROWS), None
        super().aim(target)

    def read(self, opened: Opened, report: ThreadReport[PaneRows[TimelineRows]]) -> None:
        # The history is the same for every branch in view.
        main, view, table = opened.of_main, self._view, opened.root.table
        if self.loaded is None:
            report(PaneRows(opened, TimelineRows(_newest_of_main(main)), None))
        fingerprint = self._fingerprint(main)
        events, left_out = read_past_events(self.session.files, table)
        data = read_lane_data(self.session.files, table, main.root, events)
        data = replace(data, unreadable=(*data.unreadable, *left_out))
        reader = RecordReader(self.session.files, data)
        main_moved = self.loaded is not None and self.loaded.rows.page.data.main != data.main
        if main_moved:
            view = unfolded_for(self.grid.cursor_key, view, data, reader)
        report(_pane_rows(opened, data, reader, view, fingerprint, main_moved=main_moved))

    def fingerprint(self, opened: Opened) -> Hashable:
        main = opened.of_main
        ids = self.loaded.rows.page.data.lanes[0].ids if self.loaded is not None else ()
        # Expiry deletes the oldest. Checking that our oldest still exists needs no listing.
        oldest_left = not ids or main.lineage.has_snapshot(ids[0])
        return self._fingerprint(main, oldest_left=oldest_left)

    def _fingerprint(self, main: Opened, *, oldest_left: bool = True) -> Hashable:
        files, table = self.session.files, main.target.table
        return (
            self._heads.fingerprint(files, main),
            main.lineage.latest_id(),
            oldest_left,
            tags_fingerprint(main),
            len(log_entries(files, table)),
        )

    def take(self, loaded: PaneRows[TimelineRows]) -> None:
        super().take(loaded)
        # The rows that a jump added stay; its place is dropped, because lanes may be renumbered.
        view = loaded.rows.page.view
        self._view = replace(view, limit=max(view.limit, len(loaded.rows)), until=None)
        if self._go_to is not None and (index := loaded.rows.index_of(self._go_to)) is not None:
            self._go_to_row(index)
        elif self.grid.lost == OLDER:
            # The first of the older rows is now at its position.
            self.grid.move_to(self.grid.cursor)
        self._go_to = None

    def _go_to_row(self, index: int) -> None:
        place = self.grid.view.place(self.rows.key(index))
        if place is not None:
            self.grid.move_to(place)
        else:
            text = f"That row does not match /{self.grid.order.text}: {unfilter_hint(in_dialog=False)}"
            self.post_message(StatusShown(text, "warn"))

    def key_waits_for(self, binding: str) -> str:
        """Keys also wait for a jump, whose commit they are for, and changes and jumps for the branches."""
        if self._jumping.busy or (self._go_to is not None and self._reading.busy):
            return ROWS
        is_partial = self._reading.busy and self.loaded is not None and self.loaded.fingerprint is None
        if is_partial and binding.startswith(_OF_ALL_LANES):
            return "the branches are read"
        return super().key_waits_for(binding)

    @property
    def count_text(self) -> str:
        """Empty: the number of rows would be of no use, because a run is one row."""
        return ""

    def detail(self, index: int) -> Detail:
        return detail_of(self.rows.records[index], int(time.time() * 1000), self.counted)

    def version(self, index: int) -> RowVersion | None:
        return version_of(self.rows.records[index])

    def name_of(self, index: int) -> str:
        version = self.version(index)
        return "" if version is None else version.version or ""

    def row_actions(self, action: str) -> RowActions | None:
        index = self.grid.index
        row = None if index is None else self.rows.records[index]
        if row is None:
            return None
        if self.loaded is None or self.loaded.fingerprint is None:
            return RowActions((), self._why_no_branches)
        return actions_of(action, row, self.rows.page.data)

    @property
    def _why_no_branches(self) -> str:
        if self._reading.busy:
            return "The branches are still being read: try again in a moment"
        return f"The branches could not be read: {key('browse.refresh')} tries again"

    @property
    def newest(self) -> bool | None:
        return False

    def says_no_row(self) -> bool:
        """Also true for a row of many commits: a key must not act on a commit that nobody chose."""
        index = self.grid.index
        if index is None or self.version(index) is not None:
            return super().says_no_row()
        row = self.rows.records[index]
        many = "These are older rows" if row is None else f"These are {counted(row.run.length, 'commit')}"
        shows = f"{many}: {key('pane.query')} shows them"
        why = "Its record can't be read" if row and not row.run.is_folded else shows
        self.post_message(StatusShown(why, "warn"))
        return True

    async def action_choose(self) -> None:
        """Query the commit, unfold a run, or show more rows."""
        index = self.grid.index
        if index is None or self.version(index) is not None:
            await super().action_choose()
            return
        row = self.rows.records[index]
        if row is None:
            self._change_view(replace(self._view, limit=self._view.limit + _ROWS))
        elif row.run.is_folded:
            end = bisect_right(row.lane.ids, row.run.newest)
            start = max(bisect_left(row.lane.ids, row.run.oldest), end - _UNFOLDED)
            opened = OpenedRun(row.lane.root, row.lane.ids[start], row.run.newest)
            self._change_view(
                replace(self._view, unfolded=(*self._view.unfolded, opened)), row.run.newest_commit
            )
        else:
            self.says_no_row()

    def action_fold(self) -> None:
        index = self.grid.index
        row = None if index is None else self.rows.records[index]
        if row is None:
            if not self.says_no_row():
                self.says_nothing_here()
            return
        left = tuple(each for each in self._view.unfolded if each.root != row.lane.root)
        if left == self._view.unfolded:
            self.post_message(StatusShown("Nothing of this branch is unfolded", "warn"))
        else:
            self._change_view(replace(self._view, unfolded=left), row.run.newest_commit)

    def _change_view(self, view: View, go_to: LaneCommit | None = None) -> None:
        """Make other rows of the history that was read, and put the cursor on a commit."""
        loaded = self.loaded
        if loaded is None or loaded.fingerprint is None:
            return
        self._view, self._go_to = view, go_to
        page = loaded.rows.page
        self._reading.ask(
            lambda report: report(_pane_rows(loaded.opened, page.data, page.reader, view, loaded.fingerprint))
        )

    # Jumping to a time

    async def action_jump(self) -> None:
        await AskLine(self.grid, "@", HINT, self._jump).open()

    def _jump(self, text: str) -> bool:
        loaded, view = self.loaded, self._view
        try:
            time_ms = read_spoken_time(text, int(time.time() * 1000))
        except PaimarkError as error:
            self.post_message(StatusShown(error.said, "warn"))
            return False
        if loaded is None or loaded.fingerprint is None:
            self.post_message(StatusShown(self._why_no_branches, "warn"))
            return False
        self._jumping.ask(lambda report: report(_look_up(loaded, view, time_ms)))
        return True

    def _jumped(self, jump: Jump) -> None:
        if self.loaded is not jump.loaded:
            self.post_message(StatusShown("The table changed meanwhile: jump again", "warn"))
            return
        self.post_message(StatusShown(jump.message, "" if jump.commit else "warn"))
        if jump.commit is not None:
            self._change_view(jump.view, jump.commit)

    def _jump_failed(self, error: PaimarkError) -> None:
        self.post_message(StatusShown(error.message, "bad"))


def _newest_of_main(main: Opened) -> TimelinePage:
    """Main's newest commits, read without a listing, to show while the rest is read."""
    rows = main.lineage.newest(NEWEST_SHOWN)
    lane = Lane(main.root, [row.snapshot_id for row in reversed(rows)])
    data = LaneData(main.root, [lane], [{}])
    reader = RecordReader(main.lineage.files, data)
    reader.take(0, rows)
    return TimelinePage(data, reader, *page_of_rows(data, reader), View(_ROWS))


def _pane_rows(
    viewed: Opened,
    data: LaneData,
    reader: RecordReader,
    view: View,
    fingerprint: Hashable,
    *,
    main_moved: bool = False,
) -> PaneRows[TimelineRows]:
    rows, total = page_of_rows(data, reader, view.unfolded, view.limit, view.until)
    left_out = (*data.unreadable, *reader.unreadable.values())
    page = TimelinePage(data, reader, rows, total, view, main_moved)
    return PaneRows(viewed, TimelineRows(page), fingerprint, left_out=left_out)


def _look_up(loaded: PaneRows[TimelineRows], view: View, time_ms: int) -> Jump:
    """Find the commit at a time on the visible branch, or before its fork on main."""
    page, now_ms = loaded.rows.page, int(time.time() * 1000)
    lanes = page.data.lanes
    start = next((index for index, lane in enumerate(lanes) if lane.root == loaded.opened.root), 0)
    commit = commit_at(page.data, page.reader, start, time_ms)
    time_text = exact_time(time_ms, now_ms)
    if commit is None:
        return Jump(loaded, view, None, f"Nothing here is as old as {time_text}")
    lane = lanes[commit.lane]
    view = view.including(lane, commit)
    committed = age(page.reader.time_of(commit), now_ms)
    message = f"Snapshot {commit.id} of {lane.root.label}, committed {committed}: the newest at {time_text}"
    return Jump(loaded, view, commit, message)

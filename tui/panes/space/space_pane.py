"""Tab 8: the bytes that each version and branch holds, shared or alone: its deletion frees the latter."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from typing import ClassVar

from textual.app import ComposeResult

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.cancelling import Cancellation, cancellable
from paimark.core.errors import Cancelled, PaimarkError
from paimark.core.figures import size
from paimark.core.space.report import bucket_sentence, first_figure, sentences
from paimark.core.space.space import space
from paimark.core.table.operations import log_entries
from paimark.core.text import clean_text
from paimark.tui.messages import StatusShown
from paimark.tui.named_keys import cancel_key, key
from paimark.tui.panes.branch_heads import BranchHeads
from paimark.tui.panes.pane import Desk, PaneRows
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.panes.snapshots import tags_fingerprint
from paimark.tui.panes.space.space_rows import COLUMNS, SpaceRows, actions_of, detail_of, version_of
from paimark.tui.records.row_actions import RowActions
from paimark.tui.records.sources import GridColumn
from paimark.tui.session import Opened, Session, Target
from paimark.tui.theme import Line
from paimark.tui.widgets.detail_strip import Detail
from paimark.tui.widgets.grid.scroll_lines import wrap_line
from paimark.tui.widgets.lines import FittingLines
from paimark.tui.work.background import ThreadReport

# A count that took longer is not repeated automatically.
_QUICK_SECONDS = 1.0
_STILL_COUNTING = "It is still being counted what that would free: try again in a moment"


class SpacePane(RecordPane[SpaceRows]):
    """Shows the size of main's newest snapshot at once; a thread counts the rest, and ctrl+c stops it."""

    TITLE = "Space"
    ONE_ROOT: ClassVar[bool] = False
    SAME_FOR_BRANCHES: ClassVar[bool] = True
    COLUMNS: ClassVar[tuple[GridColumn, ...]] = COLUMNS

    def empty_note(self) -> str:
        return f"No files. {key('tab.query')} opens the query pane: an INSERT makes some."

    def __init__(self, session: Session, desk: Desk) -> None:
        super().__init__(session, desk)
        self._summary = Summary()
        self._heads = BranchHeads()
        self._counting = Cancellation()
        self._took = 0.0

    def compose(self) -> ComposeResult:
        yield self._summary
        yield self.grid

    # Counting

    def load(self) -> None:
        self._counting.cancel()
        self._counting = Cancellation()
        if self.loaded is None:
            self._summary.say()
        super().load()

    def aim(self, target: Target) -> None:
        if target != self.target:
            self._counting.cancel()
        super().aim(target)

    def on_unmount(self) -> None:
        self._counting.cancel()

    def reload(self) -> None:
        """Count again: now if the pane is visible, else when it is opened."""
        if self.display:
            super().reload()
        else:
            self._requested = None

    def read(self, opened: Opened, report: ThreadReport[PaneRows[SpaceRows]]) -> None:
        counting, began = self._counting, time.monotonic()
        table, main = opened.root.table, opened.of_main.root
        if self.loaded is None:
            report(PaneRows(opened, SpaceRows.of_first(main, first_figure(self.session.files, main)), None))
        fingerprint = self.fingerprint(opened)
        with cancellable(counting):
            measured = space(
                self.session.context,
                table,
                opened.target.branch,
                lambda line: report.meanwhile(lambda: self._show_sums(line)),
            )
        self._took = time.monotonic() - began
        report(PaneRows(opened, SpaceRows.of_report(table, measured), fingerprint))

    def fingerprint(self, opened: Opened) -> Hashable:
        main = opened.of_main
        operations = len(log_entries(self.session.files, main.target.table))
        heads = self._heads.fingerprint(self.session.files, main)
        return heads, main.lineage.latest_id(), tags_fingerprint(main), operations

    def take(self, loaded: PaneRows[SpaceRows]) -> None:
        super().take(loaded)
        self._show_sums("")

    def fail(self, error: PaimarkError) -> None:
        super().fail(error)
        if isinstance(error, Cancelled):
            self._summary.say([("! ", "warn"), (f"Not counted to the end: {_again()}", "")])
        else:
            self._summary.say([("✗ ", "alarm"), (clean_text(f"Not counted: {error.message}"), "bad")])

    def cancel(self) -> bool:
        """Stop the running count; return whether there is one."""
        is_counting = self._reading.busy and not self._counting.is_cancelled
        self._counting.cancel()
        return is_counting

    def _checked(self, fingerprint: Hashable) -> None:
        loaded = self.loaded
        if loaded is None or loaded.fingerprint in (None, fingerprint):
            return
        if self._took <= _QUICK_SECONDS:
            self.load()
        else:
            self._show_sums(f"the table changed since: {_again()}")

    def _show_sums(self, more: str) -> None:
        """Show the sums of the rows; `more` is the progress of the count, or a remark."""
        report = None if self.loaded is None else self.loaded.rows.report
        lines: list[Line] = []
        if report is not None:
            lines += [[(clean_text(line), "")] for line in sentences(report)]
            lines.append([(bucket_sentence(report), "quiet")])
        elif not more:
            more = f"counting who holds what: {cancel_key()} stops it"
        self._summary.say(*([[(clean_text(more), "warn")]] if more else []), *lines)

    # Rows

    @property
    def count_text(self) -> str:
        """The size of the table: the number of rows would be of no use."""
        report = None if self.loaded is None else self.loaded.rows.report
        return "" if report is None else size(report.bytes)

    def detail(self, index: int) -> Detail:
        return detail_of(self.rows.records[index], self.rows.report, is_counting=self.problem is None)

    def version(self, index: int) -> RowVersion | None:
        return version_of(self.rows.records[index], self._main)

    def name_of(self, index: int) -> str:
        return self.rows.records[index].name

    def row_actions(self, action: str) -> RowActions | None:
        index = self.grid.index
        if index is None:
            return None
        actions = actions_of(action, self.rows.records[index], self._main)
        if actions is not None and self.rows.report is None:
            not_known = f"What that would free was not counted: {_again()}"
            return RowActions((), _STILL_COUNTING if self.problem is None else not_known)
        return actions

    async def action_choose(self) -> None:
        if self.grid.index is not None and self.current_version is None:
            query = key("pane.query")
            self.post_message(StatusShown(f"This is no version of the rows: {query} queries those", "warn"))
        else:
            await super().action_choose()

    @property
    def _main(self) -> str:
        """The name of the branch that is main."""
        return "" if self.loaded is None else self.loaded.opened.main


def _again() -> str:
    return f"{key('browse.refresh')} counts again"


# In lines.
_MOST = 3


class Summary(FittingLines):
    """What the rows come to."""

    def __init__(self) -> None:
        super().__init__()
        self._said: Sequence[Line] = ()

    def say(self, *lines: Line) -> None:
        self._said = lines
        self.update_lines()

    def lines(self, width: int) -> Sequence[Line]:
        wrapped = [each for line in self._said for each in wrap_line([(" ", ""), *line], width)]
        return wrapped[:_MOST] or [[("", "")]]

"""Looking at rows from the panes: marked to be compared, compared, peeked at; and the way back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from core.errors import PaimarkError
from tui.messages import Said
from tui.panes.pane import TABS, Pane
from tui.panes.record_pane import RecordPane
from tui.records.location_history import Places
from tui.records.marks import Mark, marked_words, moved_on, pair_to_compare, toggled, why_no_pair, why_not_one
from tui.session import Session, Target
from tui.work.background import Slot

if TYPE_CHECKING:
    from core.travel.diff.diff import Difference
    from tui.panes.query import QueryPane

QUERY = len(TABS) - 1
Pair = tuple[Mark, Mark]


class LookingScreen(Screen[None]):
    """The half of the browsing screen that reads rows. The other half says what is in view."""

    session: Session
    target: Target | None

    def __init__(self) -> None:
        super().__init__()
        self.marks: list[Mark] = []
        self.tab = 0
        self._places = Places()
        self._going = False

    def on_mount(self) -> None:
        self._comparing: Slot[tuple[Pair, Difference]] = Slot(
            self.app, "diff", self._compared, self._not_compared
        )

    @property
    def pane(self) -> Pane:
        """The tab in view."""
        raise NotImplementedError

    @property
    def panes(self) -> Iterable[Pane]:
        """The tabs that were opened."""
        raise NotImplementedError

    @property
    def pane_in_use(self) -> RecordPane[Any] | None:
        """The tab in view when it has rows of the table's metadata and the keys go there."""
        pane = self.pane
        return pane if isinstance(pane, RecordPane) and pane.has_focus_within else None

    async def open_tab(self, tab: int) -> Pane:
        """Bring a tab into view."""
        raise NotImplementedError

    def show_table(self, target: Target) -> None:
        """Aim every pane at a table or branch."""
        raise NotImplementedError

    # The way

    def _went(self) -> None:
        if self.target is not None and not self._going:
            self._places.went(self.target, self.tab)

    async def view_branch(self, branch: str | None) -> None:
        """Aim every pane at a branch of the table, its snapshots first; None is main."""
        if self.target is not None:
            await self._go(Target(self.target.table, branch), 0)

    async def _go(self, target: Target, tab: int) -> None:
        """Table and tab at once: one place to come back to."""
        self._going = True
        try:
            self.show_table(target)
            await self.open_tab(tab)
        finally:
            self._going = False
        self._went()

    async def action_step(self, by: int) -> None:
        """To where one was before, or forward again."""
        place = self._places.step(by)
        if place is None:
            self.post_message(
                Said("There is nothing further back" if by < 0 else "There is nothing further on")
            )
            return
        await self._go(*place)

    # Rows

    async def _query_pane(self) -> QueryPane:
        from tui.panes.query import QueryPane

        pane = await self.open_tab(QUERY)
        assert isinstance(pane, QueryPane)
        return pane

    def action_mark(self) -> None:
        """Mark the row under the cursor, or take its mark away."""
        mark = self._mark_here
        if mark is None:
            self._says_no_row()
            return
        self._mark(toggled(self.marks, mark))
        self.post_message(Said(marked_words(self.marks)))

    @property
    def _mark_here(self) -> Mark | None:
        pane = self.pane_in_use
        return None if pane is None else pane.current_mark

    def _says_no_row(self) -> bool:
        """Whether the keys go to rows of which the cursor is on none; then it is said."""
        pane = self.pane_in_use
        return pane is not None and pane.says_no_row()

    def _says_marked(self) -> bool:
        """Whether rows are marked, and not just the one under the cursor; then it is said.

        Nobody should think that all of them are acted on, nor that it is a marked one.
        """
        pane = self.pane
        if not isinstance(pane, RecordPane):
            return False
        reason = why_not_one(self.marks, pane.current_mark)
        if reason:
            self.post_message(Said(reason, "warn"))
        return bool(reason)

    def _mark(self, marks: list[Mark]) -> None:
        self.marks = marks
        for pane in self.panes:
            if isinstance(pane, RecordPane):
                pane.grid.remark()

    def action_diff(self) -> None:
        """Look up the two versions to compare, in a thread."""
        from core.travel.diff.diff import make_difference

        target = self.target
        if target is None or (len(self.marks) != 2 and self._says_no_row()):
            return
        pair = pair_to_compare(self.marks, self._mark_here, target)
        if pair is None:
            self.post_message(Said(why_no_pair(self.marks), "warn"))
            return
        files, old, new = self.session.files, pair[0].wanted, pair[1].wanted
        self._comparing.ask(lambda report: report((pair, make_difference(files, target.table, old, new))))

    def _compared(self, compared: tuple[Pair, Difference]) -> None:
        (old, new), difference = compared
        self._mark([])
        moved = moved_on(old, difference.old.snapshot) or moved_on(new, difference.new.snapshot)
        if moved:
            self.post_message(Said(moved, "warn"))
            return
        self.call_later(self._show_difference, difference)

    async def _show_difference(self, difference: Difference) -> None:
        pane = await self._query_pane()
        pane.compare(difference)

    def _not_compared(self, error: PaimarkError) -> None:
        self.post_message(Said(f"{error.message}. {error.hint}".rstrip(), "bad"))

    async def action_peek(self) -> None:
        """The first rows of the row under the cursor, or of the table, without Spark."""
        target = self.target
        if target is None or self._says_no_row():
            return
        from core.travel.wanted import Wanted
        from tui.dialogs.peek import PeekScreen
        from tui.query.peeking import Peeking

        mark = self._mark_here
        wanted = mark.wanted if mark is not None else Wanted(target.branch)
        label = f"{target.table.full_name} {mark.label if mark is not None else ''}".strip()
        await self.app.push_screen(PeekScreen(label, Peeking(self.session, target, wanted)))

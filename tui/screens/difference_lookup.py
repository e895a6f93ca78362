"""`D`: choose the two versions to compare; the difference screen reads and shows the difference."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from textual.app import App

from paimark.tui.messages import Say
from paimark.tui.records.marks import (
    Mark,
    moved_on,
    pair_to_compare,
    why_no_change,
    why_no_pair,
)
from paimark.tui.screens.selected_rows import SelectedRows
from paimark.tui.session import Session, Target

if TYPE_CHECKING:
    from paimark.core.travel.diff.diff import Difference


class DifferenceLookup:
    """`prepare` gets the statement of a difference if the person asks for it; `plan` opens a plan."""

    def __init__(
        self,
        app: App[Any],
        session: Session,
        rows: SelectedRows,
        say: Say,
        prepare: Callable[[str], Awaitable[None]],
        plan: Callable[[str, Target, dict[str, object]], Awaitable[None]],
    ) -> None:
        self.shown: Difference | None = None
        self._session = session
        self._rows = rows
        self._say = say
        self._prepare = prepare
        self._plan = plan
        self._app = app

    async def open(self, target: Target) -> None:
        """Compare the marked rows, or the row under the cursor; returns when the screen has the focus."""
        marks = self._rows.marks
        if len(marks) != 2 and self._rows.says_no_row():
            return
        pair = pair_to_compare(marks, self._rows.under_cursor)
        if pair is None:
            self._say(why_no_pair(marks), "warn")
        else:
            await self._compare(target, *pair)

    async def open_changes(self, target: Target) -> None:
        """Compare the versions before and after what the row under the cursor did."""
        if self._rows.says_not_one():
            return
        pane = self._rows.pane
        pair = None if pane is None else pane.change
        if pair is None:
            self._say(why_no_change(None) if pane is None else pane.why_no_change, "warn")
        else:
            await self._compare(target, *pair)

    async def _compare(self, target: Target, old: Mark, new: Mark) -> None:
        from paimark.core.travel.diff.diff import make_difference
        from paimark.tui.dialogs.difference.difference_screen import DifferenceScreen

        files = self._session.files

        def accept(difference: Difference) -> str:
            self._rows.unmark()
            moved = moved_on(old, difference.old.snapshot) or moved_on(new, difference.new.snapshot)
            self.shown = self.shown if moved else difference
            return moved

        async def closed(result: str | Mapping[str, object] | None) -> None:
            if isinstance(result, str):
                await self._prepare(result)
            elif result is not None:
                await self._plan("restore-rows", target, dict(result))

        screen = DifferenceScreen(
            self._session.room,
            f"{target.table.full_name}: from {old.label} to {new.label}",
            lambda: make_difference(files, target.table, old.requested, new.requested),
            accept,
        )
        await self._app.push_screen(screen, closed)

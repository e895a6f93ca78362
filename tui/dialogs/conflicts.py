"""`v` in the plan of a merge: keys that both sides changed, with their values in base, main and branch."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from core.actions.merge.conflicts import LINE_COLUMNS, Conflict, Conflicts, find_conflicts
from core.errors import PaimarkError
from core.table.layout import TablePath
from tui.dialogs.dialog import Dialog
from tui.keymap import hidden
from tui.messages import Copied
from tui.records.sources import GridColumn, tuples
from tui.session import Session
from tui.widgets.detail_strip import Detail
from tui.widgets.grid.record_grid import RecordGrid
from tui.widgets.key_bar import KeyBar
from tui.work.background import Slot, ThreadReport
from tui.work.spark_work import SparkWork

_TICK = 0.5
_WIDEST = 32


class ConflictsScreen(Dialog[None]):
    """A line a column that differs. Closing it ends the looking for them."""

    DEFAULT_CSS = """
    ConflictsScreen > Vertical { height: 90%; max-width: 100%; width: 98%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        hidden("conflicts.close", "v,q", "close", "close"),
        Binding("i", "record", "all of the row", id="conflicts.record"),
        Binding("y", "copy", "copy the line", id="conflicts.copy"),
    ]

    def __init__(self, session: Session, table: TablePath, branch: str) -> None:
        super().__init__()
        self._session = session
        self._table = table
        self._branch = branch
        self._spark = SparkWork(session.room)
        self._is_looking = True
        self._conflicts: list[Conflict] = []
        self._grid = RecordGrid()

    def compose(self) -> ComposeResult:
        with self.framed(f"{self._table.full_name}: conflicts of branch {self._branch} with main"):
            yield self._grid
            yield KeyBar()

    def on_mount(self) -> None:
        self._looking: Slot[Conflicts] = Slot(self.app, "conflicts", self._take, self._failed)
        self.set_focus(self._grid)
        self.set_interval(_TICK, self._tick)
        self._tick()
        self._looking.ask(self._look)

    def _look(self, report: ThreadReport[Conflicts]) -> None:
        """In a thread."""
        context = replace(self._session.context, engine=self._spark.engine)
        report(find_conflicts(context, self._table, self._branch, lambda line: None))

    def _tick(self) -> None:
        if self._is_looking:
            self._spark.cancel_again()
            waited = "".join(text for text, _ in self._spark.line)
            self._grid.say(f"Looking for keys that both sides changed: {waited}", "ctrl+c cancels.")

    def _take(self, conflicts: Conflicts) -> None:
        self._is_looking = False
        self._conflicts = [each for each in conflicts.first for _ in each.lines]
        columns = [GridColumn(name, most=_WIDEST) for name in (*conflicts.keys, *LINE_COLUMNS)]
        self._grid.show(
            tuples(conflicts.lines), columns, note="No key was changed by both, to different rows."
        )
        self.retitle(f"{conflicts.summary} · {conflicts.title}")

    def _failed(self, error: PaimarkError) -> None:
        self._is_looking = False
        self._grid.say(error.message, error.hint)

    def must_wait(self, binding: str) -> bool:
        """Whether the rows that a key is for are still being looked for."""
        return self._is_looking and binding.startswith(("grid.", "conflicts.copy", "conflicts.record"))

    def cancel(self) -> bool:
        if not self._is_looking:
            return False
        self._spark.cancel()
        self._tick()
        return True

    async def action_record(self) -> None:
        from tui.dialogs.record import RecordScreen

        index = self._grid.index
        if index is not None:
            key = " ".join(map(str, self._grid.source.row(index)[: -len(LINE_COLUMNS)]))
            facts = tuple(self._conflicts[index].facts)
            await self.app.push_screen(RecordScreen(Detail(f"key {key}", facts)))

    def action_copy(self) -> None:
        index = self._grid.index
        if index is not None:
            self.app.post_message(Copied("\t".join(map(str, self._grid.source.row(index)))))

    def action_close(self) -> None:
        if self._is_looking:
            self._looking.drop()
            self._spark.cancel()
        self.dismiss(None)

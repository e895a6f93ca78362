"""`v` in the plan of a merge or repair: the keys that both sides changed, and the choice for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from textual.binding import Binding, BindingType

from paimark.core.actions.context import Context, Counting
from paimark.core.actions.merge.conflict_file import open_conflicts
from paimark.core.actions.merge.resolution import Between
from paimark.core.errors import PaimarkError
from paimark.core.figures import counted
from paimark.core.table.layout import TablePath
from paimark.core.text import clean_text
from paimark.tui.dialogs.conflicts.choosing import (
    Choosing,
    conflict_columns,
    conflict_detail,
    kept_file,
)
from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.dialogs.pick import PickOne
from paimark.tui.formats import copied_cells
from paimark.tui.keymap import hidden
from paimark.tui.messages import Copied
from paimark.tui.named_keys import key
from paimark.tui.records.sources import GridColumn
from paimark.tui.session import Session
from paimark.tui.terminal.key_order import ROWS
from paimark.tui.widgets.detail_strip import Detail
from paimark.tui.widgets.grid.record_grid import RecordGrid
from paimark.tui.work.background import Slot, ThreadReport
from paimark.tui.work.spark_work import SparkWork

_TICK = 0.5
# The console may be killed.
SAVE_SECONDS = 30.0
_NOBODY = "undecided again"
_TYPE = "enter takes the line under the cursor; type for fewer"


class ConflictsScreen(Dialog[str | None]):
    """A line for each column that differs. Its result is the file with the choices, empty if there are none.

    The result is None if it is closed before the conflicts are read. It writes nothing but that file.
    """

    DEFAULT_CSS = """
    ConflictsScreen > Vertical { height: 90%; max-width: 100%; width: 98%; }
    """
    WITH: ClassVar[str] = " with main"
    BINDINGS: ClassVar[list[BindingType]] = [
        hidden("conflicts.close", "v,q", "close", "close"),
        Binding(
            "m", "cell(0)", "main, branch, neither", key_display="m b n", id="conflicts.main",
            tooltip="take main's value of the cell",
        ),
        hidden("conflicts.branch", "b", "cell(1)", "take the branch's value of the cell"),
        hidden("conflicts.neither", "n", "cell(-1)", "neither: the cell is undecided again"),
        Binding(
            "M", "row(0)", "whole row", key_display="M B N", id="conflicts.row_main",
            tooltip="take main's row of the key",
        ),
        hidden("conflicts.row_branch", "B", "row(1)", "take the branch's row of the key"),
        hidden("conflicts.row_neither", "N", "row(-1)", "neither: the key is undecided again"),
        Binding("C", "column", "column", tooltip="choose for a whole column", id="conflicts.column"),
        Binding("A", "all", "all", tooltip="choose for all, or all undecided", id="conflicts.all"),
        Binding("u", "next", "next undecided", id="conflicts.next"),
        Binding("i", "record", "all of the row", id="conflicts.record"),
        Binding("y", "copy", "copy the line", id="conflicts.copy"),
        hidden("conflicts.copy_record", "Y", "copy_record", "copy all of the row as JSON"),
    ]  # fmt: skip

    def __init__(
        self,
        session: Session,
        table: TablePath,
        of: str,
        find: Callable[[Context], Between],
        file: str = "",
    ) -> None:
        """`of` names the branch that is merged, or the repair. `file` is an existing file of these conflicts;
        without it the console keeps one."""
        self._grid = RecordGrid()
        super().__init__(f"{table.full_name}: conflicts of {of}{self.WITH}", self._grid)
        self._session = session
        self._table = table
        self._of = of
        self._find = find
        self._file = file
        self._spark = SparkWork(session.room)
        self._is_looking, self._is_saving = True, False
        self._far = ""
        self._choosing: Choosing | None = None
        self._columns: list[GridColumn] = []

    def on_mount(self) -> None:
        self._looking: Slot[Choosing] = Slot(self.app, "conflicts", self._take, self._failed)
        self._saving: Slot[str] = Slot(self.app, "choices", self._saved, self._not_saved)
        self.set_focus(self._grid)
        self.set_interval(_TICK, self._tick)
        self.set_interval(SAVE_SECONDS, self._save_meanwhile)
        self._tick()
        self._looking.ask(self._look)

    # Finding the conflicts

    def _look(self, report: ThreadReport[Choosing]) -> None:
        """Find the conflicts. Called in a thread."""

        def tell(line: str) -> None:
            if isinstance(line, Counting):
                report.meanwhile(lambda: self._counted(line))

        context = replace(self._session.context, engine=self._spark.engine)
        of = self._of.removeprefix("branch ")
        path = self._file or kept_file(context.files.uri, self._table, of)
        open_conflicts(context, self._find(context), path, tell)
        report(Choosing(path))

    def _counted(self, line: str) -> None:
        self._far = clean_text(line)

    def _tick(self) -> None:
        if self._is_looking:
            self._spark.cancel_again()
            line, offer = (
                "".join(text for text, _ in each) for each in (self._spark.line, self._spark.offer)
            )
            waited = self._far if self._far and offer else line
            self._grid.say(f"Looking for keys that both sides changed: {waited}", offer)

    def _take(self, choosing: Choosing) -> None:
        self._is_looking = False
        self._choosing = choosing
        self._show()
        self.refresh_bindings()

    def _failed(self, error: PaimarkError) -> None:
        self._is_looking = False
        self._grid.say(error.message, error.hint)

    def _show(self) -> None:
        choosing = self._choosing
        assert choosing is not None
        # Only once: other columns would reset the filter and the cursor.
        self._columns = self._columns or conflict_columns(choosing, self._grid.size.width)
        self._grid.show(choosing, self._columns, note="No key was changed by both, to different rows.")
        self._say_progress()

    def _say_progress(self) -> None:
        choosing = self._choosing
        assert choosing is not None
        if not choosing.keys:
            self.retitle(f"no conflicts · {self._table.full_name}, {self._of}")
            return
        self.retitle(f"{choosing.progress} · {self._table.full_name}: {choosing.header.states}")

    # Choosing

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("cell", "row", "column", "all", "next", "record", "copy", "copy_record"):
            return self._choosing is not None and self._choosing.keys > 0
        return True

    def waits_for(self, binding: str) -> str:
        """The event that a key must wait for: the rows that it is for may still be searched."""
        return ROWS if self._is_looking and binding.startswith(("grid.", "conflicts.")) else ""

    def action_cell(self, side: int) -> None:
        self._choose(lambda choosing, index: choosing.choose_cell(index, _word(choosing, side)))

    def action_row(self, side: int) -> None:
        self._choose(lambda choosing, index: choosing.choose_row(index, _word(choosing, side)))

    def _choose(self, how: Callable[[Choosing, int], object]) -> None:
        index = self._grid.index
        if self._choosing is not None and index is not None and not self._is_saving:
            how(self._choosing, index)
            self._grid.repaint_rows()
            self._say_progress()

    async def action_column(self) -> None:
        choosing, index = self._choosing, self._grid.index
        if choosing is None or index is None:
            return
        column = choosing.column(index)
        if not column:
            main, branch = key("conflicts.row_main"), key("conflicts.row_branch")
            neither = key("conflicts.row_neither")
            these = f"{main}, {branch} or {neither}"
            self.bar.say(f"These rows differ in no column: {these} choose the row", "warn")
            return
        header = choosing.header
        words = {f"{column} {header.as_in(side)}, wherever it differs": side for side in header.sides}
        choices = {**words, f"{column} {_NOBODY}, wherever it differs": ""}

        def chosen(word: str | None) -> None:
            if word is not None:
                count = choosing.choose_column(column, word)
                self._chosen_many(f"{column} of {counted(count, 'key')}", word)

        await self.app.push_screen(PickOne(f"Choose column {column}", _TYPE, choices), chosen)

    async def action_all(self) -> None:
        choosing = self._choosing
        if choosing is None:
            return
        sides = {choosing.header.as_in(side): side for side in choosing.header.sides}
        rest = {f"{said}: {_undecided(choosing)}": (side, False) for said, side in sides.items()}
        rest = rest if choosing.undecided else {}
        every = {f"{said}: all {counted(choosing.keys, 'key')}": (side, True) for said, side in sides.items()}
        choices = {**rest, **every, f"{_NOBODY}: all {counted(choosing.keys, 'key')}": ("", True)}

        def chosen(picked: tuple[str, bool] | None) -> None:
            if picked is None:
                return
            word, is_all = picked
            what = counted(choosing.keys, "key") if is_all else _undecided(choosing)
            (choosing.choose_all if is_all else choosing.choose_rest)(word)
            self._chosen_many(what, word)

        await self.app.push_screen(PickOne("Choose for many keys at once", _TYPE, choices), chosen)

    def _chosen_many(self, what: str, word: str) -> None:
        assert self._choosing is not None
        header = self._choosing.header
        self._show()
        self.bar.say(f"{what}: {header.as_in(word) if word else _NOBODY}", "good")

    def action_next(self) -> None:
        choosing = self._choosing
        assert choosing is not None
        line = choosing.next_undecided(self._grid.index or 0)
        if line is None:
            self.bar.say(f"Every key is decided: {key('dialog.close')} closes", "good")
            return
        if self._grid.order.text or self._grid.order.column is not None:
            # A filter may hide the line, and in another order it is not the next.
            self._grid.sort_by(None)
            self._grid.filter("")
        self._grid.move_to(line)

    # The line under the cursor

    def _detail(self) -> Detail | None:
        choosing, index = self._choosing, self._grid.index
        if choosing is None or index is None:
            return None
        return conflict_detail(choosing.conflict(index), choosing.header.sides)

    async def action_record(self) -> None:
        from paimark.tui.dialogs.record import RecordScreen

        if (detail := self._detail()) is not None:
            await self.app.push_screen(RecordScreen(detail))

    def action_copy(self) -> None:
        index = self._grid.index
        if index is not None:
            self.app.post_message(Copied(copied_cells(self._grid.source.row(index), "null")))

    def action_copy_record(self) -> None:
        from paimark.tui.dialogs.record import as_json

        if (detail := self._detail()) is not None:
            self.app.post_message(Copied(as_json(detail)))

    # Leaving

    def cancel(self) -> bool:
        if not self._is_looking:
            return False
        self._spark.cancel()
        self._tick()
        return True

    def action_close(self) -> None:
        choosing = self._choosing
        if self.take_filter_away():
            return
        if choosing is None:
            if self._is_looking:
                self._looking.drop()
                self._spark.cancel()
            self.dismiss(None)
        elif not self._is_saving:
            self._is_saving = True
            self._saving.ask(lambda report: self._save(choosing, report))

    def _save(self, choosing: Choosing, report: ThreadReport[str]) -> None:
        """Save the choices. Called in a thread."""
        choosing.save()
        report(choosing.path if choosing.has_any else "")

    def _save_meanwhile(self) -> None:
        choosing = self._choosing
        if choosing is not None and choosing.has_changed and not self._is_saving:
            self._saving.ask(lambda report: self._save(choosing, report))

    def _saved(self, file: str) -> None:
        if self._is_saving:
            # Another dialog may have opened over this one: then this one stays, and can be closed again.
            self._is_saving = False
            self.dismiss(file)

    def _not_saved(self, error: PaimarkError) -> None:
        self._is_saving = False
        self.bar.say(f"{error.message}: nothing is lost while this is open", "bad")

    def on_unmount(self) -> None:
        if self._choosing is not None:
            self._choosing.close()


class RepairConflictsScreen(ConflictsScreen):
    """The same of a repair: the current rows stay, or become what they were, or what a person edited."""

    WITH = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "m", "cell(0)", "now, other, neither", key_display="m b n", id="conflicts.main",
            tooltip="the cell stays as it is now",
        ),
        hidden("conflicts.branch", "b", "cell(1)", "take the other value of the cell"),
        Binding(
            "M", "row(0)", "whole row", key_display="M B N", id="conflicts.row_main",
            tooltip="the row of the key stays as it is now",
        ),
        hidden("conflicts.row_branch", "B", "row(1)", "take the other row of the key"),
    ]  # fmt: skip


def _word(choosing: Choosing, side: int) -> str:
    """The word for a side; empty for -1, for neither."""
    return "" if side < 0 else choosing.header.sides[side]


def _undecided(choosing: Choosing) -> str:
    """What `choose_rest` chooses for: in a key, cells that are decided stay as they are."""
    return f"what is undecided, of {counted(choosing.undecided, 'key')}"

"""The rows of a table with their staged edits, and the way to the plan that commits them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from paimark.core.actions.plan import Outcome
from paimark.core.actions.registry import action
from paimark.core.errors import PaimarkError, Unavailable
from paimark.core.figures import counted
from paimark.core.regular_files import open_regular
from paimark.core.text import clean_text, cut
from paimark.tui.dialogs.conflicts.choosing import kept_file
from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.dialogs.editing.staging import Staging
from paimark.tui.dialogs.editing.target import EditTarget, read_again
from paimark.tui.keymap import hidden
from paimark.tui.named_keys import key
from paimark.tui.query.arrow_rows import ArrowRows
from paimark.tui.records.sources import GridColumn, RowSource
from paimark.tui.session import Session
from paimark.tui.widgets.clean_input import AskLine
from paimark.tui.widgets.detail_strip import Detail, Fact
from paimark.tui.widgets.grid.record_grid import RecordGrid
from paimark.tui.work.background import Slot

# The name of a column before its value takes at most so many cells.
_NAME = 24


def open_editing(
    grid: RecordGrid,
    session: Session,
    find: Callable[[], EditTarget],
    closed: Callable[[Outcome], None],
) -> None:
    """Edit the rows of a grid, once it is found what they are rows of. `closed` gets what was committed."""
    index = grid.index
    app, columns, rows = grid.app, grid.columns, grid.source

    async def opened(target: EditTarget) -> None:
        names = [column.title for column in columns]
        screen = EditScreen(session, target, names, columns, rows, (index or 0, grid.column or 0))
        await app.push_screen(screen, lambda outcome: None if outcome is None else closed(outcome))

    Slot(app, "edited rows", opened).ask(lambda report: report(find()))


class EditScreen(Dialog[Outcome | None]):
    """Its result is the outcome of the commit; None if nothing was committed."""

    DEFAULT_CSS = """
    EditScreen > Vertical { height: 90%; max-width: 100%; width: 98%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,e", "cell", "cell", tooltip="change the value under the cursor", id="edit.cell"),
        Binding("N", "null", "NULL", tooltip="make it NULL, which is no empty text", id="edit.null"),
        Binding("a", "add", "add", tooltip="a new row", id="edit.add"),
        Binding("x", "delete", "delete", tooltip="delete the row, or take that back", id="edit.delete"),
        Binding("u", "take_back", "undo", tooltip="drop the edits of this row", id="edit.take_back"),
        Binding("i", "list", "list", tooltip="all edits", id="edit.list"),
        Binding("s", "plan", "plan", tooltip="the plan that commits all edits", id="edit.plan"),
        hidden("edit.close", "q", "close", "close"),
    ]

    def __init__(
        self,
        session: Session,
        target: EditTarget,
        names: Sequence[str],
        columns: Sequence[GridColumn],
        rows: RowSource,
        at: tuple[int, int],
    ) -> None:
        """`at` is the row and column to begin with."""
        self._staging = Staging(
            target.schema, names, rows, rows.zone if isinstance(rows, ArrowRows) else None
        )
        self._grid = RecordGrid(frozen=1, cells=True, sign=self._staging.sign)
        super().__init__("", self._grid)
        self._session, self._target, self._at = session, target, at
        self._columns = columns

    @property
    def staged(self) -> int:
        """The number of rows whose edits would be lost with this."""
        return self._staging.count

    def on_mount(self) -> None:
        self._show(self._at[0])
        self._grid.go_to_column(self._at[1])
        self.set_focus(self._grid)

    def _show(self, index: int) -> None:
        self._grid.show(self._staging, self._columns, note="No rows.")
        if (place := self._grid.view.place(index)) is not None:
            self._grid.move_to(place)
        target = self._target
        name = target.table.full_name + ("" if target.branch is None else f", branch {target.branch}")
        count = self._staging.count
        zones = set(filter(None, map(self._staging.zone_of, range(len(self._staging.names)))))
        times = "".join(f"; times are of {zone}" for zone in zones)
        self.retitle(f"{name}: {counted(count, 'edited row') if count else 'no edit yet'}{times}")

    def _try(self, act: Callable[[], object]) -> bool:
        """Do it, or say why not; return whether it was done."""
        try:
            act()
        except PaimarkError as error:
            self.bar.say(clean_text(error.said), "warn")
            return False
        self._show(self._grid.index or 0)
        return True

    def _place(self) -> tuple[int, int] | None:
        """The row and column under the cursor, if that cell can be edited; else say why not."""
        row, column = self._grid.index, self._grid.column
        if row is None or column is None:
            return None
        if reason := self._staging.why_not(row, column):
            self.bar.say(clean_text(reason), "warn")
            return None
        return row, column

    async def action_cell(self) -> None:
        if (place := self._place()) is not None:
            name = cut(clean_text(self._staging.names[place[1]]), _NAME)
            zone = self._staging.zone_of(place[1])
            example = f"empty is an empty text, and {key('edit.null')} in the rows is NULL"
            line = AskLine(
                self._grid,
                f"{name}, in {zone} =" if zone else f"{name} =",
                example,
                lambda text: self._try(lambda: self._staging.set_cell(*place, text)),
            )
            line.input.value = self._staging.text(*place)
            await line.open()

    def action_null(self) -> None:
        if (place := self._place()) is not None:
            self._try(lambda: self._staging.set_cell(*place, None))

    def action_add(self) -> None:
        if self._grid.order.text:
            self._grid.filter("")
        self._show(self._staging.add())
        self._grid.go_to_column(self._staging.names.index(self._target.schema.primary_keys[0]))

    def action_delete(self) -> None:
        if (index := self._grid.index) is not None:
            self._try(lambda: self._staging.delete(index))

    def action_take_back(self) -> None:
        if (index := self._grid.index) is not None:
            self._try(lambda: self._staging.take_back(index))

    async def action_list(self) -> None:
        from paimark.tui.dialogs.record import RecordScreen

        if self.staged:
            title = counted(self.staged, "edited row")
            facts = tuple(Fact(*each) for each in self._staging.facts)
            await self.app.push_screen(RecordScreen(Detail(title, facts)))
        else:
            self.bar.say("There is no edit yet", "warn")

    async def action_plan(self) -> None:
        if not self.staged:
            self.bar.say("There is no edit yet", "warn")
            return
        Slot(self.app, "plan of edits", self._plan).ask(
            lambda report: report(read_again(self._session.context, self._target))
        )

    async def _plan(self, newest: int | None) -> None:
        """With `newest`, the rows as they were read are gone: they are compared by the cells in the grid."""
        from paimark.tui.dialogs.plan_dialog import PlanDialog

        files: list[str] = []
        if self._try(lambda: files.append(self._written(tells_old=newest is not None))):
            target = self._target
            read_at = target.read.id if newest is None and target.read is not None else newest
            given: dict[str, object] = {"file": files[0], "read_at": f"snapshot.{read_at}"}
            if target.branch is not None:
                given["branch"] = target.branch
            dialog = PlanDialog(self._session, action("edit-rows"), target.table, given)
            await self.app.push_screen(dialog, self._planned)

    def _written(self, *, tells_old: bool) -> str:
        """The file of the edits. Raises `UsageError` and `Unavailable`."""
        data = self._staging.lines(tells_old=tells_old).encode()
        of = hashlib.sha256(data).hexdigest()[:16]
        path = kept_file(self._session.context.files.uri, self._target.table, of, "edits")
        try:
            with os.fdopen(open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
                file.write(data)
        except OSError as error:
            raise Unavailable(f"{path} can't be written: {error.strerror or error}") from error
        return path

    def _planned(self, outcome: Outcome | None) -> None:
        if outcome is not None:
            self.dismiss(outcome)

    def action_close(self) -> None:
        from paimark.tui.dialogs.confirm import ConfirmScreen

        if self.take_filter_away():
            return
        if not self.staged:
            self.dismiss(None)
            return

        def leave(agreed: bool | None) -> None:
            if agreed:
                self.dismiss(None)

        said = "\n".join(f"{name}: {value}" for name, value in self._staging.facts)
        count = counted(self.staged, "edited row")
        question = ConfirmScreen(f"{count} not committed.", said, title="Leave the edits", agree="Drop them")
        self.app.push_screen(question, leave)

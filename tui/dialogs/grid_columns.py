"""`c`: the list of a grid's columns: go to one, hide, move, widen or narrow it, or sort by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from paimark.core.figures import counted
from paimark.tui.dialogs.pick import PickDialog
from paimark.tui.memory import ColumnLayout
from paimark.tui.records.sources import GridColumn, Records
from paimark.tui.widgets.clean_input import CleanInput
from paimark.tui.widgets.grid.columns import NARROWEST, STEP
from paimark.tui.widgets.grid.record_grid import RecordGrid

_COLUMNS = (
    GridColumn("column", style="accent", most=60, middle=True),
    GridColumn("width", "number", "quiet"),
    GridColumn("", style="warn"),
)


def _key(key: str, action: str, description: str, tooltip: str, *, written: str = "") -> Binding:
    """A binding of the dialog. Of two related keys only the first is shown, for both."""
    return Binding(
        key,
        f"screen.{action}",
        description,
        tooltip=tooltip,
        show=bool(description),
        key_display=written or None,
        priority=True,
        id=f"columns.{action}",
    )


class ColumnLine(CleanInput):
    """The input, with the dialog's keys. They have priority over text: names rarely contain these signs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "go", id="columns.go_to"),
        _key("space", "hide", "hide", "hide the column, or show it again"),
        _key("<", "narrow", "width", "narrow the column", written="< >"),
        _key(">", "widen", "", "widen the column"),
        _key("[", "earlier", "move", "move the column to the left: the first one is pinned", written="[ ]"),
        _key("]", "later", "", "move the column to the right"),
        _key("ctrl+o", "sort", "sort", "sort by the column; again: the other way", written="^o"),
        _key("ctrl+r", "restore", "reset", "all columns as they come", written="^r"),
    ]


class ColumnsScreen(PickDialog[int]):
    """Enter goes to the column under the cursor; the other keys change it at once, behind the dialog."""

    HAS_BAR = True

    def __init__(self, grid: RecordGrid) -> None:
        line = ColumnLine(placeholder="a part of the name", compact=True)
        super().__init__("Columns", line, _COLUMNS)
        self._of = grid

    def on_mount(self) -> None:
        self._show()
        self._grid.move_to(self._listed.index(self._of.column) if self._of.column in self._listed else 0)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._look_for(event.value, lambda place: self._of.columns[self._listed[place]].title)

    def on_input_submitted(self) -> None:
        if (index := self._under_cursor) is not None:
            self.dismiss(index)

    # The columns

    @property
    def _names(self) -> Sequence[str]:
        return self._of.shown_columns.names

    def _show(self) -> None:
        """List the columns with a title, in their order."""
        order = self._of.shown_columns.layout.in_order(self._names)
        self._listed = [index for index in order if self._of.columns[index].title]
        hidden = sum(self._names[index] in self._of.shown_columns.layout.hidden for index in self._listed)
        self.retitle(f"{counted(len(self._listed), 'column')}" + (f", {hidden} hidden" if hidden else ""))
        rows = Records(self._listed, self._values, lambda index: index)
        self._grid.show(rows, note="No column.")

    def _values(self, index: int) -> Sequence[object]:
        states = []
        if self._names[index] in self._of.shown_columns.layout.hidden:
            states.append("hidden")
        if index == self._of.order.column:
            states.append("sorted " + ("▼" if self._of.order.descending else "▲"))
        return self._of.columns[index].title, self._of.shown_columns.width(index), ", ".join(states)

    @property
    def _under_cursor(self) -> int | None:
        place = self._grid.index
        return None if place is None else self._listed[place]

    def _lay_out(self, layout: ColumnLayout) -> None:
        self._of.lay_out(layout)
        self._show()

    # Actions of keys

    def action_hide(self) -> None:
        index = self._under_cursor
        if index is None:
            return
        layout = self._of.shown_columns.layout.toggled(self._names[index])
        if all(self._names[each] in layout.hidden for each in self._listed):
            self.bar.say("One column stays", "warn")
        else:
            self._lay_out(layout)

    def action_narrow(self) -> None:
        self._resize(-STEP)

    def action_widen(self) -> None:
        self._resize(STEP)

    def _resize(self, by: int) -> None:
        if (index := self._under_cursor) is not None:
            width = max(NARROWEST, self._of.shown_columns.width(index) + by)
            self._lay_out(self._of.shown_columns.layout.with_width(self._names[index], width))

    def action_earlier(self) -> None:
        self._move(-1)

    def action_later(self) -> None:
        self._move(1)

    def _move(self, by: int) -> None:
        """Move the column under the cursor to the position of its neighbour."""
        index = self._under_cursor
        if index is None:
            return
        place = max(0, min(self._listed.index(index) + by, len(self._listed) - 1))
        neighbour = self._names[self._listed[place]]
        self._lay_out(self._of.shown_columns.layout.moved(self._names, self._names[index], neighbour))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # Some grids can't be sorted.
        return action != "sort" or self._of.check_action("sort", ())

    def action_sort(self) -> None:
        if (index := self._under_cursor) is not None:
            again = self._of.order.column == index
            self._of.sort_by(index, descending=not self._of.order.descending if again else None)
            self._show()

    def action_restore(self) -> None:
        self._of.sort_by(None)
        self._lay_out(ColumnLayout())

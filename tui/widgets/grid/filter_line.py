"""The line where a filter is typed; it filters as you type."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input, Static


class FilterLine(Horizontal):
    """Opens below a grid. Enter keeps the filter, Escape takes it away; both go back to the rows."""

    DEFAULT_CSS = """
    FilterLine { height: 1; background: $raised; }
    FilterLine Static { width: 3; color: $primary; text-style: bold; padding-left: 1; }
    FilterLine Input { width: 1fr; background: $raised; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,down", "keep", "keep the filter", key_display="enter", id="filter.keep"),
        Binding("escape", "drop", "no filter", id="filter.drop"),
    ]

    def __init__(self, grid: Widget, text: str, narrow: Callable[[str], None]) -> None:
        """`narrow` makes the grid show the rows that hold a text; `text` is the filter that it has now."""
        super().__init__()
        self._grid = grid
        self._narrow = narrow
        self.input = Input(text, placeholder="words; with ! in front: rows without them", compact=True)

    def compose(self) -> ComposeResult:
        yield Static("/", markup=False)
        yield self.input

    @classmethod
    async def open_for(cls, grid: Widget, text: str, narrow: Callable[[str], None]) -> None:
        """Show the line under the grid, or go to it when it is there already; keys go there from now on."""
        parent = grid.parent
        existing = next(iter(parent.query(cls)), None) if parent is not None else None
        line = cls(grid, text, narrow) if existing is None else existing
        if existing is None:
            await grid.screen.mount(line, after=grid)
        grid.screen.set_focus(line.input)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._narrow(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        self._close()

    def action_drop(self) -> None:
        self._narrow("")
        self._close()

    def _close(self) -> None:
        self.screen.set_focus(self._grid)
        self.remove()

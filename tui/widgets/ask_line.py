"""An input line below a grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input, Static

from paimark.tui.widgets.clean_input import CleanInput


class LineBelow(Horizontal):
    """An input after a sign. When it closes, the focus goes back to the grid."""

    DEFAULT_CSS = """
    LineBelow { height: 1; background: $raised; }
    LineBelow Static { width: 3; color: $primary; text-style: bold; padding-left: 1; }
    LineBelow Input { width: 1fr; background: $raised; }
    """

    def __init__(self, grid: Widget, sign: str, example: str, text: str = "") -> None:
        super().__init__()
        self._grid = grid
        self._sign = sign
        self.input = CleanInput(text, placeholder=example, compact=True)

    def compose(self) -> ComposeResult:
        yield Static(self._sign, markup=False)
        yield self.input

    async def open(self) -> None:
        """Show the line under the grid, or use the one that is already there, and give it the focus."""
        parent = self._grid.parent
        existing = next(iter(parent.query(type(self))), None) if parent is not None else None
        if existing is None:
            await self._grid.screen.mount(self, after=self._grid)
        self._grid.screen.set_focus((existing or self).input)

    # Textual calls these handlers in addition to those of a subclass.
    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()

    def action_close(self) -> None:
        self.screen.set_focus(self._grid)
        self.remove()


class AskLine(LineBelow):
    """Enter passes the text to `answer`, which returns whether it accepts it; Escape closes the line."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "back", id="ask.close")]

    def __init__(self, grid: Widget, sign: str, example: str, answer: Callable[[str], bool]) -> None:
        super().__init__(grid, sign, example)
        self._answer = answer

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if self._answer(event.value):
            self.action_close()

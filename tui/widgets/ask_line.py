"""A line below a grid on which something is typed and answered once."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input, Static


class AskLine(Horizontal):
    """Enter hands the text to `answer`, which says whether it will do; Escape goes back without."""

    DEFAULT_CSS = """
    AskLine { height: 1; background: $raised; }
    AskLine Static { width: 3; color: $primary; text-style: bold; padding-left: 1; }
    AskLine Input { width: 1fr; background: $raised; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "back", id="ask.close")]

    def __init__(self, grid: Widget, sign: str, example: str, answer: Callable[[str], bool]) -> None:
        super().__init__()
        self._grid = grid
        self._sign = sign
        self._answer = answer
        self.input = Input(placeholder=example, compact=True)

    def compose(self) -> ComposeResult:
        yield Static(self._sign, markup=False)
        yield self.input

    async def open(self) -> None:
        """Keys go there from now on."""
        await self._grid.screen.mount(self, after=self._grid)
        self._grid.screen.set_focus(self.input)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._answer(event.value):
            self.action_close()

    def action_close(self) -> None:
        self.screen.set_focus(self._grid)
        self.remove()

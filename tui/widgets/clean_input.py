"""An input that shows no control characters: its text may be a name from a table, or pasted.

Also the line below a grid that asks for one, or filters with each character.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from paimark.core.text import clean_text, cut

_EXAMPLE = "words  price>10  name=x  name~part  !without"
_EXAMPLE_OF_WORDS = "words  !without"


class CleanInput(Input):
    """It shows each character cleaned; `value` keeps the text as it was set or typed."""

    @property
    def _value(self) -> Text:
        return Text(clean_text(self.value), no_wrap=True, overflow="ignore", end="")

    def _on_paste(self, event: events.Paste) -> None:
        """Join pasted lines: Textual's own method drops all but the first."""
        lines = [line.strip() for line in event.text.splitlines()]
        if len(lines) > 1:
            # Its own method is called next.
            event.text = " ".join(line for line in lines if line)

    def validate_placeholder(self, placeholder: str) -> str:
        return clean_text(placeholder)

    def render_line(self, y: int) -> Strip:
        """Mark a placeholder as cut: Textual's own method wraps it, and shows the first line."""
        whole = self.placeholder
        self.set_reactive(Input.placeholder, cut(whole, self.scrollable_content_region.width))
        try:
            return super().render_line(y)
        finally:
            self.set_reactive(Input.placeholder, whole)


class LineBelow(Horizontal):
    """An input after a sign. When it closes, the focus goes back to the grid."""

    DEFAULT_CSS = """
    LineBelow { height: 1; background: $raised; }
    LineBelow Static { width: auto; color: $primary; text-style: bold; padding: 0 1; }
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


def filter_example(only_words: bool) -> str:
    return _EXAMPLE_OF_WORDS if only_words else _EXAMPLE


class FilterLine(LineBelow):
    """Enter keeps the filter, Escape removes it; both go back to the rows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,down", "close", "keep the filter", key_display="enter", id="filter.keep"),
        Binding("escape", "drop", "no filter", id="filter.drop"),
    ]

    def __init__(
        self, grid: Widget, text: str, narrow: Callable[[str], None], example: str = _EXAMPLE
    ) -> None:
        """`narrow` sets the filter of the grid; `text` is its present filter."""
        super().__init__(grid, "/", example, text)
        self._narrow = narrow

    def on_input_changed(self, event: Input.Changed) -> None:
        self._narrow(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.action_close()

    def action_drop(self) -> None:
        self._narrow("")
        self.action_close()

"""The line on which a person types a filter; it filters with each character."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from paimark.tui.widgets.clean_input import LineBelow

_EXAMPLE = "words  price>10  name=x  name~part  !without"
_EXAMPLE_OF_WORDS = "words  !without"


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

"""A line of buttons with a cursor. An arrow marks the button under the cursor, without need of colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from paimark.core.text import width_of
from paimark.tui.keymap import hidden
from paimark.tui.theme import Line, Piece
from paimark.tui.widgets.lines import Lines


class Choices(Lines, can_focus=True):
    """The cursor starts on the first button."""

    BINDINGS: ClassVar[list[BindingType]] = [
        hidden("choices.left", "left,h", "step(-1)", "left"),
        hidden("choices.right", "right,l", "step(1)", "right"),
        hidden("choices.choose", "enter,space", "choose", "choose"),
    ]

    class Chosen(Message):
        def __init__(self, label: str) -> None:
            self.label = label
            super().__init__()

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__()
        self._labels = list(labels)
        self._cursor = 0

    def offer(self, labels: Sequence[str]) -> None:
        """Replace the buttons; the cursor goes to the first."""
        if list(labels) != self._labels:
            self._labels, self._cursor = list(labels), 0
            self.update_lines()

    def action_step(self, step: int) -> None:
        self._cursor = max(0, min(self._cursor + step, len(self._labels) - 1))
        self.update_lines()

    def action_choose(self) -> None:
        if self._labels:
            self.post_message(self.Chosen(self._labels[self._cursor]))

    def on_click(self, event: events.Click) -> None:
        if event.chain > 1 or event.button != 1:
            # The second click of a double click was meant for the button before; other mouse buttons paste.
            return
        end = 0
        for number, (text, _) in enumerate(self.lines(self.size.width)[0]):
            start, end = end, end + width_of(text)
            # `lines` puts a piece of blanks after each button, and a blank or an arrow before its bracket.
            if start < event.x < end and number % 2 == 0:
                self._cursor = self._first(self.size.width) + number // 2
                self.action_choose()

    def _first(self, width: int) -> int:
        """The first button in sight: that under the cursor always is."""
        first = 0
        while first < self._cursor and self._cells(first) > width:
            first += 1
        return first

    def _cells(self, first: int) -> int:
        """The width of the buttons from the first one to that under the cursor."""
        return sum(width_of(f" [ {label} ]  ") for label in self._labels[first : self._cursor + 1]) - 2

    def lines(self, width: int) -> Sequence[Line]:
        pieces: list[Piece] = []
        first = self._first(width)
        for index, label in enumerate(self._labels[first:], first):
            here = index == self._cursor and self.has_focus
            pieces += [(f"▸[ {label} ]", "choice") if here else (f" [ {label} ]", "quiet"), ("  ", "")]
        return [pieces]

    def on_focus(self) -> None:
        self.update_lines()

    def on_blur(self) -> None:
        self.update_lines()

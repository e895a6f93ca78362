"""The lines of the tour above the keys; at first they offer it."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from paimark.tui.theme import Line
from paimark.tui.widgets.lines import FittingLines, spread

# The least width of a line.
_LEAST = 20


class TourBar(FittingLines, can_focus=True):
    """It has the focus only during the offer; it passes on any key that is not its own."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "begin the tour", id="tour.accept"),
        Binding("escape", "decline", "look around", id="tour.decline"),
    ]

    class Answered(Message):
        """`key` is a key that was meant for another widget."""

        def __init__(self, *, accepted: bool, key: events.Key | None = None) -> None:
            self.accepted = accepted
            self.key = key
            super().__init__()

    def __init__(self) -> None:
        super().__init__()
        self._title = self._hint = self._text = ""

    def tell(self, title: str, text: str, hint: str) -> None:
        self._title, self._text, self._hint = title, text, hint
        self.update_lines()

    def lines(self, width: int) -> Sequence[Line]:
        title = spread([(f" {self._title}", "title")], [(f"{self._hint} ", "quiet")], width)
        return [title, *([(f" {line}", "")] for line in wrap(self._text, max(_LEAST, width - 2)))]

    def action_accept(self) -> None:
        self.post_message(self.Answered(accepted=True))

    def action_decline(self) -> None:
        self.post_message(self.Answered(accepted=False))

    def on_blur(self) -> None:
        """Decline when another widget gets the focus, but not when the terminal loses it."""
        if self.app.app_focus:
            self.post_message(self.Answered(accepted=False))

    def on_key(self, event: events.Key) -> None:
        event.stop()
        self.post_message(self.Answered(accepted=False, key=event))

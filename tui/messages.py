"""Messages that any part of the console may send to the application."""

from __future__ import annotations

from typing import Protocol

from textual.message import Message


class Say(Protocol):
    """Shows a sentence on the bottom line. `ink` is good, warn, bad or nothing."""

    def __call__(self, text: str, ink: str = "") -> object: ...


class ToTheApp(Message):
    """A message that always goes up to the application.

    Textual does not deliver a message to its sender, and takes the widget whose handler runs for the sender:
    a pane's message while its screen calls it would be lost.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sender = None


class LogLineAdded(ToTheApp):
    """A line for the log. `ink` is good, warn, bad or nothing."""

    def __init__(self, text: str, ink: str = "") -> None:
        self.text = text
        self.ink = ink
        super().__init__()


class StatusShown(LogLineAdded):
    """A sentence for the bottom line, and for the log, unless that has it already (`is_logged`)."""

    def __init__(self, text: str, ink: str = "", *, is_logged: bool = False) -> None:
        self.is_logged = is_logged
        super().__init__(text, ink)


class Copied(ToTheApp):
    """This text should go to the clipboard."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__()

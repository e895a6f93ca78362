"""The Textual application: themes, the log, the clipboard, the engine. The screens do the rest."""

from __future__ import annotations

import gc
import os
import time
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Input

from tui.background import Arrived, post
from tui.clipboard import copy_sequence
from tui.formats import seconds
from tui.messages import Copied, Noted, Said
from tui.opening import Opening
from tui.panes.log import Log
from tui.screens.browse import BrowseScreen
from tui.session import Session
from tui.theme import DARK, PALETTES, SIXTEEN, make_theme
from tui.widgets.cells import cut
from tui.widgets.key_bar import KeyBar

_SIXTEEN_COLOURS = ("standard", "windows", None)


class Console(App[None]):
    """The console on one warehouse."""

    TITLE = "Paimark"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "quit", tooltip="leave Paimark", show=False, priority=True, id="app.quit"),
        Binding("ctrl+c", "interrupt", "cancel, else copy", show=False, priority=True, id="app.interrupt"),
        Binding(
            "ctrl+p,:",
            "palette",
            "actions",
            tooltip="any action, pane or table by name",
            key_display=":",
            id="app.palette",
        ),
        Binding("?", "help", "keys", id="app.help"),
    ]

    def __init__(self, session: Session, opening: Opening, *, start_engine: bool = True) -> None:
        super().__init__()
        self._start_engine = start_engine
        self._asked_to_quit = False
        self.session = session
        self.log_lines = Log()
        for name in PALETTES:
            self.register_theme(make_theme(name))
        plain = self.no_color or self.console._color_system is None
        self.theme = SIXTEEN if plain or self.console.color_system in _SIXTEEN_COLOURS else DARK
        self.browse = BrowseScreen(session, opening, self.log_lines)

    def get_default_screen(self) -> Screen[None]:
        return self.browse

    def on_mount(self) -> None:
        self.call_after_refresh(self._after_first_frame)

    def _after_first_frame(self) -> None:
        # What there is now stays: the collector need not walk it again and again.
        gc.freeze()
        gc.enable()
        if self._start_engine:
            self.session.room.warm_up(
                lambda took: post(self, lambda: self.note(f"Spark is ready after {seconds(took)}", "good")),
                lambda error: post(self, lambda: self.say(f"{error.message}. {error.hint}", "bad")),
            )

    # What the parts say

    def on_arrived(self, event: Arrived) -> None:
        event.deliver()

    def on_noted(self, event: Noted) -> None:
        self.note(event.text, event.ink)

    def on_said(self, event: Said) -> None:
        self.say(event.text, event.ink)

    def on_copied(self, event: Copied) -> None:
        sequence = copy_sequence(event.text, os.environ)
        if sequence is None:
            self.say("Too much to copy through a terminal: 74 kB is the most", "warn")
            return
        if self._driver is not None:
            self._driver.write(sequence)
        self.say(f"Sent to terminal: {cut(event.text, 40)}", "good")

    def note(self, text: str, ink: str = "") -> None:
        """A line for the log only."""
        self.log_lines.add(int(time.time() * 1000), text, ink)

    def say(self, text: str, ink: str = "") -> None:
        """A sentence on the bottom line, and in the log."""
        self.note(text, ink)
        self.browse.key_bar.say(text, ink)

    # What keys do

    def action_interrupt(self) -> None:
        """ctrl+c: stop a query; else copy what is selected; else say how to leave."""
        if self.browse.cancel_query():
            return
        focused = self.focused
        if isinstance(focused, Input) or hasattr(focused, "selected_text"):
            text = str(getattr(focused, "selected_text", ""))
            if text:
                self.post_message(Copied(text))
                return
        self.say("ctrl+q leaves Paimark")

    def action_help(self) -> None:
        from tui.screens.help import HelpScreen

        self.push_screen(HelpScreen())

    def action_palette(self) -> None:
        from tui.palette_entries import entries
        from tui.screens.palette import PaletteScreen

        self.push_screen(PaletteScreen(entries(self)), lambda entry: entry.run() if entry else None)

    async def action_quit(self) -> None:
        """Leave; while a change is being written, only when asked twice."""
        if getattr(self.screen, "applying", False) and not self._asked_to_quit:
            self._asked_to_quit = True
            self.screen.query_one(KeyBar).say(
                "A change is being written: ctrl+q again leaves it to recover", "warn"
            )
            return
        self.exit()

"""The Textual application: themes, the log, the clipboard, the engine. The screens do the rest."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
from typing import Any, ClassVar

from textual import events
from textual._compositor import CompositorUpdate
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, TextArea

from tui.background import Arrived, post
from tui.clipboard import copy_sequence
from tui.formats import seconds
from tui.messages import Copied, Noted, Said
from tui.opening import Opening
from tui.panes.log import Log
from tui.screens.browse import BrowseScreen
from tui.sent_cells import SentCells
from tui.session import Session
from tui.theme import PALETTES, best_theme, make_theme, wants_no_colors
from tui.widgets.cells import cut
from tui.widgets.key_bar import KeyBar


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
        Binding("ctrl+l", "redraw", "draw the screen again", show=False, id="app.redraw"),
    ]

    def __init__(self, session: Session, opening: Opening, *, start_engine: bool = True) -> None:
        no_colors = wants_no_colors(os.environ)
        if not no_colors:
            # Textual counts one that is set to nothing, too.
            os.environ.pop("NO_COLOR", None)
        # Else Textual turns colours to greys, and the terminal's own, which it can't know, to black on black.
        super().__init__(ansi_color=True if no_colors else None)
        self._start_engine = start_engine
        self._asked_to_quit = False
        self._sent = SentCells()
        self.session = session
        self.log_lines = Log()
        for name in PALETTES:
            self.register_theme(make_theme(name))
        self.theme = best_theme(self.console.color_system, no_colors=no_colors)
        self.browse = BrowseScreen(session, opening, self.log_lines)

    def get_default_screen(self) -> Screen[None]:
        return self.browse

    def on_mount(self) -> None:
        # A dropped line and a polite kill leave as ctrl+q does: the engine ends and the terminal is whole.
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self.exit)
        self.app_resume_signal.subscribe(self, lambda app: self._sent.forget())
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

    # What the terminal gets

    def _display(self, screen: Screen[object], renderable: Any) -> None:
        if isinstance(renderable, CompositorUpdate):
            renderable = self._sent.reduced(renderable, self.size)
        super()._display(screen, renderable)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        # A cursor that blinks sends bytes while nobody types.
        if isinstance(event.widget, Input | TextArea):
            event.widget.cursor_blink = False

    def action_redraw(self) -> None:
        """Send the whole screen, whatever else wrote to the terminal."""
        self._sent.forget()
        self.refresh(layout=True)

    # What the parts say

    async def on_event(self, event: events.Event) -> None:
        """Keys act in the order they were typed, however fast they come.

        Textual hands a key to the widget that has the focus and looks for its binding when it bubbled up;
        the next key may be on its way to that same widget by then, although the first moves the focus. On a
        slow line keys come in bursts. Where one does not type text, a key's action is done at once.
        """
        is_key = isinstance(event, events.Key) and not event.is_forwarded
        if is_key:
            self.browse.key_bar.key_pressed()
        if isinstance(event, events.Key) and is_key and not _takes_text(self.focused):
            key = event.key
            if await self._check_bindings(key, priority=True) or await self._check_bindings(key):
                return
        await super().on_event(event)

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
        text = str(getattr(self.focused, "selected_text", ""))
        if text:
            self.post_message(Copied(text))
            return
        self.say("ctrl+q leaves Paimark")

    async def action_help(self) -> None:
        from tui.screens.help import HelpScreen

        await self.push_screen(HelpScreen())

    async def action_palette(self) -> None:
        from tui.palette_entries import entries
        from tui.screens.palette import Entry, PaletteScreen

        def chosen(entry: Entry | None) -> None:
            if entry is not None:
                self.call_later(entry.run)

        def offered() -> list[Entry]:
            self.browse.tables.learn()
            return entries(self)

        await self.push_screen(PaletteScreen(offered), chosen)

    async def action_quit(self) -> None:
        """Leave; while a change is being written, only when asked twice."""
        if getattr(self.screen, "applying", False) and not self._asked_to_quit:
            self._asked_to_quit = True
            self.screen.query_one(KeyBar).say(
                "A change is being written: ctrl+q again leaves it to recover", "warn"
            )
            return
        self.exit()


def _takes_text(focused: Widget | None) -> bool:
    """Whether letters are text there: both kinds of editor have something to select."""
    return hasattr(focused, "selected_text")

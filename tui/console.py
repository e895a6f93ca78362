"""The Textual application: themes, keys, the log, the clipboard, the engine. The screens do the rest."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.screen import Screen

from paimark.core.config import Settings
from paimark.core.figures import counted, seconds
from paimark.core.text import cut
from paimark.tui.keymap import ANYWHERE, hidden
from paimark.tui.keys.bindings import latin
from paimark.tui.keys.early_keys import ClosingKey, EarlyKeys, OpeningKey, Typed
from paimark.tui.messages import Copied, LogLineAdded, StatusShown
from paimark.tui.mouse import TakesMouse
from paimark.tui.named_keys import how_to_quit, key, quit_key
from paimark.tui.opening import Opening
from paimark.tui.panes.log import KEPT, Log, LogLine
from paimark.tui.query.drafts import rescued
from paimark.tui.screens.browse import BrowseScreen
from paimark.tui.session import Session
from paimark.tui.terminal.escape_key import apart, read_any_bytes, read_escape, toggle
from paimark.tui.terminal.key_order import Cancellable, act, bind, is_bound, keymap, settled
from paimark.tui.terminal.quitting import keep_quiet
from paimark.tui.terminal.sent_cells import SparingApp
from paimark.tui.theme import THEMES, StyledApp, best_theme, make_theme, wants_no_colors
from paimark.tui.widgets.grid.record_grid import RecordGrid
from paimark.tui.widgets.key_bar import KeyBar
from paimark.tui.work.background import ThreadResult, post
from paimark.tui.work.collector import Collector
from paimark.tui.work.unexpected_errors import traceback_of

if TYPE_CHECKING:
    from paimark.tui.own_commands import OwnCommands, ReadyCommand
    from paimark.tui.tour.tour import Tour
    from paimark.tui.tour.tour_bar import TourBar
    from paimark.tui.work.jobs import Job
    from paimark.tui.work.running_change import Ended


class Console(TakesMouse, SparingApp, StyledApp):
    """The console on one warehouse."""

    TITLE = "Paimark"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "ctrl+q",
            "quit",
            "quit",
            tooltip="quit, as :q does",
            show=False,
            priority=True,
            id="app.quit",
        ),
        Binding("ctrl+c", "interrupt", "cancel, else copy", show=False, priority=True, id="app.interrupt"),
        Binding(":", "palette", "actions", tooltip="any action, pane or table by name", id="app.palette"),
        Binding(
            "ctrl+p",
            "palette",
            "actions",
            tooltip="the same, also while typing",
            key_display="^p",
            id="app.palette_typing",
        ),
        Binding("?,f1", "help", "keys", tooltip="these keys (f1 also while typing)", id="app.help"),
        hidden("tour.next", "f9", "tour('next')", "the tour", "the next step of the tour"),
        hidden("tour.leave", "f8", "tour('leave')", "leave the tour"),
        *ANYWHERE,
    ]

    def __init__(self, session: Session, opening: Opening, *, start_engine: bool = True) -> None:
        no_colors = wants_no_colors(os.environ)
        if not no_colors:
            # Textual also obeys an empty NO_COLOR.
            os.environ.pop("NO_COLOR", None)
        # Otherwise Textual would turn colours to grey, and the terminal's own to black on black.
        super().__init__(ansi_color=True if no_colors else None)
        read_escape()
        read_any_bytes()
        self._start_engine = start_engine
        # The number of typed keys, and that number when the person was last asked whether to quit.
        self._typed_keys, self._asked_to_quit_at = 0, -1
        self._early = EarlyKeys()
        self._closing_key = ClosingKey()
        self._opening_key = OpeningKey()
        self.session = session
        session.jobs.on_unwatched_end = self._ended_unwatched
        self.log_lines: Log = deque(maxlen=KEPT)
        for name in THEMES:
            self.register_theme(make_theme(name))
        self.set_class("SSH_CONNECTION" in os.environ, "-far")
        self.theme = best_theme(self.console.color_system, no_colors=no_colors)
        self._collector = Collector()
        self._tour: Tour | None = None
        self._own_keys: list[Binding] = []
        self._own_commands: OwnCommands | None = None
        # The settings of another warehouse to open after this one.
        self.next_settings: Settings | None = None
        self.browse = BrowseScreen(session, opening, self.log_lines)

    def exit(self, *how: Any, **else_how: Any) -> None:
        keep_quiet(self.driver)
        super().exit(*how, **else_how)

    def get_default_screen(self) -> Screen[None]:
        return self.browse

    def on_mount(self) -> None:
        # A dropped line and SIGTERM end it like ctrl+q: the engine ends, and the terminal is restored.
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self.exit)
        self.app_resume_signal.subscribe(self, lambda app: self.action_redraw())
        self.call_after_refresh(self._after_first_frame)

    def _after_first_frame(self) -> None:
        self._collector.begin()
        if self._start_engine:
            self.session.room.warm_up(
                lambda took: post(self, lambda: self.note(f"Spark is ready after {seconds(took)}", "good")),
                lambda error: post(self, lambda: self.say(error.said, "bad")),
            )
        threading.Thread(target=self._rescue_texts, name="paimark-rescue", daemon=True).start()
        if self.session.settings.offers_tour:
            self.tour.offer()

    def _rescue_texts(self) -> None:
        """Tell of texts that a killed console left. Called in a thread."""
        if words := rescued():
            post(self, lambda: self.say(words, "warn"))

    def _fatal_error(self) -> None:
        # Textual's own method shows the local variables of every call.
        error = sys.exc_info()[1] or self._exception
        if error is None:
            super()._fatal_error()
        else:
            self.bell()
            self.panic(traceback_of(error))

    # Bytes to the terminal

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        # A blinking cursor would send bytes while nobody types.
        # By its attribute: importing the editor would delay the first frame.
        if hasattr(event.widget, "cursor_blink"):
            event.widget.cursor_blink = False

    # Messages of the parts

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and event.is_forwarded:
            # No widget took it where it was typed: a screen that has opened since must not get it.
            return
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        if isinstance(event, events.Paste):
            await self._typed(event)
            return
        for typed in apart(self.screen, event):
            typed = self._on_latin(typed)
            self._typed_keys += 1
            self._collector.key_pressed()
            self._key_bar.key_pressed()
            await self._typed(typed)

    def _on_latin(self, event: events.Key) -> events.Key:
        """The key of a Latin layout, if a letter of another one is neither text nor bound."""
        focused = self.focused
        is_text = focused is not None and focused.check_consume_key(event.key, event.character)
        return event if is_text or is_bound(self.screen, event.key) else latin(event)

    async def _typed(self, event: Typed) -> None:
        """Handle a key, or keep it until its rows are read."""
        screen = self.screen
        if self._closing_key.is_again(screen, event) or self._early.kept(screen, event):
            return
        if not self._early.given_up_by(screen, event):
            for each in self._opening_key.due(event, self.focused):
                await self._do(each)

    async def _do(self, event: Typed) -> None:
        focused, screen = self.focused, self.screen
        if not isinstance(event, events.Key) or not await act(self, event):
            await super().on_event(event)
        await settled(focused or screen)
        if screen not in self.screen_stack:
            self._closing_key.closed(event)
        if self.focused is not focused:
            self._opening_key.opened(event, self.focused)

    async def on_thread_result(self, event: ThreadResult) -> None:
        delivered = event.deliver()
        if isawaitable(delivered):
            # It opens a screen, which must have the focus before the next key is handled.
            await delivered
        # No keys wait while the last screen closes.
        for each in self._early.ready(self.screen) if self._early else ():
            await self._typed(each)

    def on_log_line_added(self, event: LogLineAdded) -> None:
        self.note(event.text, event.ink)

    def on_status_shown(self, event: StatusShown) -> None:
        if event.is_logged:
            self._key_bar.say(event.text, event.ink, is_logged=True)
        else:
            self.say(event.text, event.ink)

    def on_ended(self, event: Ended) -> None:
        change = event.change
        self.browse.read_again()
        if self._tour is not None:
            self._tour.saw(change)

    def _ended_unwatched(self, job: Job) -> None:
        from paimark.tui.screens.jobs import BELL_SECONDS

        self.say(*job.end or ("",))
        if job.seconds >= BELL_SECONDS:
            self.bell()

    def on_copied(self, event: Copied) -> None:
        from paimark.tui.terminal.clipboard import copy_sequence

        sequence = copy_sequence(event.text, os.environ)
        if sequence is None:
            self.say("Too much to copy through a terminal: 74 kB is the most", "warn")
            return
        if self.driver is not None:
            self.driver.write(sequence)
        self.say(f"Sent to terminal: {cut(event.text, 40)}", "good")

    def note(self, text: str, ink: str = "") -> None:
        """Add a line to the log only."""
        self.log_lines.append(LogLine(int(time.time() * 1000), text, ink))

    def say(self, text: str, ink: str = "") -> None:
        """Show a sentence on the bottom line of the active screen, and add it to the log."""
        self.note(text, ink)
        self._key_bar.say(text, ink, is_logged=True)

    @property
    def _key_bar(self) -> KeyBar:
        """That of the active dialog, which may hide the main screen's; the palette and its like have none."""
        # While the console ends there is no screen.
        for screen in self.screen_stack[-1:]:
            if screen is not self.browse:
                return next(iter(screen.query(KeyBar)), self.browse.key_bar)
        return self.browse.key_bar

    # Actions of keys

    def action_interrupt(self) -> None:
        """ctrl+c: stop a query; else copy the selection; else show the key that quits."""
        screen = self.screen
        if isinstance(screen, Cancellable) and screen.cancel():
            return
        # In a dialog ctrl+c is not meant for a query behind it.
        if screen is self.browse and self.browse.cancel_query():
            return
        if text := str(getattr(self.focused, "selected_text", "")):
            self.post_message(Copied(text))
        else:
            self.say(how_to_quit())

    async def action_help(self) -> None:
        from paimark.tui.keys.rebinding import rebound
        from paimark.tui.screens.help import HelpScreen, dialog_sections, key_sections

        everywhere = [*self.BINDINGS, *self._own_keys]
        of_dialog = dialog_sections(self.screen)
        sections = of_dialog or key_sections(everywhere, self.browse.tabs.current)
        shown = [(title, rebound(keys, keymap(self))) for title, keys in sections]
        await self.push_screen(HelpScreen(shown, is_whole=not of_dialog))

    async def action_jobs(self) -> None:
        from paimark.tui.screens.jobs import open_jobs

        await open_jobs(self, self.session.jobs)

    async def action_choose_columns(self) -> None:
        from paimark.tui.dialogs.grid_columns import ColumnsScreen

        focused = self.focused
        grid = focused if isinstance(focused, RecordGrid) else self.browse.pane.grid
        if grid.check_action("choose_columns", ()):
            await self.push_screen(
                ColumnsScreen(grid), lambda index: None if index is None else grid.go_to_column(index)
            )

    async def action_palette(self) -> None:
        from paimark.tui.dialogs.palette import PaletteEntry, PaletteScreen
        from paimark.tui.keys.rebinding import shown_keys
        from paimark.tui.screens.palette_entries import context_entries, entries, opening_entry, own_entries

        async def chosen(entry: PaletteEntry | None) -> None:
            done = entry.run() if entry is not None else None
            if isawaitable(done):
                await done

        own = own_entries(self, () if self.no_color else THEMES)
        own += context_entries(self.session, self.say, self._switch_to)
        own.append(opening_entry(self.session, self.say, self._switch_to))
        keys = shown_keys([*BrowseScreen.BINDINGS, *self.BINDINGS], keymap(self))

        def offered() -> list[PaletteEntry]:
            self.browse.tables.learn()
            return entries(self.browse, own, keys)

        await self.push_screen(PaletteScreen(offered, lambda: self.browse.tables.all_listed), chosen)

    def take_commands(self, commands: Sequence[ReadyCommand], bindings: list[Binding]) -> None:
        """Add user-defined commands and their keys."""
        from paimark.tui.own_commands import OwnCommands

        self._own_keys = bindings
        self._own_commands = OwnCommands(self, self.session, self.browse.tabs, self.say, commands)
        bind(self, bindings)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "command" and self._own_commands is not None:
            return self._own_commands.is_here(int(str(parameters[0])))
        return super().check_action(action, parameters)

    async def action_command(self, index: int) -> None:
        if self._own_commands is not None:
            await self._own_commands.run(index)

    def _switch_to(self, settings: Settings) -> None:
        if unsaved := self.browse.tabs.unsaved_queries:
            queries = counted(unsaved, "query", "queries")
            self.say(f"{queries} with text not saved or run: save it, or clear it, then switch", "warn")
            return
        self.next_settings = settings
        self.exit()

    def action_mouse(self) -> None:
        if self.driver is not None:
            is_on = toggle(self.driver)
            self.say("The mouse is on: click and wheel move the cursor" if is_on else "The mouse is off")

    def action_suspend(self) -> None:
        from paimark.tui.terminal.other_programs import unmoved_by_ctrl_c, why_to_stay

        if why := why_to_stay(is_changing=bool(self.session.changes)):
            self.say(why, "warn")
        else:
            with unmoved_by_ctrl_c():
                self.action_suspend_process()

    @property
    def tour(self) -> Tour:
        from paimark.tui.tour.tour import make_tour

        if self._tour is None:
            self._tour = make_tour(self, self.session, self.browse, self.say)
        return self._tour

    async def action_tour(self, what: str = "start") -> None:
        if what == "next":
            await self.tour.next()
        elif what == "leave":
            self.tour.leave()
        else:
            self.tour.start()

    def on_tour_bar_answered(self, event: TourBar.Answered) -> None:
        self.tour.answer(event)

    async def action_quit(self) -> None:
        """Quit; while a change is being written, or if text would be lost, only at the second press."""
        reason = self._reason_to_stay
        # The second press must be the next key: otherwise the question is repeated.
        if reason and self._typed_keys != self._asked_to_quit_at + 1:
            self._asked_to_quit_at = self._typed_keys
            if not self.screen.query(KeyBar):
                # The palette and its like have no key bar, so they close as with escape.
                await self.screen.dismiss()
            self.screen.query_one(KeyBar).say(reason, "warn")
            return
        self.exit()

    @property
    def _reason_to_stay(self) -> str:
        if self.session.changes:
            stops = any(each.can_be_cancelled for each in self.session.changes)
            does = "stops it and quits" if stops else "waits for it and quits"
            return f"A change is being written: {quit_key()} again {does}"
        if self.session.room.exports.paths:
            return f"A file is being written: {quit_key()} again stops it and quits"
        if staged := sum(getattr(each, "staged", 0) for each in self.screen_stack):
            return f"{counted(staged, 'edited row')} not committed: {quit_key()} again quits and drops them"
        unsaved = counted(self.browse.tabs.unsaved_queries, "query", "queries")
        has_it = f"{quit_key()} again quits, {key('query.history')} has it"
        lost = f"{unsaved} with text not saved or run: {has_it}"
        return lost if self.browse.tabs.unsaved_queries else ""

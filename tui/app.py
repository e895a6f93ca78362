"""The start of the console. It begins to read before it imports Textual, because imports take most time."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from paimark.core.config import Settings
from paimark.core.text import clean_text
from paimark.tui.opening import Opening
from paimark.tui.session import Session
from paimark.tui.terminal.quitting import attributes, end_here, leaving

if TYPE_CHECKING:
    from paimark.tui.console import Console
    from paimark.tui.keys.bindings import Scope


def run(settings: Settings) -> int:
    """Run the console; return the exit code. Raises `UsageError` for invalid keys."""
    # At the start there is no garbage: collecting would only delay the first frame.
    gc.disable()
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    os.environ.setdefault("TEXTUAL_FPS", "30")
    while True:
        console = _sit(settings)
        if console.next_settings is None:
            code = console.return_code or 0
            end_here(code)
            return code
        settings = console.next_settings


def _sit(settings: Settings) -> Console:
    """One session with one warehouse, until the person quits or switches to another."""
    session = Session(settings)
    opening = Opening(session)
    opening.start()

    from paimark.tui.terminal.light_import import import_textual

    import_textual()
    from paimark.tui.console import Console

    console = Console(session, opening)
    if settings.keys or settings.commands:
        _bind_own(console, settings)
    before = attributes()
    # Without the mouse the terminal's own selection works, and the line transmits only keys.
    try:
        console.run(mouse=settings.mouse)
    finally:
        from paimark.tui.terminal.other_programs import leave_for_good

        leave_for_good()
        hurried, changes, ends = threading.Event(), [*session.changes], list[str]()

        def hurry() -> None:
            hurried.set()
            session.room.close_at_once()

        for_good = console.next_settings is None
        with leaving(before, hurry, for_good=for_good, what="a change" if changes else "Spark"):
            # For every kind of end, also a dropped line: keep texts, and leave no change half done.
            console.browse.tabs.keep_texts()
            console.browse.drafts.end()
            session.memory.save()
            for change in changes:
                change.leave()
            exports = session.room.exports.paths
            session.room.close()
            session.room.exports.stop(hurried)
            if changes:
                from paimark.tui.work.running_change import end_changes

                ends = end_changes(changes, hurried)
            if exports:
                from paimark.tui.work.engine_room import ends_of

                ends += ends_of(exports)
        for end in ends:
            # To the shell, if it still exists.
            with suppress(OSError, ValueError):
                print(clean_text(end), file=sys.stderr)
    return console


def _bind_own(console: Console, settings: Settings) -> None:
    """Add the keys and commands of the config file to the console. Raises `UsageError`."""
    from paimark.tui.keys.rebinding import first_keys, keymap_of
    from paimark.tui.named_keys import take_keys
    from paimark.tui.own_commands import bindings_of, ready_commands, require_free_keys

    scopes = _scopes()
    keymap = keymap_of(settings.keys, scopes)
    commands = ready_commands(settings.commands)
    bindings = bindings_of(commands)
    require_free_keys(bindings, scopes, settings.keys)
    console.set_keymap(dict(keymap))
    take_keys(first_keys(keymap))
    console.take_commands(commands, bindings)


def key_rows(keys: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """(id, keys, effect) of each binding, with these keys rebound. Raises `UsageError`."""
    from paimark.tui.keys.rebinding import key_rows

    return key_rows(keys, _scopes())


def _scopes() -> list[Scope]:
    from paimark.tui.console import Console
    from paimark.tui.keys.bindings import scopes
    from paimark.tui.screens.browse import BrowseScreen

    return scopes(Console, BrowseScreen)

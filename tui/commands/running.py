"""Run a user-defined command: ask first, then lend it the terminal until it ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from textual.app import App, SuspendNotSupported

from paimark.core.errors import NotFound, PaimarkError
from paimark.core.quoting import shell_line
from paimark.core.text import clean_text
from paimark.tui.commands.own_commands import ReadyCommand, filled, values_of
from paimark.tui.dialogs.confirm import ConfirmScreen
from paimark.tui.messages import Say
from paimark.tui.screens.open_tabs import OpenTabs
from paimark.tui.session import Session
from paimark.tui.terminal.other_programs import Suspended, how_it_ended, lent


class OwnCommands:
    """Runs the commands of the config file on the row under the cursor."""

    def __init__(
        self, app: App[Any], session: Session, tabs: OpenTabs, say: Say, commands: Sequence[ReadyCommand]
    ) -> None:
        self._app = app
        self._session = session
        self._tabs = tabs
        self._say = say
        self._commands = commands

    def is_here(self, index: int) -> bool:
        """Whether the key of a command works on the visible tab."""
        return self._commands[index].tab in (None, self._tabs.current)

    async def run(self, index: int) -> None:
        command = self._commands[index]
        if self._session.read_only and not command.entry.read_only:
            self._say(
                f"{command.title} is refused in read-only mode: `read_only = true` in the config file says"
                " that a command changes nothing",
                "warn",
            )
            return
        pane = self._tabs.pane_in_use
        row = None if pane is None else pane.current_version
        name = None if pane is None else pane.copy_text()
        try:
            words = filled(command, values_of(self._session.settings, self._tabs.target, row, name))
        except PaimarkError as error:
            self._say(error.said, "warn")
            return
        if command.entry.confirm:
            question = ConfirmScreen(
                f"{command.title}?", shell_line(words), title="Run a program", agree="Run it"
            )
            await self._app.push_screen(
                question, lambda agreed: self._run(command, words) if agreed else None
            )
        else:
            self._run(command, words)

    def _run(self, command: ReadyCommand, words: Sequence[str]) -> None:
        try:
            code = run_in_terminal(words, self._app.suspend)
        except SuspendNotSupported:
            self._say("This terminal can't be lent to a program", "bad")
        except PaimarkError as error:
            self._say(error.said, "bad")
        else:
            self._say(f"{command.title} {how_it_ended(code)}", "good" if code == 0 else "warn")


def run_in_terminal(words: Sequence[str], suspended: Suspended) -> int:
    """Run a program; return its exit code after Enter was pressed. Raises `NotFound` if it can't start."""
    try:
        with lent(suspended):
            code = subprocess.run(words, check=False).returncode
            print(f"\n{clean_text(words[0])} {how_it_ended(code)}: enter goes back", end=" ", flush=True)
            sys.stdin.readline()
    except (OSError, ValueError) as error:
        raise NotFound(f"{words[0]} can't be started: {error}", "The config file names it.") from error
    return code

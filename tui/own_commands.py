"""Commands of the person's own, from `[[command]]` of the config file: their words, keys and run.

No shell parses them. A placeholder stays part of one word, whatever its value, so that the name of a table or
tag can't become another command; a value that would be read as an option is refused.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from textual.app import App, SuspendNotSupported
from textual.binding import Binding

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.config import OwnCommand, Settings
from paimark.core.errors import NotFound, PaimarkError, Refused, UsageError
from paimark.core.quoting import shell_line
from paimark.core.redaction import redacted, without_secrets
from paimark.core.table.layout import MAIN
from paimark.core.table.names import near_names
from paimark.core.text import clean_text
from paimark.tui.dialogs.confirm import ConfirmScreen
from paimark.tui.keys.bindings import Scope
from paimark.tui.keys.rebinding import keymap_of
from paimark.tui.messages import Say
from paimark.tui.screens.open_tabs import OpenTabs
from paimark.tui.session import Session, Target
from paimark.tui.tabs import Tab
from paimark.tui.terminal.other_programs import Suspended, how_it_ended, lent

PLACEHOLDERS = ("warehouse", "database", "table", "branch", "version", "snapshot_id", "tag", "name")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "fish")
_IN_CONFIG = "[[command]] of the config file"


@dataclass(frozen=True, slots=True)
class ReadyCommand:
    """`words` are the program and its arguments, with placeholders; `tab` is None if it works on all tabs."""

    entry: OwnCommand
    words: tuple[str, ...]
    tab: Tab | None

    @property
    def title(self) -> str:
        return self.entry.description or self.words[0]


def ready_commands(entries: Sequence[OwnCommand]) -> list[ReadyCommand]:
    """Check and parse all commands. Raises `UsageError`, which names the first invalid one."""
    return [_ready(each) for each in entries]


def bindings_of(commands: Sequence[ReadyCommand]) -> list[Binding]:
    """A binding for each command, in their order."""
    return [
        Binding(each.entry.key, f"command({index})", each.title, id=f"command.{index + 1}")
        for index, each in enumerate(commands)
    ]


def require_free_keys(own: Sequence[Binding], scopes: Sequence[Scope], configured: Mapping[str, str]) -> None:
    """Raises `UsageError` for an invalid key, or one that the console already uses.

    `configured` are the rebound keys, by id.
    """
    # Without their keys: `keymap_of` accepts two bindings that share a default key.
    bare = [replace(each, key="none") for each in own]
    open_to_them = [each for each in scopes if not each.is_dialog]
    wider = [Scope(each.title, (*bare, *each.bindings)) for each in open_to_them]
    known = {each.id for scope in wider for each in scope.bindings}
    # Without ids that only dialogs have.
    bound = {id_: keys for id_, keys in configured.items() if id_ in known}
    keymap_of({**bound, **{each.id: each.key for each in own if each.id}}, wider)


def filled(command: ReadyCommand, values: Mapping[str, str]) -> list[str]:
    """The words with values in place of the placeholders.

    Raises `NotFound` for a value that the row does not have, `Refused` for one that looks like an option.
    """
    return [_filled(word, values) for word in command.words]


def values_of(
    settings: Settings, target: Target | None, row: RowVersion | None, name: str | None
) -> dict[str, str]:
    """The values by placeholder. The warehouse's address is without secrets."""
    values: dict[str, object] = {"warehouse": redacted(without_secrets(settings.warehouse)), "name": name}
    if target is not None:
        values |= {"database": target.table.database, "table": target.table.full_name}
        values["branch"] = (row.branch if row is not None else None) or target.branch or MAIN
    if row is not None:
        values |= {"version": row.version, "snapshot_id": row.snapshot_id, "tag": row.tag}
    return {name: str(value) for name, value in values.items() if value is not None}


def _ready(entry: OwnCommand) -> ReadyCommand:
    try:
        words = shlex.split(entry.run) if isinstance(entry.run, str) else list(entry.run)
    except ValueError as error:
        raise UsageError(f"{_IN_CONFIG}: {entry.run!r} can't be split into words: {error}") from error
    if not words or not words[0]:
        raise UsageError(f"{_IN_CONFIG}: run names no program, for key {entry.key!r}")
    for name in (name for word in words for name in _PLACEHOLDER.findall(word)):
        if name not in PLACEHOLDERS:
            there = ", ".join(f"{{{each}}}" for each in PLACEHOLDERS)
            hint = near_names(name, PLACEHOLDERS) or f"There are {there}."
            raise UsageError(f"{_IN_CONFIG}: there is no {{{name}}} to put in", hint)
    _require_no_code(words)
    tabs = {tab.name.lower(): tab for tab in Tab}
    if entry.on and entry.on not in tabs:
        hint = near_names(entry.on, tabs) or f"There are {', '.join(tabs)}."
        raise UsageError(f"{_IN_CONFIG}: there is no tab {entry.on!r}", hint)
    return ReadyCommand(entry, tuple(words), tabs.get(entry.on))


def _require_no_code(words: Sequence[str]) -> None:
    """Raises `UsageError` if a placeholder is in the program text of a shell, which would run a name."""
    if os.path.basename(words[0]) not in _SHELLS:
        return
    for option, word in pairwise(words[1:]):
        if re.fullmatch(r"-\w*c", option) and (placeholder := _PLACEHOLDER.search(word)):
            raise UsageError(
                f"{_IN_CONFIG}: a shell would run what {placeholder[0]} holds",
                f"Hand it over behind the program: -c '... \"$1\" ...' sh {placeholder[0]}",
            )


def _filled(word: str, values: Mapping[str, str]) -> str:
    for name in _PLACEHOLDER.findall(word):
        if name not in values:
            raise NotFound(f"There is no {name} here", "Move to a row that has one.")
    put = _PLACEHOLDER.sub(lambda match: values[match[1]], word)
    if put.startswith("-") and not word.startswith("-"):
        raise Refused(f"{put!r} would be read as an option", "The program is not run.")
    return put


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

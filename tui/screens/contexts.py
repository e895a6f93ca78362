"""Contexts in the palette: switch to another warehouse without quitting the console."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from paimark.core.config import Flags, Settings, config_path, load_settings, read_config
from paimark.core.errors import NotFound, PaimarkError
from paimark.core.storage.option_values import require_options
from paimark.core.text import clean_text
from paimark.tui.dialogs.palette import PaletteEntry
from paimark.tui.messages import Say
from paimark.tui.named_keys import cancel_key, key
from paimark.tui.session import Session

_HOW_TO_OPEN = "open PATH opens another warehouse: /lake, s3://bucket/lake, /lake/shop.orders"


def context_entries(session: Session, say: Say, go: Callable[[Settings], None]) -> list[PaletteEntry]:
    """An entry for each context of the config file; none if it can't be read. `go` opens the chosen one."""
    try:
        contexts = read_config(config_path()).contexts
    except PaimarkError:
        return []
    return [
        PaletteEntry(
            f"context {clean_text(name)}",
            "this is it" if name == session.settings.context else "open its warehouse",
            "",
            partial(_switch, session, name, say, go),
        )
        for name in contexts
    ]


def opening_entry(session: Session, say: Say, go: Callable[[Settings], None]) -> PaletteEntry:
    """`open PATH`: another warehouse, or a table of it, as `paimark PATH` opens it."""
    entry = PaletteEntry("open", "another warehouse: open PATH", "", lambda: say(_HOW_TO_OPEN, "warn"))
    return replace(entry, run_with=lambda path: _open(session, path, say, go))


def _open(session: Session, word: str, say: Say, go: Callable[[Settings], None]) -> None:
    from paimark.core.cli.places import go_to, require_place, require_warehouse

    if reason := why_not_now(session):
        say(reason, "warn")
        return
    given = session.settings.flags or Flags()
    flags = replace(given, warehouse=None, options={}, context=None, start=None)
    try:
        go_to(os.path.expanduser(word), flags)
        settings = load_settings(flags)
        require_options(settings.options, settings.warehouse)
        require_warehouse(settings.warehouse)
        require_place(settings)
        go(settings)
    except PaimarkError as error:
        say(error.said, "bad")


def _switch(session: Session, name: str, say: Say, go: Callable[[Settings], None]) -> None:
    reason = why_not_now(session)
    if reason:
        say(reason, "warn")
        return
    try:
        go(_settings_of(session.settings.flags or Flags(), name))
    except PaimarkError as error:
        say(error.said, "bad")


def why_not_now(session: Session) -> str:
    """A sentence about running work that the switch would end; empty if there is none."""
    if session.changes:
        return f"{session.changes[0].title} is being written: {_listed_by()}switch when it is done"
    if paths := session.room.exports.paths:
        # The export of a difference is no job.
        is_job = any(str(paths[0]) in each.title for each in session.jobs.running)
        name = clean_text(paths[0].name)
        return f"{name} is being written: {_listed_by() if is_job else ''}switch when it is done"
    # A statement may still wait for the start of Spark.
    if session.room.state == "running" or session.jobs.running:
        return f"A statement is still running: {cancel_key()} cancels it, then switch"
    return ""


def _listed_by() -> str:
    return f"{key('browse.jobs', 'J')} lists it, "


def _settings_of(flags: Flags, name: str) -> Settings:
    """The settings of a context. Flags of the command line still apply, except warehouse and options."""
    settings = load_settings(replace(flags, warehouse=None, options={}, context=name, start=None))
    require_options(settings.options, settings.warehouse)
    if "://" not in settings.warehouse and not os.path.isdir(settings.warehouse):
        raise NotFound(f"There is no warehouse {settings.warehouse}", "The config file names it.")
    return settings

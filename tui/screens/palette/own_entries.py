"""The entries of the palette for the console itself: keys, colours, jobs, quitting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from textual.app import App

from paimark.tui.dialogs.palette import PaletteEntry


def own_entries(app: App[Any], themes: Sequence[str]) -> list[PaletteEntry]:
    """`themes` are the names of all themes."""

    def offered(name: str, what: str, key: str, action: str) -> PaletteEntry:
        return PaletteEntry(name, what, key, partial(app.run_action, action))

    colours = [
        PaletteEntry(
            f"theme {each.removeprefix('paimark-')}", "colours", "", partial(setattr, app, "theme", each)
        )
        for each in themes
    ]
    return [
        offered("keys", "all keys", "?", "help"),
        offered("jobs", "what runs, and what has ended lately", "J", "jobs"),
        offered("columns", "go to, hide, move, sort", "c", "choose_columns"),
        *colours,
        offered("tour", "ten minutes with the demo, step by step", "", "tour"),
        offered("mouse", "on or off", "M", "mouse"),
        replace(offered("quit", "Paimark, also as :q and :exit", "ctrl+q", "quit"), aliases=("q", "exit")),
    ]

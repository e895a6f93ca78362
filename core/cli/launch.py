"""Opens the console. The console's package is not below the command's, so it is imported by name."""

from __future__ import annotations

import importlib
import os
import sys

from paimark.core.cli.places import require_place
from paimark.core.config import Settings
from paimark.core.demo.directory import MARKER, open_in
from paimark.core.errors import NotFound, UsageError
from paimark.core.storage.option_values import require_options


def open_console(settings: Settings) -> int:
    """Run the console until it is closed; return its exit code.

    Raises `UsageError` without a terminal, and for an option that can't be obeyed; `NotFound` if the
    warehouse or the place does not exist.
    """
    require_options(settings.options, settings.warehouse)
    if "://" not in settings.warehouse and not os.path.isdir(settings.warehouse):
        raise NotFound(
            f"There is no warehouse {settings.warehouse}",
            "Name a directory or a URI; `paimark --help` lists the commands.",
        )
    require_place(settings)
    if not has_terminal():
        raise UsageError(
            "The console needs a terminal",
            "For scripts there are commands: `paimark tables`, `paimark sql`, `paimark --help`.",
        )
    if os.path.exists(os.path.join(settings.warehouse, MARKER)):
        open_in(settings.warehouse)
    code: int = importlib.import_module("paimark.tui.app").run(settings)
    return code


def has_terminal() -> bool:
    """Whether the console can open. It draws on standard error, so that must be a terminal too."""
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))

"""Opens the console. It stands beside the command, not below it, so it is reached by name."""

from __future__ import annotations

import importlib
import os
import sys

from core.config import Settings
from core.errors import NotFound, UsageError
from core.storage.known_options import require_known


def open_console(settings: Settings) -> int:
    """Run the console until it is closed; its exit code.

    Raises `UsageError` without a terminal, and for an option that nobody obeys.
    """
    require_known(settings.options, settings.warehouse)
    if "://" not in settings.warehouse and not os.path.isdir(settings.warehouse):
        raise NotFound(
            f"There is no warehouse {settings.warehouse}",
            "Name a directory or a URI; `paimark --help` lists the commands.",
        )
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "The console needs a terminal",
            "For scripts there are commands: `paimark tables`, `paimark sql`, `paimark --help`.",
        )
    code: int = importlib.import_module("tui.app").run(settings)
    return code

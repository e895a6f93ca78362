"""Opens the console. The console's package is not below the command's, so it is imported by name."""

from __future__ import annotations

import importlib
import sys

from paimark.core.cli.places import require_place, require_warehouse
from paimark.core.config import Settings
from paimark.core.errors import UsageError
from paimark.core.storage.option_values import require_options


def open_console(settings: Settings) -> int:
    """Run the console until it is closed; return its exit code.

    Raises `UsageError` without a terminal, and for an option that can't be obeyed; `NotFound` if the
    warehouse or the place does not exist.
    """
    require_options(settings.options, settings.warehouse)
    require_warehouse(settings.warehouse)
    require_place(settings)
    draw_on_stdout()
    if not has_terminal():
        raise UsageError(
            "The console needs a terminal",
            "For scripts there are commands: `paimark tables`, `paimark sql`, `paimark --help`.",
        )
    code: int = importlib.import_module("paimark.tui.app").run(settings)
    return code


def draw_on_stdout() -> None:
    """If standard error goes elsewhere (`2>file`): draw on standard output. Errors still go to the file."""
    if sys.stdin.isatty() and sys.stdout.isatty() and not sys.stderr.isatty():
        sys.__stderr__ = sys.stdout  # type: ignore[misc,assignment]


def has_terminal() -> bool:
    """Whether the console can open."""
    return sys.stdin.isatty() and sys.stdout.isatty()

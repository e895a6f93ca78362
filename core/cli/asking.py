"""Before a change: check that changes are allowed, and ask the person to confirm."""

from __future__ import annotations

import sys

from paimark.core.config import Settings
from paimark.core.errors import READ_ONLY, Refused
from paimark.core.text import clean_text


def require_writable(settings: Settings) -> None:
    """Raises `Refused` in read-only mode."""
    if settings.read_only:
        raise Refused(*READ_ONLY)


def require_terminal() -> None:
    """Raises `Refused` if nobody can be asked."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Refused("This needs --yes, because there is no terminal", "Nothing was changed.")


def confirm(phrase: str) -> None:
    """Return when a person at a terminal types the phrase. Raises `Refused` otherwise."""
    require_terminal()
    print(clean_text(f"Type {phrase} to go on (in scripts: --yes): "), end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() != phrase:
        raise Refused(f"That was not {phrase}", "Nothing was changed.")

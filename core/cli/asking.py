"""Before a change: check that changes are allowed, and ask the person to confirm."""

from __future__ import annotations

import sys

from paimark.core.config import Settings
from paimark.core.errors import READ_ONLY, Refused


def require_writable(settings: Settings) -> None:
    """Raises `Refused` in read-only mode."""
    if settings.read_only:
        raise Refused(*READ_ONLY)


def require_terminal(what: str) -> None:
    """Raises `Refused` if nobody can be asked."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Refused(
            f"{what.rstrip('.')}: this needs --yes, because there is no terminal", "Nothing was changed."
        )


def confirm(what: str) -> None:
    """Return when a person at a terminal says yes. Raises `Refused` otherwise."""
    require_terminal(what)
    print(f"{what} Go on? Type yes: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refused("Not done: the answer was not yes", "Nothing was changed.")

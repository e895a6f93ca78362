"""Asks before what can't be taken back."""

from __future__ import annotations

import sys

from core.errors import Refused


def confirm(what: str) -> None:
    """Return when a person at a terminal says yes. Raises `Refused` otherwise."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Refused(
            f"{what.rstrip('.')}: that needs --yes where there is no terminal", "Nothing was changed."
        )
    print(f"{what} Go on? Type yes: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refused("Not done: the answer was not yes", "Nothing was changed.")

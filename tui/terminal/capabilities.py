"""The capabilities of the terminal."""

from __future__ import annotations

import os

# The Linux console, and screen (without tmux), may display the codes of links as text.
_WITHOUT_LINKS = ("linux", "dumb", "screen")


def can_erase() -> bool:
    """Whether it can erase a number of cells to the present background, according to terminfo."""
    try:
        import curses

        curses.setupterm()
        return curses.tigetflag("bce") == 1 and curses.tigetstr("ech") is not None
    # There is no terminfo, no entry for this TERM, or no terminal.
    except (ImportError, OSError, ValueError, curses.error):
        return False


def can_link() -> bool:
    """Whether it supports links (OSC 8), or at least ignores them. Terminfo has no entry for that."""
    return "TMUX" in os.environ or not os.environ.get("TERM", "dumb").startswith(_WITHOUT_LINKS)

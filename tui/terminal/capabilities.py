"""What the terminal can do."""

from __future__ import annotations

import os

# A console of Linux, and a screen that is not tmux, may show the codes of links.
_WITHOUT_LINKS = ("linux", "dumb", "screen")


def can_erase() -> bool:
    """Whether it erases a number of cells, to the background that is set, as terminfo has it."""
    try:
        import curses

        curses.setupterm()
        return curses.tigetflag("bce") == 1 and curses.tigetstr("ech") is not None
    # No terminfo, or none for this TERM, or no file to ask about.
    except (ImportError, OSError, ValueError, curses.error):
        return False


def can_link() -> bool:
    """Whether it takes links (OSC 8), or at least leaves them out. Terminfo does not know of them."""
    return "TMUX" in os.environ or not os.environ.get("TERM", "dumb").startswith(_WITHOUT_LINKS)

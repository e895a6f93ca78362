"""What the terminal can do, as terminfo has it."""

from __future__ import annotations


def can_erase() -> bool:
    """Whether it erases a number of cells, to the background that is set."""
    try:
        import curses

        curses.setupterm()
        return curses.tigetflag("bce") == 1 and curses.tigetstr("ech") is not None
    # No terminfo, or none for this TERM, or no file to ask about.
    except (ImportError, OSError, ValueError, curses.error):
        return False

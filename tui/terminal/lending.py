"""The terminal lent to another program, whose keys are its alone, or left to the shell for a while."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from tui.named_keys import suspend_key

# Gives the terminal away, and takes it back.
Suspended = Callable[[], AbstractContextManager[object]]


@contextmanager
def lent(suspended: Suspended) -> Iterator[None]:
    """ctrl+c ends the other program and not the console, ctrl+z stops neither.

    The terminal sends both to every process that uses it. A console that stands still could not tell others
    that the change it writes is alive.
    """
    error: Exception | None = None
    with suspended():
        # A function is not passed on to the other program, as being ignored is.
        before = {
            signal.SIGINT: signal.signal(signal.SIGINT, lambda number, frame: None),
            signal.SIGTSTP: signal.signal(signal.SIGTSTP, signal.SIG_IGN),
        }
        try:
            yield
        except Exception as raised:
            # Textual takes the terminal back only where nothing was raised: the console would be gone.
            error = raised
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    if error is not None:
        raise error


def how_it_ended(code: int) -> str:
    """The exit code of a program, in words."""
    return f"ended with {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"


def why_to_stay(*, is_changing: bool) -> str:
    """Why ctrl+z may not stop the console now; empty where it may."""
    if is_changing:
        # Others would take one that stands still for dead.
        return f"A change is being written: {suspend_key()} waits for its end"
    if os.getpgrp() == os.getsid(0):
        # As with `ssh -t host paimark`: no shell has put it into a group, and none could bring it back.
        return f"{suspend_key()} needs a shell that brings Paimark back, and there is none here"
    return ""


def leave_for_good() -> None:
    """The console has ended, and this process soon does: ctrl+z stops it as it does any other.

    Textual's answers to it need the application, and leaving may take a moment, as Spark ends.
    """
    for number in (signal.SIGTSTP, signal.SIGCONT):
        signal.signal(number, signal.SIG_DFL)

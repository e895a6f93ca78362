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
        stopping = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        try:
            with unmoved_by_ctrl_c():
                yield
        except Exception as raised:
            # Textual takes the terminal back only where nothing was raised: the console would be gone.
            error = raised
        finally:
            signal.signal(signal.SIGTSTP, stopping)
    if error is not None:
        raise error


@contextmanager
def unmoved_by_ctrl_c() -> Iterator[None]:
    """While the terminal is not the console's, as before the shell has it after ctrl+z.

    There ctrl+c is a signal, which would end the console as soon as it is brought back.
    """
    # A function is not passed on to another program, as being ignored is.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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

"""Lend the terminal to another program, which alone gets the keys, or leave it to the shell for a while."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from paimark.tui.named_keys import suspend_key

# Releases the terminal, and takes it back.
Suspended = Callable[[], AbstractContextManager[object]]


@contextmanager
def lent(suspended: Suspended) -> Iterator[None]:
    """While it lasts, ctrl+c ends the other program and not the console, and ctrl+z stops neither.

    The terminal sends both signals to every process that uses it. A stopped console could not write the
    heartbeat of a change.
    """
    error: Exception | None = None
    with suspended():
        stopping = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        try:
            with unmoved_by_ctrl_c():
                yield
        except Exception as raised:
            # Textual takes the terminal back only if nothing is raised; so raise it afterwards.
            error = raised
        finally:
            signal.signal(signal.SIGTSTP, stopping)
    if error is not None:
        raise error


@contextmanager
def unmoved_by_ctrl_c() -> Iterator[None]:
    """Ignore ctrl+c while the console does not have the terminal, for example before ctrl+z stops it.

    ctrl+c is a signal then, and would end the console as soon as it continues.
    """
    # A function, not SIG_IGN: another program would inherit SIG_IGN.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def how_it_ended(code: int) -> str:
    """The exit code of a program, in words."""
    return f"ended with {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"


def why_to_stay(*, is_changing: bool) -> str:
    """The reason why ctrl+z may not stop the console now; empty if it may."""
    if is_changing:
        # Other machines would take a stopped process for dead.
        return f"A change is being written: {suspend_key()} waits for its end"
    if os.getpgrp() == os.getsid(0):
        # As with `ssh -t host paimark`: no shell with job control runs it, so none could continue it.
        return f"{suspend_key()} needs a shell that brings Paimark back, and there is none here"
    return ""


def leave_for_good() -> None:
    """Restore the default handling of ctrl+z, after the console has ended and before the process does.

    Textual's handlers need the application, and the end of Spark may take a moment.
    """
    for number in (signal.SIGTSTP, signal.SIGCONT):
        signal.signal(number, signal.SIG_DFL)

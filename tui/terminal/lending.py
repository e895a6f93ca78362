"""The terminal lent to another program: its keys are that program's alone."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

# Gives the terminal away, and takes it back.
Suspended = Callable[[], AbstractContextManager[object]]


@contextmanager
def lent(suspended: Suspended) -> Iterator[None]:
    """ctrl+c ends the other program and not the console, ctrl+z stops neither.

    The terminal sends both to every process that uses it. A console that stands still could not tell others
    that the change it writes is alive.
    """
    with suspended():
        # A function is not passed on to the other program, as being ignored is.
        before = {
            signal.SIGINT: signal.signal(signal.SIGINT, lambda number, frame: None),
            signal.SIGTSTP: signal.signal(signal.SIGTSTP, signal.SIG_IGN),
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

"""Idle work in the thread that runs statements: one step at a time, until a statement comes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from paimark.core.cancelling import Cancellation, cancellable

Clock = Callable[[], float]
Step = Callable[[], None]

# The time of all steps, once after the start; those that are left then are skipped.
MOST_SECONDS = 10.0
# No step starts so soon after a statement: another one may follow, or the engine may be closed.
QUIET_SECONDS = 1.0
# The pause after the start: by then a caller that waited for it has sent its statement, or closed the engine.
SETTLED_SECONDS = 0.2


class IdleWork:
    """Does steps, each once and in order. `due`, `work` and `quiet` are for the thread of statements."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._steps: Iterator[Step] | None = None
        self._interrupt_step: Step = lambda: None
        self._not_before = 0.0
        self._left = MOST_SECONDS
        self._current: Cancellation | None = None
        self._is_over = False

    def begin(self, steps: Iterator[Step], interrupt: Step) -> None:
        """Set the steps. `interrupt` ends the running step and returns at once; any thread may call it."""
        self._steps, self._interrupt_step = steps, interrupt
        self._not_before = self._clock() + SETTLED_SECONDS

    def due(self) -> float | None:
        """The seconds until there is work to do; None if there is none."""
        if self._is_over or self._steps is None:
            return None
        return max(self._not_before - self._clock(), 0.0)

    def work(self, is_free: Callable[[], bool]) -> None:
        """Do one step, unless a statement has come."""
        self._current = cancellation = Cancellation()
        try:
            # A statement that comes after this check interrupts the work.
            if not self._is_over and self._steps is not None and is_free():
                self._step(self._steps, cancellation)
        finally:
            self._current = None

    def quiet(self) -> None:
        """Pause after the end of a statement, because another one may follow."""
        self._not_before = max(self._not_before, self._clock() + QUIET_SECONDS)

    def interrupt(self) -> None:
        """Interrupt the running step, if there is one. For any thread."""
        current = self._current
        if current is not None:
            current.cancel()
            self._interrupt_step()

    def stop(self) -> None:
        """Interrupt the work, and do no more. For any thread."""
        self._is_over = True
        self.interrupt()

    def _step(self, steps: Iterator[Step], cancellation: Cancellation) -> None:
        step = next(steps, None) if self._left > 0 else None
        if step is None:
            self._steps, self._interrupt_step = None, lambda: None
            return
        began = self._clock()
        over = threading.Timer(self._left, self.interrupt)
        over.daemon = True
        over.start()
        try:
            # Errors are ignored: the first statement has them again, and reports them.
            with cancellable(cancellation), suppress(Exception):
                step()
        finally:
            over.cancel()
        self._left -= self._clock() - began

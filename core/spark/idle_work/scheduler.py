"""What the thread of statements does while there is none: a piece of work at a time, until one comes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from core.cancelling import Cancellation, cancellable
from core.spark.idle_work.bounds import (
    MOST_SECONDS,
    MOST_WARM_UP_SECONDS,
    QUIET_SECONDS,
    RESTS,
    SETTLED_SECONDS,
)
from core.spark.protocol import Prefetch

Clock = Callable[[], float]
Step = Callable[[], None]


class IdleWork:
    """`due`, `work` and `quiet` are for the thread of statements; the rest for any.

    First come the steps of the warm-up, each once and in order; then `prefetch` what is wanted: only the
    newest order counts.
    """

    def __init__(self, prefetch: Callable[[Prefetch], None], clock: Clock = time.monotonic) -> None:
        self._prefetch = prefetch
        self._clock = clock
        self._steps: Iterator[Step] | None = None
        self._interrupt_step: Step = lambda: None
        self._wanted: Prefetch | None = None
        self._not_before = 0.0
        self._left = MOST_WARM_UP_SECONDS
        self._current: Cancellation | None = None
        self._is_over = False

    def warm_up(self, steps: Iterator[Step], interrupt: Step) -> None:
        """`interrupt` ends the step that is done, from any thread, and returns at once."""
        self._steps, self._interrupt_step = steps, interrupt
        self._not_before = self._clock() + SETTLED_SECONDS

    def want(self, wanted: Prefetch) -> None:
        self._wanted = wanted

    def due(self) -> float | None:
        """In how many seconds there is something to do; None for nothing."""
        if self._is_over or (self._steps is None and self._wanted is None):
            return None
        return max(self._not_before - self._clock(), 0.0)

    def work(self, is_free: Callable[[], bool]) -> Prefetch | None:
        """Do a piece, unless a statement has come. Gives what was wanted, once that is over."""
        self._current = cancellation = Cancellation()
        try:
            # A statement that comes after this look interrupts.
            if self._is_over or not is_free():
                return None
            if self._steps is not None:
                self._step(self._steps, cancellation)
                return None
            wanted, self._wanted = self._wanted, None
            if wanted is not None:
                self._fetch(wanted, cancellation)
            return wanted
        finally:
            self._current = None

    def quiet(self) -> None:
        """A statement has ended, and another may follow."""
        self._not_before = max(self._not_before, self._clock() + QUIET_SECONDS)

    def interrupt(self) -> None:
        """Give up the piece that is worked on, if there is one."""
        current = self._current
        if current is not None:
            current.cancel()
            self._interrupt_step()

    def stop(self) -> None:
        """Nothing is done any more."""
        self._is_over = True
        self.interrupt()

    def _step(self, steps: Iterator[Step], cancellation: Cancellation) -> None:
        step = next(steps, None) if self._left > 0 else None
        if step is None:
            self._steps, self._interrupt_step = None, lambda: None
        else:
            # What fails here fails again for the first statement, which can tell somebody.
            self._left -= self._bounded(step, self._left, cancellation)

    def _fetch(self, wanted: Prefetch, cancellation: Cancellation) -> None:
        # Whatever is wrong with the table, whoever asks for its rows is told.
        took = self._bounded(partial(self._prefetch, wanted), MOST_SECONDS, cancellation)
        self._not_before = self._clock() + RESTS * took

    def _bounded(self, work: Step, seconds: float, cancellation: Cancellation) -> float:
        """Do it, for so many seconds at most; how many it took."""
        began = self._clock()
        over = threading.Timer(seconds, self.interrupt)
        over.daemon = True
        over.start()
        try:
            with cancellable(cancellation), suppress(Exception):
                work()
        finally:
            over.cancel()
        return self._clock() - began

"""Idle work in the thread that runs statements: one piece at a time, until a statement comes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from paimark.core.cancelling import Cancellation, cancellable
from paimark.core.spark.protocol import Prefetch

Clock = Callable[[], float]
Step = Callable[[], None]


class IdleWork:
    """`due`, `work` and `quiet` are for the thread of statements; the rest is for any thread.

    The steps of the warm-up come first, each once and in order; then the prefetch of the newest order.
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
        """Set the steps. `interrupt` ends the running step and returns at once; any thread may call it."""
        self._steps, self._interrupt_step = steps, interrupt
        self._not_before = self._clock() + SETTLED_SECONDS

    def want(self, wanted: Prefetch) -> None:
        self._wanted = wanted

    def due(self) -> float | None:
        """The seconds until there is work to do; None if there is none."""
        if self._is_over or (self._steps is None and self._wanted is None):
            return None
        return max(self._not_before - self._clock(), 0.0)

    def work(self, is_free: Callable[[], bool]) -> Prefetch | None:
        """Do one piece of work, unless a statement has come. Returns the order of a prefetch that is over."""
        self._current = cancellation = Cancellation()
        try:
            # A statement that comes after this check interrupts the work.
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
        """Pause after the end of a statement, because another one may follow."""
        self._not_before = max(self._not_before, self._clock() + QUIET_SECONDS)

    def interrupt(self) -> None:
        """Interrupt the running piece of work, if there is one."""
        current = self._current
        if current is not None:
            current.cancel()
            self._interrupt_step()

    def stop(self) -> None:
        """Interrupt the work, and do no more."""
        self._is_over = True
        self.interrupt()

    def _step(self, steps: Iterator[Step], cancellation: Cancellation) -> None:
        step = next(steps, None) if self._left > 0 else None
        if step is None:
            self._steps, self._interrupt_step = None, lambda: None
        else:
            # Errors are ignored: the first statement has them again, and reports them.
            self._left -= self._bounded(step, self._left, cancellation)

    def _fetch(self, wanted: Prefetch, cancellation: Cancellation) -> None:
        # Errors are ignored: a statement that reads the table reports them.
        took = self._bounded(partial(self._prefetch, wanted), MOST_SECONDS, cancellation)
        self._not_before = self._clock() + RESTS * took

    def _bounded(self, work: Step, seconds: float, cancellation: Cancellation) -> float:
        """Do the work for at most so many seconds; return how many it took."""
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


# The time of the warm-up, once after the start; statements that are left then are skipped.
MOST_WARM_UP_SECONDS = 10.0
# A prefetch is cancelled after this time.
MOST_SECONDS = 2.0
# A prefetch is followed by a pause of so many times its duration, so prefetches take a tenth of the time.
RESTS = 9
# No idle work starts so soon after a statement: another one may follow, or the engine may be closed.
QUIET_SECONDS = 1.0
# The most bytes of a table's manifests: on local disks, and in remote stores, where reading is slow or costs.
MOST_MANIFEST_BYTES = 16 << 20
MOST_MANIFEST_BYTES_ELSEWHERE = 4 << 20
# The most bytes in memory of keys that are read to find the rows that survive.
MOST_KEY_BYTES = 128 << 20
# So many files can be sent to Java in an instant.
MOST_FILES = 5_000
# The pause after the start: by then a caller that waited for it has sent its statement, or closed the engine.
SETTLED_SECONDS = 0.2

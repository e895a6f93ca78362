"""Reports every few seconds how far a long piece of work is, and how long it may still take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from paimark.core.actions.context import Counting
from paimark.core.cancelling import check_cancelled
from paimark.core.figures import whole_seconds

T = TypeVar("T")

_EVERY_SECONDS = 2.0


class Estimate:
    """Calls `progress` with `read 12 of 400 manifests, 30 s left`: `did` is `read`, `what` is `manifests`.

    It reports nothing for work that ends soon.
    """

    def __init__(self, total: int, what: str, progress: Callable[[str], None], did: str = "read") -> None:
        self._total = total
        self._what = what
        self._did = did
        self._progress = progress
        self._started = self._told_at = time.monotonic()

    def tell(self, done: int) -> None:
        """Report that `done` items are done. Raises `Cancelled` when the work is cancelled."""
        check_cancelled()
        now = time.monotonic()
        if now - self._told_at < _EVERY_SECONDS:
            return
        self._told_at = now
        left = f", {whole_seconds((now - self._started) / done * (self._total - done))} left" if done else ""
        self._progress(Counting(f"{self._did} {done:,} of {self._total:,} {self._what}{left}"))


def with_progress(items: Iterable[T], total: int, what: str, progress: Callable[[str], None]) -> Iterator[T]:
    """Yield the items, and report them to `progress` by an `Estimate`.

    To stop the work, `progress` raises, or the work is cancelled.
    """
    estimate = Estimate(total, what, progress)
    for done, item in enumerate(items):
        estimate.tell(done)
        yield item

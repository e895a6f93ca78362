"""How far a long count is, and how long it may take still: told every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from core.actions.context import Counting

T = TypeVar("T")

_EVERY_SECONDS = 2.0


def told(
    items: Iterable[T],
    total: int,
    what: str,
    progress: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[T]:
    """The items; meanwhile `progress` hears `read 12 of 400 manifests, 30 s left` (`what` is `manifests`).

    It hears nothing of what is done soon. Whoever wants to stop the count raises from it.
    """
    started = told_at = clock()
    for done, item in enumerate(items):
        now = clock()
        if now - told_at >= _EVERY_SECONDS:
            told_at = now
            left = (now - started) / done * (total - done) if done else 0
            progress(Counting(f"read {done:,} of {total:,} {what}{f', {left:.0f} s left' if done else ''}"))
        yield item

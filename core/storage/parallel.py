"""The same call for many things, many in flight: what a slow store makes of one after the other is hours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

# A pool is worth starting for more than a handful.
_FEW = 4
_IN_FLIGHT = 32


def each_of(call: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """The results in the order of the items. The first error is raised when its turn comes."""
    if len(items) < _FEW:
        yield from map(call, items)
        return
    with ThreadPoolExecutor(min(_IN_FLIGHT, len(items))) as pool:
        try:
            yield from pool.map(call, items)
        finally:
            # What is asked for and not begun is not wanted any more, after an error or an interrupt.
            pool.shutdown(wait=True, cancel_futures=True)

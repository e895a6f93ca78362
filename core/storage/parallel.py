"""Make the same call for many items in parallel: one after the other takes hours on a slow store; or begin
one call before its result is needed."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

IN_FLIGHT = 32
# A thread pool is worth starting for more than a few.
_FEW = 4
# Threads wait here for the next calls: to start one costs more than most calls on a local disk.
_idle: list[ThreadPoolExecutor] = []
# A child has none of its parent's threads.
os.register_at_fork(after_in_child=_idle.clear)


@contextmanager
def pooled() -> Iterator[ThreadPoolExecutor]:
    """A pool of threads for oneself. Whoever uses it waits for its own calls."""
    try:
        pool = _idle.pop()
    except IndexError:
        pool = ThreadPoolExecutor(IN_FLIGHT)
    try:
        yield pool
    finally:
        _idle.append(pool)


def each_of(call: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """The results in the order of the items; it holds no more of them than are in flight.

    The first error is raised at its item's turn.
    """
    left = iter(items)
    first = list(islice(left, _FEW))
    if len(first) < _FEW:
        yield from map(call, first)
        return
    ahead: deque[Future[R]] = deque()
    with pooled() as pool:
        try:
            ahead.extend(pool.submit(call, item) for item in first)
            ahead.extend(pool.submit(call, item) for item in islice(left, IN_FLIGHT - len(first)))
            while ahead:
                yield ahead.popleft().result()
                ahead.extend(pool.submit(call, item) for item in islice(left, 1))
        finally:
            # After an error or an interrupt, calls that have not begun are cancelled.
            for unfinished in ahead:
                unfinished.cancel()
            wait(ahead)


def begun(call: Callable[[], R]) -> Callable[[], R]:
    """Begin a call in a thread that an exit does not wait for; the returned function waits for its result."""
    future: Future[R] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="paimark-ahead", daemon=True).start()
    return future.result

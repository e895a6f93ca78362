"""Cancel work: long loops check between two steps, and nobody waits for a call that is stuck.

The caller starts such work with `cancellable`; functions below it, also in threads, call `check_cancelled`.
Elsewhere (Spark's workers, commands) that costs next to nothing and never raises. Work that reaches its
point of no return calls `pass_no_return`: a cancel then comes too late.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

from paimark.core.errors import Cancelled

_POLL_SECONDS = 0.05

T = TypeVar("T")
R = TypeVar("R")


class Cancellation:
    """The cancellation of one piece of work: call `cancel` from any thread."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._is_closed = self._comes_later = False

    def cancel(self) -> None:
        """Stop it; if it is past its point of no return, stop the pieces after it."""
        with self._lock:
            if self._is_closed:
                self._comes_later = True
            else:
                self._event.set()

    def close(self) -> None:
        """From here on nothing can be cancelled. Raises `Cancelled` if it was cancelled before."""
        with self._lock:
            if self._event.is_set():
                raise _cancelled()
            self._is_closed = True

    def reopen(self) -> None:
        """Another piece of the work begins, with a point of no return of its own. Raises `Cancelled`."""
        with self._lock:
            self._is_closed = False
            if self._comes_later or self._event.is_set():
                self._event.set()
                raise _cancelled()

    @property
    def was_requested(self) -> bool:
        """Whether somebody cancelled it, even if that only stops the pieces after this one."""
        return self._comes_later or self._event.is_set()

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def is_cancelled(self) -> bool:
        return self._event.is_set()


_current: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)


@contextmanager
def cancellable(cancellation: Cancellation) -> Iterator[None]:
    """Inside, `check_cancelled` raises once `cancellation` is cancelled."""
    before = _current.set(cancellation)
    try:
        yield
    finally:
        _current.reset(before)


def check_cancelled() -> None:
    """Raises `Cancelled` if this thread's work was cancelled."""
    cancellation = _current.get()
    if cancellation is not None and cancellation.is_cancelled:
        raise _cancelled()


def pass_no_return() -> None:
    """The point of no return of this thread's work. Raises `Cancelled` if it was cancelled before."""
    cancellation = _current.get()
    if cancellation is not None:
        cancellation.close()


def begin_again() -> None:
    """The next piece of this thread's work begins. Raises `Cancelled` if it was cancelled meanwhile."""
    cancellation = _current.get()
    if cancellation is not None:
        cancellation.reopen()


def to_the_end() -> AbstractContextManager[None]:
    """Inside, a cancel has no effect: it is for taking back the work that was cancelled."""
    return cancellable(Cancellation())


def _cancelled() -> Cancelled:
    return Cancelled("The statement was cancelled")


def map_cancellable(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Call `function` for each item, in as many threads as there are processors.

    Raises `Cancelled` at once, and any error of a call. Calls that are under way then run on to their next
    check, and nobody waits for them: they must not touch anything that others use.
    """
    if _current.get() is None and len(items) < 2:
        return [function(item) for item in items]
    pool = ThreadPoolExecutor(min(max(len(items), 1), os.cpu_count() or 1), thread_name_prefix="cancellable")
    try:
        calls = [pool.submit(copy_context().run, function, item) for item in items]
        left = set(calls)
        while left:
            done, left = wait(left, _POLL_SECONDS, FIRST_EXCEPTION)
            for call in done:
                call.result()
            check_cancelled()
        return [call.result() for call in calls]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)

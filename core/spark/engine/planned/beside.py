"""Run a function in another thread while this one waits for Java."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


class Beside:
    """One permanent thread: Java starts a thread of its own for each Python thread that calls it."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="beside")

    def run(self, function: Callable[[], T], meanwhile: Callable[[], None]) -> T:
        """Run both, and wait for both. Raises the error of `function`, else that of `meanwhile`."""
        call = self._thread.submit(copy_context().run, function)
        try:
            meanwhile()
        finally:
            made = call.result()
        return made

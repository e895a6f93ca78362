"""What is done in a thread of its own while this one waits for Java."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


class Beside:
    """One thread, which stays: Java has one of its own for each thread of ours that calls it."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="beside")

    def run(self, function: Callable[[], T], meanwhile: Callable[[], None]) -> T:
        """Both are over when it returns. Raises what `function` does, else what `meanwhile` does."""
        call = self._thread.submit(copy_context().run, function)
        try:
            meanwhile()
        finally:
            made = call.result()
        return made

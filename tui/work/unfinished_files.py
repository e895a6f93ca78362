"""The files that exports are writing.

At its end the console waits for their threads, and says what became of them.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from paimark.core.cancelling import Cancellation, cancellable

# How long the console's end waits for a thread to remove its temporary file, in seconds: a disk may be slow.
_PATIENCE = 5.0
_STEP = 0.02


class UnfinishedFiles:
    """Threads add and remove files; the console's end reads them."""

    def __init__(self) -> None:
        self._paths: list[Path] = []
        self._stopping = Cancellation()

    @property
    def paths(self) -> Sequence[Path]:
        return tuple(self._paths)

    @contextmanager
    def writing(self, path: Path) -> Iterator[None]:
        """While it lasts the calling thread writes the file, or removes what it wrote."""
        self._paths.append(path)
        try:
            with cancellable(self._stopping):
                yield
        finally:
            self._paths.remove(path)

    def stop(self, hurried: threading.Event) -> None:
        """Stop the threads, and wait for them; for some seconds at most, and not once `hurried` is set."""
        self._stopping.cancel()
        end = time.monotonic() + _PATIENCE
        while self._paths and time.monotonic() < end and not hurried.wait(_STEP):
            pass


def ends_of(paths: Sequence[Path]) -> list[str]:
    """A sentence for each export that was stopped before its file was complete."""
    stopped = [path for path in paths if not os.path.lexists(path)]
    return [f"The export to {path} was stopped: no file was written" for path in stopped]

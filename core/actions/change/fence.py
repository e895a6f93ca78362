"""The fence of a process that may have stood still, as when a computer slept.

Meanwhile it may have been taken for dead, and others have gone on with what it began: it writes nothing more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from paimark.core.actions.context import Context
from paimark.core.storage.files import Fenced

# Linux's clock that goes on while a computer sleeps.
_HAS_BOOT_TIME = hasattr(time, "CLOCK_BOOTTIME")


class Fence:
    """Writes through `context` call `require` first, if the last look is longer ago than a heartbeat.

    `require` looks whether this process still has what it began, raises if not, and calls `looked`.
    """

    def __init__(self, context: Context, require: Callable[[], None]) -> None:
        self._require, self._longest = require, context.beat_every
        self._looked, self._one_looks = clocks(), threading.Lock()
        self.context = replace(context, files=Fenced(context.files, self._require_again))

    def looked(self) -> None:
        """Note that somebody has looked just now."""
        self._looked = clocks()

    def _require_again(self) -> None:
        with self._one_looks:
            if seconds_since(self._looked) > self._longest:
                self._require()


def seconds_since(then: tuple[float, ...]) -> float:
    """The seconds that have passed since `clocks`, also while the computer slept."""
    return max(now - before for now, before in zip(clocks(), then, strict=True))


def clocks() -> tuple[float, ...]:
    """Seconds by every clock: each of them may stand still while the process does, or be set back."""
    return (
        time.monotonic(),
        time.time(),
        *((time.clock_gettime(time.CLOCK_BOOTTIME),) if _HAS_BOOT_TIME else ()),
    )

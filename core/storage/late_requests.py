"""Requests that a store carries out after their client gave up or died.

An object store may carry out a write whose answer was lost: then a commit lands although the change was taken
back, or a deleted file reappears. No client can prevent that, but the store accepts no request that is older
than `seconds`. So what was interrupted on such a store stays untouched for that time. The store's own clock
measures it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from paimark.core.cancelling import check_cancelled
from paimark.core.errors import PaimarkError
from paimark.core.figures import duration
from paimark.core.storage.files import Files, Unanswered, written_at

# S3-like stores accept a request whose time differs by up to 15 minutes from theirs. One minute more is the
# longest time between a process's last sign of life and its last request. Google documents no such limit.
_LATE_SECONDS = 16 * 60.0
# HDFS needs no wait: a file that is renamed too late has been deleted before.
_NEVER_LATE = ("file:", "hdfs:", "memory:")
_LOOK_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class LateRequests:
    """`seconds`: how long after a client's death its requests may still come; 0 on a store with none."""

    seconds: float = 0.0

    @property
    def may_come(self) -> bool:
        return self.seconds > 0

    @property
    def longest(self) -> str:
        """The longest wait, for a person."""
        return duration(self._most_ms)

    @property
    def _most_ms(self) -> int:
        return round(self.seconds * 1000)

    def may_follow(self, error: BaseException) -> bool:
        """Whether the store may still carry out the request that failed."""
        return self.may_come and isinstance(error, Unanswered)

    def of_dead_client(self, error: PaimarkError) -> PaimarkError:
        """The error of a client that was killed. It is `Unanswered` if its last request may still come."""
        return Unanswered(error.message, error.hint) if self.may_come else error

    def left_ms(self, files: Files, signs: Collection[str], now: int) -> int:
        """How long the requests may still come of who wrote the `signs`, by this machine's clock (epoch ms),
        which may differ from the store's. Not positive when none can.
        """
        if not self.may_come:
            return 0
        last = max(written_at(files, signs).values(), default=0)
        return min(self._most_ms, self._most_ms - (now - last)) if last else self._most_ms

    def wait(self, files: Files, now: str, signs: Collection[str], tell: Callable[[int], None]) -> None:
        """Wait until a file that is written now is late enough after the last of the `signs`.

        `tell` gets the milliseconds that are left, each second. Raises `Cancelled`.
        """
        written = written_at(files, [now, *signs])
        last = max((written.get(path, 0) for path in signs if path != now), default=0)
        passed = written.get(now, 0) - last if last else 0
        until = time.monotonic() + min(self._most_ms, self._most_ms - passed) / 1000
        while (left := until - time.monotonic()) > 0:
            check_cancelled()
            tell(1000 * max(round(left), 1))
            time.sleep(min(left, _LOOK_EVERY))


def late_requests(uri: str) -> LateRequests:
    """Those of the store at an address."""
    return LateRequests(_LATE_SECONDS if "://" in uri and not uri.startswith(_NEVER_LATE) else 0.0)


NONE_LATE = LateRequests()

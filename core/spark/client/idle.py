"""A timer that ends an idle engine, to free its memory."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping

from paimark.core.durations import parse_duration
from paimark.core.errors import UsageError
from paimark.core.spark.launch.session_settings import DEFAULTS, IDLE_TIMEOUT

_NEVER = "0"


def idle_seconds(conf: Mapping[str, str]) -> float | None:
    """The idle time in the Spark settings, in seconds; None for never. Raises `UsageError`."""
    text = conf.get(IDLE_TIMEOUT, DEFAULTS[IDLE_TIMEOUT]).strip()
    if text == _NEVER:
        return None
    try:
        return parse_duration(text) / 1000 or None
    except UsageError as error:
        raise UsageError(
            f"{IDLE_TIMEOUT} is {text!r}, which is not a length of time", "Write 30 min, or 0."
        ) from error


class Idle:
    """Calls `act`, in another thread, when `used` has not been called for `seconds`; None: never."""

    def __init__(self, seconds: float | None, act: Callable[[], None]) -> None:
        self._seconds = seconds
        self._act = act
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def used(self) -> None:
        """Restart the timer."""
        with self._lock:
            self._cancel()
            # When Python ends, it closes the generator of an unfinished statement. A thread that is started
            # then never runs, and the process waits for it for ever.
            if self._seconds is not None and not sys.is_finalizing():
                self._timer = threading.Timer(self._seconds, self._act)
                self._timer.name, self._timer.daemon = "engine idle", True
                self._timer.start()

    def stop(self) -> None:
        """Stop the timer until the next use."""
        with self._lock:
            self._cancel()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

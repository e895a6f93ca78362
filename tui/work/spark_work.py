"""Work in a thread that may need Spark. It tells its present step, and can be cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from paimark.core.errors import Cancelled
from paimark.core.figures import whole_seconds
from paimark.tui.named_keys import cancel_key
from paimark.tui.theme import Line
from paimark.tui.work.engine_room import EngineRoom

if TYPE_CHECKING:
    from paimark.core.spark.client.client import Engine


# In seconds. Work that has not stopped by then may not stop at all.
PATIENCE = 5.0


class SparkCaller:
    """The work of one thread that calls Spark, and the cancellation of it. Spark is never ended unasked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        # The thread's id: Spark may already run another one's statement when this is cancelled.
        self.thread: int | None = None
        self._clock = clock
        # Where the cancellation was asked for, and since when; None before.
        self._asked: EngineRoom | None = None
        self._since = 0.0
        self._ends_spark = False

    @property
    def is_cancelling(self) -> bool:
        return self._asked is not None

    def press_cancel(self, room: EngineRoom) -> None:
        """Begin a cancellation; once `cancel_line` offers that, end Spark by force."""
        if self._asked is None:
            self._asked, self._since = room, self._clock()
            room.cancel(self.thread)
        elif self._is_slow and not self._ends_spark:
            self._ends_spark = True
            room.kill(self.thread)

    def cancel_again(self) -> None:
        """Repeat the request, for a statement that was sent to Spark after the first one."""
        if self._asked is not None:
            self._asked.cancel(self.thread)

    @property
    def _is_slow(self) -> bool:
        return self._clock() - self._since >= PATIENCE

    @property
    def cancel_line(self) -> Line:
        """The time since the cancellation, and after a while the offer to use force."""
        took = (whole_seconds(self._clock() - self._since), "quiet")
        if self._ends_spark:
            return [("ending Spark  ", "warn"), took]
        if not self._is_slow:
            return [("cancelling  ", "warn"), took]
        force = f"  it does not stop: {cancel_key()} again ends Spark, and its temporary views with it"
        return [("cancelling  ", "warn"), took, (force, "")]


class SparkWork(SparkCaller):
    """The work begins with the constructor."""

    def __init__(self, room: EngineRoom) -> None:
        super().__init__()
        self._room = room
        self._began = time.monotonic()
        self.uses_spark = self._is_cancelled = False

    @property
    def is_starting(self) -> bool:
        """Whether it is waiting for Spark to start."""
        return self.uses_spark and self._room.state == "starting"

    @property
    def elapsed(self) -> str:
        return whole_seconds(time.monotonic() - self._began)

    @property
    def line(self) -> Line:
        """The present step, and its elapsed time."""
        if self.is_cancelling:
            return self.cancel_line
        if self._is_cancelled:
            return [(f"cancelling, {self.elapsed}", "warn")]
        if not self.uses_spark:
            return [(f"at work, {self.elapsed}", "quiet")]
        if self.is_starting:
            return [(f"Spark is starting, {self.elapsed}", "warn")]
        return [(f"Spark is at work, {self.elapsed}", "accent")]

    @property
    def offer(self) -> Line:
        """The key that cancels it; empty when it is being cancelled: `line` says when to press it again."""
        return [] if self._is_cancelled else [(f"{cancel_key()} cancels", "quiet")]

    def engine(self) -> Engine:
        """The engine, for work that needs it. Called in its thread. Raises `Cancelled`."""
        if self._is_cancelled:
            raise Cancelled("It was cancelled before it was sent to Spark")
        self.uses_spark, self.thread = True, threading.get_ident()
        return self._room.engine

    def cancel(self) -> None:
        """Send Spark nothing more, and stop its work for this; if that is slow, a second call uses force."""
        self._is_cancelled = True
        if self.is_cancelling or self.uses_spark:
            self.press_cancel(self._room)

    def leave(self) -> None:
        """Send Spark nothing more: it is ended with the console."""
        self._is_cancelled = True

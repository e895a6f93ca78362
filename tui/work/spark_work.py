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


class Cancelling:
    """A cancellation that has begun: the constructor sends the request."""

    def __init__(
        self, room: EngineRoom, of: int | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`of` is the id of the thread whose work to cancel; None for that of any thread."""
        self._room = room
        self._of = of
        self._clock = clock
        self._since = clock()
        self._ends_spark = False
        room.cancel(of)

    def repeat(self) -> None:
        """Send the request again; no second press."""
        self._room.cancel(self._of)

    @property
    def _is_slow(self) -> bool:
        return self._clock() - self._since >= PATIENCE

    def press(self) -> None:
        """Cancel again: end Spark by force, if `line` already offered that."""
        if self._is_slow and not self._ends_spark:
            self._ends_spark = True
            self._room.kill(self._of)

    @property
    def line(self) -> Line:
        """The elapsed time, and after a while the offer to use force. Spark is never ended unasked."""
        took = whole_seconds(self._clock() - self._since)
        if self._ends_spark:
            return [("ending Spark  ", "warn"), (took, "quiet")]
        if not self._is_slow:
            return [("cancelling  ", "warn"), (took, "quiet")]
        return [
            ("cancelling  ", "warn"),
            (took, "quiet"),
            (
                f"  it does not stop: {cancel_key()} again ends Spark, and its temporary views with it",
                "",
            ),
        ]


class SparkCaller:
    """The work of one thread that calls Spark, and the cancellation of it."""

    def __init__(self) -> None:
        # The thread's id: Spark may already run another one's statement when this is cancelled.
        self.thread: int | None = None
        self.cancelling: Cancelling | None = None

    def press_cancel(self, room: EngineRoom) -> None:
        """Begin a cancellation, or press again."""
        if self.cancelling is None:
            self.cancelling = Cancelling(room, self.thread)
        else:
            self.cancelling.press()

    def cancel_again(self) -> None:
        """Repeat the request, for a statement that was sent to Spark after the first one."""
        if self.cancelling is not None:
            self.cancelling.repeat()


class SparkWork(SparkCaller):
    """The work begins with the constructor."""

    def __init__(self, room: EngineRoom) -> None:
        super().__init__()
        self._room = room
        self._began = time.monotonic()
        self._uses_spark = self._is_cancelled = False

    @property
    def uses_spark(self) -> bool:
        return self._uses_spark

    @property
    def is_starting(self) -> bool:
        """Whether it is waiting for Spark to start."""
        return self._uses_spark and self._room.state == "starting"

    @property
    def elapsed(self) -> str:
        return whole_seconds(time.monotonic() - self._began)

    @property
    def line(self) -> Line:
        """The present step, and its elapsed time."""
        if self.cancelling is not None:
            return self.cancelling.line
        if self._is_cancelled:
            return [(f"cancelling, {self.elapsed}", "warn")]
        if not self._uses_spark:
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
        self._uses_spark, self.thread = True, threading.get_ident()
        return self._room.engine

    def cancel(self) -> None:
        """Send Spark nothing more, and stop its work for this; if that is slow, a second call uses force."""
        self._is_cancelled = True
        if self.cancelling is not None or self._uses_spark:
            self.press_cancel(self._room)

    def leave(self) -> None:
        """Send Spark nothing more: it is ended with the console."""
        self._is_cancelled = True

"""Cancel Spark's work: first by a request, then by force if that takes long and a person cancels again."""

from __future__ import annotations

import time
from collections.abc import Callable

from paimark.core.figures import whole_seconds
from paimark.tui.named_keys import cancel_key
from paimark.tui.theme import Line
from paimark.tui.work.engine_room import EngineRoom

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

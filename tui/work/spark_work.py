"""Work in a thread that may need Spark: what it waits for is said, and it can be cancelled."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from core.errors import Cancelled
from core.figures import whole_seconds
from tui.theme import Line
from tui.work.cancelling import Cancelling, pressed
from tui.work.engine_room import EngineRoom

if TYPE_CHECKING:
    from core.spark.client.client import Engine


class SparkWork:
    """Begun when it is made."""

    def __init__(self, room: EngineRoom) -> None:
        self._room = room
        self._began = time.monotonic()
        self._uses_spark = self._is_cancelled = False
        # The thread that works: another statement may run by the time that this is cancelled.
        self._thread: int | None = None
        self._cancelling: Cancelling | None = None

    @property
    def uses_spark(self) -> bool:
        return self._uses_spark

    @property
    def is_starting(self) -> bool:
        """Whether it waits for Spark to start."""
        return self._uses_spark and self._room.state == "starting"

    @property
    def elapsed(self) -> str:
        return whole_seconds(time.monotonic() - self._began)

    @property
    def line(self) -> Line:
        """The step that it waits for, and for how long."""
        if self._cancelling is not None:
            return self._cancelling.line
        if not self._uses_spark:
            return [(f"at work, {self.elapsed}", "quiet")]
        if self.is_starting:
            return [(f"Spark is starting, {self.elapsed}", "warn")]
        return [(f"Spark is at work, {self.elapsed}", "accent")]

    def engine(self) -> Engine:
        """In the thread: the engine, when the work asks for it. Raises `Cancelled`."""
        if self._is_cancelled:
            raise Cancelled("Cancelled", "Nothing was committed.")
        self._uses_spark, self._thread = True, threading.get_ident()
        return self._room.engine

    def cancel(self) -> None:
        """Give Spark nothing further, and stop what it does for this; again when that is slow: by force."""
        self._is_cancelled = True
        if self._cancelling is not None or self._uses_spark:
            self._cancelling = pressed(self._cancelling, self._room, self._thread)

    def cancel_again(self) -> None:
        """Cancel again: a statement that was sent to Spark after the first time is cancelled too."""
        if self._cancelling is not None:
            self._room.cancel(self._thread)

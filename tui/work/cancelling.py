"""A cancel of what Spark does: asked for once; by force only when that takes long and is asked for again."""

from __future__ import annotations

import time
from collections.abc import Callable

from core.figures import whole_seconds
from tui.named_keys import cancel_key
from tui.theme import Line
from tui.work.engine_room import EngineRoom

# Work that has not stopped by then may not stop at all.
PATIENCE = 5.0


class Cancelling:
    """Made when somebody cancels."""

    def __init__(
        self, room: EngineRoom, of: int | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`of` is the number of the thread that has asked Spark; None for whichever."""
        self._room = room
        self._of = of
        self._clock = clock
        self._since = clock()
        self._ends_spark = False
        room.cancel(of)

    @property
    def _is_slow(self) -> bool:
        return self._clock() - self._since >= PATIENCE

    def press(self) -> None:
        """Cancelled again: by force, where that was offered."""
        if self._is_slow and not self._ends_spark:
            self._ends_spark = True
            self._room.kill(self._of)

    @property
    def line(self) -> Line:
        """How long it takes, and what can be done about it. A warm Spark is never ended unasked."""
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


def pressed(before: Cancelling | None, room: EngineRoom, of: int | None = None) -> Cancelling:
    """A cancel that begins, or is pressed once more. `of` is as in `Cancelling`."""
    if before is None:
        return Cancelling(room, of)
    before.press()
    return before

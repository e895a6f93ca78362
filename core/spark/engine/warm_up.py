"""Make the first queries fast: warm up Java while the engine is idle, until a statement comes.

The first run of a statement takes seconds, in which Java loads classes and compiles code. So common
statements run on a small table of the engine's own, one step at a time, in the thread that runs statements.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib.resources import files as resources
from pathlib import Path
from typing import Protocol
from zipfile import ZipFile

from paimark.core.cancelling import Cancellation, cancellable
from paimark.core.spark.protocol import CANCELLED, Batch, Failed, Report, Run, Task

Clock = Callable[[], float]
Step = Callable[[], None]

# The time of all steps, once after the start; those that are left then are skipped.
MOST_SECONDS = 10.0
# No step starts so soon after a statement: another one may follow, or the engine may be closed.
QUIET_SECONDS = 1.0
# The pause after the start: by then a caller that waited for it has sent its statement, or closed the engine.
SETTLED_SECONDS = 0.2

# The console's limit.
_CONSOLE_ROWS = 500
# The most common ones first. Each uses code of Spark's that those before it don't.
STATEMENTS = (
    "SELECT * FROM warm_up.keyed VERSION AS OF 1",
    "SELECT * FROM warm_up.keyed WHERE id = 7",
    """SELECT name, count(*), sum(price), max(at) FROM warm_up.keyed WHERE price > 3
    GROUP BY name ORDER BY 2 DESC""",
    "SELECT count(*) FROM warm_up.keyed",
    "SELECT * FROM warm_up.keyed WHERE name LIKE 'n%' ORDER BY at",
    """SELECT new.id, old.price, new.price FROM warm_up.keyed AS new
    JOIN warm_up.keyed VERSION AS OF 1 AS old ON old.id = new.id WHERE old.price <> new.price""",
)


class IdleWork:
    """Does steps, each once and in order. `due`, `work` and `quiet` are for the thread of statements."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._steps: Iterator[Step] | None = None
        self._interrupt_step: Step = lambda: None
        self._not_before = 0.0
        self._left = MOST_SECONDS
        self._current: Cancellation | None = None
        self._is_over = False

    def begin(self, steps: Iterator[Step], interrupt: Step) -> None:
        """Set the steps. `interrupt` ends the running step and returns at once; any thread may call it."""
        self._steps, self._interrupt_step = steps, interrupt
        self._not_before = self._clock() + SETTLED_SECONDS

    def due(self) -> float | None:
        """The seconds until there is work to do; None if there is none."""
        if self._is_over or self._steps is None:
            return None
        return max(self._not_before - self._clock(), 0.0)

    def work(self, is_free: Callable[[], bool]) -> None:
        """Do one step, unless a statement has come."""
        self._current = cancellation = Cancellation()
        try:
            # A statement that comes after this check interrupts the work.
            if not self._is_over and self._steps is not None and is_free():
                self._step(self._steps, cancellation)
        finally:
            self._current = None

    def quiet(self) -> None:
        """Pause after the end of a statement, because another one may follow."""
        self._not_before = max(self._not_before, self._clock() + QUIET_SECONDS)

    def interrupt(self) -> None:
        """Interrupt the running step, if there is one. For any thread."""
        current = self._current
        if current is not None:
            current.cancel()
            self._interrupt_step()

    def stop(self) -> None:
        """Interrupt the work, and do no more. For any thread."""
        self._is_over = True
        self.interrupt()

    def _step(self, steps: Iterator[Step], cancellation: Cancellation) -> None:
        step = next(steps, None) if self._left > 0 else None
        if step is None:
            self._steps, self._interrupt_step = None, lambda: None
            return
        began = self._clock()
        over = threading.Timer(self._left, self.interrupt)
        over.daemon = True
        over.start()
        try:
            # Errors are ignored: the first statement has them again, and reports them.
            with cancellable(cancellation), suppress(Exception):
                step()
        finally:
            over.cancel()
        self._left -= self._clock() - began


class RunsStatements(Protocol):
    """Runs statements on the warehouse of the warm-up. `cancel` returns at once; any thread may call it."""

    def run(self, order: Task, tell: Callable[[Report | Batch], None]) -> None: ...
    def cancel(self, number: int) -> None: ...


class WarmUp:
    """`begin` makes a runner for a warehouse at `place`."""

    def __init__(self, place: Path, begin: Callable[[], RunsStatements]) -> None:
        self._place = place
        self._begin = begin
        self._runner: RunsStatements | None = None

    def steps(self) -> Iterator[Callable[[], None]]:
        """The steps, to be done one after another."""
        # Each is short: a statement that comes waits for the end of the running one.
        yield partial(_unpack, self._place)
        yield self._set_up
        for sql in STATEMENTS:
            yield partial(self._run, sql)

    def interrupt(self) -> None:
        """Stop the running statement, if there is one. Returns at once; any thread may call this."""
        if self._runner is not None:
            self._runner.cancel(0)

    def _set_up(self) -> None:
        self._runner = self._begin()

    def _run(self, sql: str) -> None:
        if self._runner is not None:
            self._runner.run(Run(0, sql, limit=_CONSOLE_ROWS), _note)


def _note(report: Report | Batch) -> None:
    """Write a failure to the engine's log only."""
    if isinstance(report, Failed) and report != CANCELLED:
        print(f"warm-up: {report.message}", file=sys.stderr, flush=True)


def _unpack(place: Path) -> None:
    """Make a warehouse with the table `warm_up.keyed`, whose two snapshots have keys in common."""
    with (resources(__package__) / "warm_up.zip").open("rb") as packed, ZipFile(packed) as table:
        table.extractall(place)

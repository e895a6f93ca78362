"""An action that is being applied in a thread. A dialog may watch it, and may close before it ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.message import Message

from paimark.core.actions.bulk.applying import PartlyDone, parts_done
from paimark.core.actions.change.journal import TableGone, TakenOver
from paimark.core.actions.context import Context, Counting
from paimark.core.actions.plan import Outcome, Plan
from paimark.core.actions.recover import has_left
from paimark.core.actions.registry import Action
from paimark.core.cancelling import Cancellation, cancellable
from paimark.core.errors import Cancelled, PaimarkError
from paimark.core.figures import whole_seconds
from paimark.core.storage.files import Unanswered
from paimark.core.table.catalog import parse_table_name
from paimark.core.text import clean_text
from paimark.tui.messages import LogLineAdded
from paimark.tui.theme import Line
from paimark.tui.work.background import post
from paimark.tui.work.jobs import Job, Jobs
from paimark.tui.work.spark_work import SparkWork
from paimark.tui.work.unexpected_errors import problem_of

if TYPE_CHECKING:
    from paimark.core.spark.client.client import Engine
    from paimark.tui.work.engine_room import EngineRoom


# In seconds: how long quitting waits for changes, after ctrl+c too, and how often it checks for ctrl+c.
_LEAVING_SECONDS, _HURRIED_SECONDS, _LOOK_SECONDS = 15.0, 1.0, 0.1


class Ended(Message):
    """A change was applied, or failed."""

    def __init__(self, change: RunningChange) -> None:
        self.change = change
        super().__init__()


def end_changes(changes: Sequence[RunningChange], hurried: threading.Event) -> list[str]:
    """Wait, when the console quits, until each change is taken back, or is finished if it can't be.

    It waits for some seconds at most, and a moment after `hurried` is set: then `recover` ends the change.
    Returns a sentence about the end of each.
    """
    until = time.monotonic() + _LEAVING_SECONDS
    for change in changes:
        while not change.has_ended(_LOOK_SECONDS) and time.monotonic() < until:
            if hurried.is_set():
                until = min(until, time.monotonic() + _HURRIED_SECONDS)
    return [change.last_words for change in changes]


class RunningChange:
    """Its thread starts with the constructor. It is in `changes` until it has ended, and in the jobs; the app
    gets `Ended`.
    """

    def __init__(
        self,
        app: App[Any],
        context: Callable[[], Context],
        room: EngineRoom,
        changes: list[RunningChange],
        jobs: Jobs,
        show: Callable[[RunningChange], object],
        action: Action,
        plan: Plan,
    ) -> None:
        """`context` may read the store, so the thread calls it. `show` opens the dialog of the change."""
        self.action = action
        self.plan = plan
        self.title = f"{action.name} {plan.table}"
        self.lines: list[Line] = []
        self.outcome: Outcome | None = None
        self.error: PaimarkError | None = None
        # Called after each update of the progress while a dialog watches it.
        self.watcher: Callable[[], None] | None = None
        self._app = app
        self._context = context
        self._changes = changes
        self._spark = SparkWork(room)
        self._was_counting = False
        # Of a change of many: the number of parts that are done, and the time that they took.
        self._parts_done, self._seconds_of_parts = 0, 0.0
        self._cancellation = Cancellation()
        # Set by the thread: the app may have ended, and get no message about it.
        self._thread_end: End | None = None
        self._jobs = jobs
        self._job = jobs.begin(
            Job(
                self.title,
                how_far=lambda: self.how_far,
                stop=self.cancel,
                show=lambda: show(self),
                is_watched=lambda: self.watcher is not None,
            )
        )
        changes.append(self)
        self._thread = threading.Thread(target=self._work, name=f"paimark-{plan.action}", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        return self.outcome is None and self.error is None

    @property
    def can_be_cancelled(self) -> bool:
        """True before its point of no return, while Spark works for it, and if parts of it are left."""
        is_open = not self._cancellation.is_closed or self._parts_done + 1 < len(self.plan.parts)
        return self.running and (self._spark.uses_spark or is_open)

    def cancel(self) -> bool:
        """Stop it: the running part is taken back, commits stay. Returns whether that is possible."""
        if not self.can_be_cancelled:
            return False
        self._cancellation.cancel()
        # It may just have passed its point of no return.
        if self._spark.uses_spark or self._cancellation.is_cancelled:
            self._spark.cancel()
        self._look()
        return True

    def leave(self) -> None:
        """Stop it like `cancel`, after the screen has gone. Another Spark is not started for it."""
        self._cancellation.cancel()
        self._spark.leave()

    def has_ended(self, seconds: float) -> bool:
        """Wait up to so many seconds for its thread; return whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def last_words(self) -> str:
        """A sentence on its end, to print after the console has gone."""
        return last_words(self.title, self.plan.table, self._thread_end if self.has_ended(0.0) else None)

    @property
    def how_far(self) -> str:
        """Its progress, or what it waits for; with an estimate of the time left if parts of it are done."""
        count, done = len(self.plan.parts), self._parts_done
        step = "".join(text for text, _ in self.line)
        if self._cancellation.was_requested or not self.lines or self._spark.is_starting:
            return step
        if done:
            left = max(0.0, self._seconds_of_parts / done * count - self._job.elapsed)
            return f"{done} of {count} done, about {whole_seconds(left)} left"
        return self.lines[-1][-1][0]

    @property
    def elapsed(self) -> str:
        return self._spark.elapsed

    @property
    def line(self) -> Line:
        """The present step, and its elapsed time."""
        if self._cancellation.was_requested and not self._spark.uses_spark:
            return [(f"cancelling, {self.elapsed}", "warn")]
        return self._spark.line

    @property
    def end(self) -> tuple[str, str]:
        """Its result as a sentence and its ink."""
        if self.outcome is not None:
            return self.outcome.message, "good"
        why = self.error.message if self.error is not None else self.elapsed
        return f"{self.title}: {why}", "warn" if self._cancellation.was_requested else "bad"

    def tick(self) -> None:
        if self.running:
            self._spark.cancel_again()
        self._look()

    def _engine(self) -> Engine:
        """The engine, for an action that needs it. Called in the thread."""
        engine = self._spark.engine()
        post(self._app, self._look)
        return engine

    def _work(self) -> None:
        end, context = self._applied()
        # The dialog must not wait for the look at the table.
        post(self._app, lambda: self._end(end.outcome, end.error))
        self._thread_end = with_rest(context, self.plan.table, end)

    def _applied(self) -> tuple[End, Context | None]:
        """The end of the change, and its context if that could be made."""
        context = None
        try:
            with cancellable(self._cancellation):
                context = replace(self._context(), engine=self._engine)
                outcome = self.action.apply(
                    context, self.plan, lambda line: post(self._app, lambda: self._step(line))
                )
        except Cancelled:
            return End(error=Cancelled("Cancelled", "Nothing was changed.")), context
        except Exception as error:
            return End(error=problem_of(error)), context
        return End(outcome=outcome), context

    def _step(self, line: str) -> None:
        if self._was_counting:
            self.lines.pop()
        self._was_counting = isinstance(line, Counting)
        self.lines.append([("  · ", "accent"), (clean_text(line), "")])
        if self.plan.parts and (done := parts_done(line)) is not None:
            self._parts_done, self._seconds_of_parts = done, self._job.elapsed
        if not self._was_counting:
            self._app.post_message(LogLineAdded(f"{self.title}: {line}"))
        self._look()

    def _end(self, outcome: Outcome | None, error: PaimarkError | None) -> None:
        self.outcome, self.error = outcome, error
        self._changes.remove(self)
        if self.watcher is not None:
            # The end of a job that nobody watches is shown, and logged with that.
            self._app.post_message(LogLineAdded(*self.end))
        self._jobs.end(self._job, *self.end)
        self._look()
        self._app.post_message(Ended(self))

    def _look(self) -> None:
        if self.watcher is not None:
            self.watcher()


# Their own sentences say what was done, and what is left to others.
_COMPLETE = (PartlyDone, TableGone, TakenOver)


@dataclass(frozen=True)
class End:
    """The end of a change that was applied: an outcome or an error. `is_left`: `recover` has to end it."""

    outcome: Outcome | None = None
    error: PaimarkError | None = None
    is_left: bool = False


def with_rest(context: Context | None, table: str, end: End) -> End:
    """The same end, with `is_left` as the table shows it. Without a context nothing was begun."""
    if context is None or end.error is None:
        return end
    try:
        return replace(end, is_left=has_left(context, parse_table_name(table)))
    except PaimarkError:
        # The store can't be read: only `recover` can tell.
        return replace(end, is_left=True)


def last_words(title: str, table: str, end: End | None) -> str:
    """`title` names the change of a table. `end` is None if it has not ended yet."""
    recover = f"`paimark recover {parse_table_name(table).word}` finishes it or takes it back"
    if end is None:
        return f"{title} was interrupted: {recover}"
    if end.outcome is not None:
        return f"{title}: {end.outcome.message}"
    error = end.error
    if error is None or isinstance(error, Cancelled):
        return f"{title} was stopped: nothing was changed"
    why = error.said
    if isinstance(error, _COMPLETE):
        return f"{title}: {why}"
    if not end.is_left:
        # A commit of rows takes no journal: nothing is left to recover, though it may be done.
        and_nothing = "" if isinstance(error, Unanswered) else ", and nothing was changed"
        return f"{title} failed{and_nothing}: {why}"
    return f"{title} was interrupted: {why}" + ("" if "paimark recover" in error.hint else f" {recover}")

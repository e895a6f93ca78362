"""Threads that read data, so that the screen never waits.

Textual's own thread workers can't be abandoned: the program would wait for them when it ends, however long a
store takes. These are daemon threads; their only effect on the program is one kind of message.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from textual.app import App
from textual.message import Message

from paimark.core.errors import PaimarkError
from paimark.tui.messages import StatusShown
from paimark.tui.work.unexpected_errors import problem_of

T = TypeVar("T")
# Seconds.
_SLOW = 0.1


class ThreadResult(Message):
    """A thread's result. The app runs `deliver` on its own thread, and awaits an awaitable result."""

    def __init__(self, deliver: Callable[[], object]) -> None:
        self.deliver = deliver
        super().__init__()


def post(app: App[Any], deliver: Callable[[], object]) -> None:
    """Run `deliver` in the app, unless the app has ended. For any thread."""
    try:
        app.post_message(ThreadResult(deliver))
    except RuntimeError:
        # The event loop was closed between Textual's check and its call: there is no app to tell.
        return


class ThreadReport(Generic[T]):
    """Passes results of a thread to its slot, once or piece by piece."""

    def __init__(self, slot: Slot[T], generation: int) -> None:
        self.slot = slot
        self.generation = generation

    @property
    def wanted(self) -> bool:
        """Whether nothing newer has been asked for."""
        return self.slot.generation == self.generation

    def __call__(self, result: T) -> None:
        self.slot.post(self.generation, lambda: self.slot.hear(result))

    def meanwhile(self, deliver: Callable[[], None]) -> None:
        """Run `deliver` in the app if this is still wanted: for the progress of the work."""
        self.slot.post(self.generation, deliver)


class Slot(Generic[T]):
    """Runs one request at a time: the newest wins, and results of older ones are dropped.

    The app awaits `take` if it opens a screen, so that the next keys go to that screen.
    """

    def __init__(
        self,
        app: App[Any],
        name: str,
        take: Callable[[T], object],
        failed: Callable[[PaimarkError], object] | None = None,
    ) -> None:
        """Without `failed` the bottom line shows an error."""
        self.generation = 0
        self.busy = self._has_heard = False
        self.take = take
        self._failed = failed or (lambda error: app.post_message(StatusShown(error.said, "warn")))
        self._app = app
        self._name = name

    def ask(self, work: Callable[[ThreadReport[T]], None], slow: Callable[[], None] | None = None) -> int:
        """Start `work` in a thread, and drop the earlier request. Returns the thread's id.

        `slow` shows that the screen waits. It is called only if nothing is reported within a tenth of a
        second: over a slow line a short-lived message costs as much as a lasting one.
        """
        self.generation += 1
        self.busy = True
        self._has_heard = False
        generation = self.generation
        if slow is not None:
            self._app.set_timer(_SLOW, lambda: self._wait(generation, slow))
        thread = threading.Thread(
            target=self._run, args=(work, generation), name=f"paimark-{self._name}", daemon=True
        )
        thread.start()
        assert thread.ident is not None
        return thread.ident

    def hear(self, result: T) -> object:
        self._has_heard = True
        return self.take(result)

    def _wait(self, generation: int, slow: Callable[[], None]) -> None:
        if self.busy and self.generation == generation and not self._has_heard:
            slow()

    def drop(self) -> None:
        """Drop the present request and its results."""
        self.generation += 1
        self.busy = False

    def post(self, generation: int, deliver: Callable[[], object]) -> None:
        def if_wanted() -> object:
            return deliver() if self.generation == generation else None

        post(self._app, if_wanted)

    def _run(self, work: Callable[[ThreadReport[T]], None], generation: int) -> None:
        try:
            work(ThreadReport(self, generation))
        except Exception as error:
            problem = problem_of(error)
            self.post(generation, lambda: self._failed(problem))
        finally:
            self.post(generation, self._rest)

    def _rest(self) -> None:
        self.busy = False

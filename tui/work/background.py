"""Threads that read, so that the screen never waits.

Textual's own thread workers can't be left behind: leaving the program waits for them, however long a store
takes. These are daemon threads; all they may do to the program is post one kind of message.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from textual.app import App
from textual.message import Message

from core.errors import PaimarkError
from tui.work.unexpected_errors import problem_of

T = TypeVar("T")
# Seconds.
_SLOW = 0.1


class ThreadResult(Message):
    """A thread's result. The app runs `deliver` on its own thread, and awaits what can be awaited of it."""

    def __init__(self, deliver: Callable[[], object]) -> None:
        self.deliver = deliver
        super().__init__()


def post(app: App[Any], deliver: Callable[[], object]) -> None:
    """From any thread: run `deliver` in the app, unless it has gone."""
    try:
        app.post_message(ThreadResult(deliver))
    except RuntimeError:
        # The event loop closed between Textual's own check and its call: nobody is left to tell.
        return


class ThreadReport(Generic[T]):
    """How a thread hands over what it has, once or piece by piece."""

    def __init__(self, slot: Slot[T], generation: int) -> None:
        self._slot = slot
        self._generation = generation

    @property
    def wanted(self) -> bool:
        """Whether nothing newer was asked for meanwhile."""
        return self._slot.generation == self._generation

    def __call__(self, result: T) -> None:
        self._slot.post(self._generation, lambda: self._slot.hear(result))

    def meanwhile(self, deliver: Callable[[], None]) -> None:
        """Run `deliver` in the app, as long as this is wanted: for how far it is."""
        self._slot.post(self._generation, deliver)


class Slot(Generic[T]):
    """One question at a time: the newest wins, and what an older one finds is dropped.

    `take` is awaited where it opens something: keys typed from then on are for that.
    """

    def __init__(
        self, app: App[Any], name: str, take: Callable[[T], object], failed: Callable[[PaimarkError], None]
    ) -> None:
        self.generation = 0
        self.busy = self._has_heard = False
        self.take = take
        self._failed = failed
        self._app = app
        self._name = name

    def ask(self, work: Callable[[ThreadReport[T]], None], slow: Callable[[], None] | None = None) -> None:
        """Start `work` in a thread; forget what was asked before.

        `slow` says that it is being waited for. It is called when nothing was reported within a tenth of a
        second: over a slow line what is soon painted over costs as much as what stays.
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

    def hear(self, result: T) -> object:
        self._has_heard = True
        return self.take(result)

    def _wait(self, generation: int, slow: Callable[[], None]) -> None:
        if self.busy and self.generation == generation and not self._has_heard:
            slow()

    def drop(self) -> None:
        """Nothing asked so far is wanted any more."""
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

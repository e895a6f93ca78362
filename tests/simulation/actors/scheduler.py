"""A scheduler that gives one turn to several actors at storage operations, with a simulated clock.

Each actor has its own thread, and only the actor with the turn runs: the outcome depends on the seed alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Literal

# The begin of simulated time (epoch ms), and the longest time of one storage operation.
BEGINNING_MS = 1_780_000_000_000
_LONGEST_OPERATION_MS = 9

# The fate of a write. `half`: a create or replace leaves a part under a temporary name. `between`: HDFS has
# deleted the file that a replace overwrites, and not renamed yet. `lost`: the write is done, but its answer
# is lost. `late`: no answer comes, and the write is done later; `die late`: its actor dies meanwhile.
# `again`: a second request does the write, and the first, which was given up, is carried out later as well.
Fate = Literal[
    "done",
    "die before",
    "die after",
    "die half",
    "die between",
    "die late",
    "fail before",
    "lost",
    "late",
    "again",
]


class Death(BaseException):
    """`kill -9`: the actor is dead. Its `finally` blocks still run, but can't change a file."""


@dataclass(eq=False)
class Actor:
    """An actor. `dies_at` counts its writes from 1; `skew` is the error of its clock (ms)."""

    name: str
    dies_at: int | None = None
    fate: Fate = "die after"
    skew: int = 0
    writes: int = 0
    operations: int = 0
    is_dead: bool = False
    wakes_at: float = 0
    error: BaseException | None = None


class Scheduler:
    """`switching` is the probability of a switch at an operation. Outside `run`, the caller has the turn."""

    def __init__(self, random: Random, switching: float = 0.3) -> None:
        self.random = random
        self.switching = switching
        # Milliseconds since the beginning. Monotonic, and no actor's clock.
        self.elapsed: float = 0
        # The common offset of all wall clocks (ms), changed when somebody sets them.
        self.jump = 0
        self._waiting: list[Actor] = []
        self._by_thread: dict[int, Actor] = {}
        # One semaphore for each actor, released when it gets the turn; None is for `run` itself.
        self._gates: dict[Actor | None, threading.Semaphore] = {}

    def now_ms(self, actor: Actor | None = None) -> int:
        """Wall-clock time, as the actor sees it."""
        return BEGINNING_MS + int(self.elapsed) + self.jump + (actor.skew if actor else 0)

    def current(self) -> Actor | None:
        return self._by_thread.get(threading.get_ident())

    def run(self, programs: dict[Actor, Callable[[], None]]) -> None:
        """Run the actors' programs to their ends. An error that none of them handled is raised."""
        self._waiting = list(programs)
        self._gates = {each: threading.Semaphore(0) for each in (None, *programs)}
        threads = [
            threading.Thread(target=self._live, args=each, name=each[0].name) for each in programs.items()
        ]
        for thread in threads:
            thread.start()
        self._gates[self._choose()].release()
        self._gates[None].acquire()
        for thread in threads:
            thread.join()
        self._gates = {}
        for actor in programs:
            if actor.error is not None:
                raise actor.error

    def turn(self, actor: Actor) -> None:
        """Call before an operation: time passes, and another actor may get the turn first."""
        actor.operations += 1
        self.elapsed += self.random.randint(1, _LONGEST_OPERATION_MS)
        if len(self._waiting) > 1 and self.random.random() < self.switching:
            self._hand_on(actor)

    def sleep(self, seconds: float) -> None:
        """Let the other actors run for this time."""
        actor = self.current()
        until = self.elapsed + seconds * 1000
        if actor is None or actor not in self._waiting:
            self.elapsed = max(self.elapsed, until)
            return
        actor.wakes_at = until
        self._hand_on(actor)

    def _live(self, actor: Actor, program: Callable[[], None]) -> None:
        self._gates[actor].acquire()
        self._by_thread[threading.get_ident()] = actor
        try:
            program()
        except Death:
            pass
        # The end of the thread: `run` raises the error.
        except BaseException as error:
            actor.error = error
        del self._by_thread[threading.get_ident()]
        self._waiting.remove(actor)
        self._gates[self._choose() if self._waiting else None].release()

    def _hand_on(self, actor: Actor) -> None:
        other = self._choose()
        if other is not actor:
            self._gates[other].release()
            self._gates[actor].acquire()

    def _choose(self) -> Actor:
        awake = [each for each in self._waiting if each.wakes_at <= self.elapsed]
        if awake:
            return self.random.choice(awake)
        first = min(self._waiting, key=lambda each: each.wakes_at)
        self.elapsed = first.wakes_at
        return first

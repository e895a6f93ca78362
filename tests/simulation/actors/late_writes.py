"""Requests that their client gave up, and that the store acts on all the same, later.

An object store takes a request whose time is at most a quarter of an hour off its own, so none is later.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from tests.simulation.actors.scheduler import Actor, Scheduler

LATEST_MS = 15 * 60 * 1000
# From the last sign of life of who dies to its last request, too.
WAITED_SECONDS = 16 * 60.0
# Within an operation or two, within the round, and in any later one.
_DELAYS_MS = (30, 1_000, 10_000, LATEST_MS)


class LateWrite(NamedTuple):
    """A request under way, `due` in milliseconds since the beginning. Without `data` it deletes.

    `actor` stands for the one that sent it, of whose operation it is whatever that does next.
    """

    due: float
    actor: Actor
    path: str
    data: bytes | None
    is_creation: bool


class LateWrites:
    """All that are under way. `write` carries one out; whoever is in `heard` is told who gave one up."""

    def __init__(self, scheduler: Scheduler, random: Random) -> None:
        self.heard: list[Callable[[Actor, Actor], None]] = []
        self._scheduler = scheduler
        self._random = random
        self._under_way: list[LateWrite] = []
        # Whether each comes as late as can be.
        self.are_latest = False

    def add(self, actor: Actor, path: str, data: bytes | None, *, is_creation: bool) -> None:
        """An actor gives a request up."""
        stand_in = Actor(f"{actor.name}~")
        delay = LATEST_MS if self.are_latest else self._random.random() * self._random.choice(_DELAYS_MS)
        due = self._scheduler.elapsed + delay
        self._under_way.append(LateWrite(due, stand_in, path, data, is_creation))
        for each in self.heard:
            each(actor, stand_in)

    @property
    def are_under_way(self) -> bool:
        return bool(self._under_way)

    def due(self) -> list[LateWrite]:
        """Those whose time has come, which are under way no more."""
        now = self._scheduler.elapsed
        found = [each for each in self._under_way if each.due <= now]
        self._under_way = [each for each in self._under_way if each.due > now]
        return sorted(found, key=lambda each: each.due)

    def wait(self) -> None:
        """Let time pass until none is under way any more."""
        last = max((each.due for each in self._under_way), default=0)
        self._scheduler.elapsed = max(self._scheduler.elapsed, last)

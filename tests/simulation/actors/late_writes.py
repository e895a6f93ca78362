"""Requests that the client gave up, and that the store carries out later all the same.

An object store refuses a request whose time is more than 15 minutes off its own clock, so none is later.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from tests.simulation.actors.scheduler import Actor, Scheduler

LATEST_MS = 15 * 60 * 1000
# The wait before a recovery: the longest delay of a request, and some time from the last heartbeat to it.
WAITED_SECONDS = 16 * 60.0
# Delays of an operation or two, of a part of the round, and up to later rounds.
_DELAYS_MS = (30, 1_000, 10_000, LATEST_MS)


class LateWrite(NamedTuple):
    """A pending request, `due` in milliseconds since the beginning. Without `data` it is a delete.

    `actor` is a stand-in for the sender: the request stays part of the operation that sent it.
    """

    due: float
    actor: Actor
    path: str
    data: bytes | None
    is_creation: bool


class LateWrites:
    """All pending requests. `add` calls each function in `heard` with the sender and its stand-in."""

    def __init__(self, scheduler: Scheduler, random: Random) -> None:
        self.heard: list[Callable[[Actor, Actor], None]] = []
        self._scheduler = scheduler
        self._random = random
        self._under_way: list[LateWrite] = []
        # Whether each request has the longest delay; whether all wait, as while the judges look.
        self.are_latest = self.are_held = False

    def add(self, actor: Actor, path: str, data: bytes | None, *, is_creation: bool) -> None:
        """Note a request that an actor gave up."""
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
        """Remove and return the requests that are due."""
        now = -1.0 if self.are_held else self._scheduler.elapsed
        found = [each for each in self._under_way if each.due <= now]
        self._under_way = [each for each in self._under_way if each.due > now]
        return sorted(found, key=lambda each: each.due)

    def wait(self) -> None:
        """Let time pass until all pending requests are due."""
        last = max((each.due for each in self._under_way), default=0)
        self._scheduler.elapsed = max(self._scheduler.elapsed, last)

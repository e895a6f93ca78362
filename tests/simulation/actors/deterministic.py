"""Time, chance and thread pools made part of the schedule, for the time of a run.

Only `core` sees the simulated time; names that chance decides come from the seed; what the product does in a
pool of threads is done by one, in order, which is one of the orders that a pool may take.
"""

from __future__ import annotations

import importlib
import pkgutil
import secrets
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache, cached_property
from random import Random
from types import ModuleType
from typing import Any

import core.actions
from tests.simulation.actors.scheduler import Scheduler


class SimulatedTime:
    """What the product uses of the module `time`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.sleep = scheduler.sleep

    def monotonic(self) -> float:
        return self._scheduler.elapsed / 1000

    def time(self) -> float:
        return self._scheduler.now_ms(self._scheduler.current()) / 1000

    def time_ns(self) -> int:
        return self._scheduler.now_ms(self._scheduler.current()) * 1_000_000

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


class OneByOne:
    """A pool of one: `map` is done when it is asked for."""

    def __init__(self, *_: object, **__: object) -> None:
        return

    def __enter__(self) -> OneByOne:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def submit(self, do: Callable[..., Any], *arguments: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(do(*arguments))
        # As a pool does: raised where the result is asked for.
        except Exception as error:
            done.set_exception(error)
        return done

    def map(self, do: Callable[..., Any], *items: Iterable[Any]) -> Iterator[Any]:
        return iter([do(*each) for each in zip(*items, strict=False)])


@contextmanager
def deterministic(scheduler: Scheduler, random: Random) -> Iterator[None]:
    """Inside, the product depends on the scheduler and the seed alone."""
    simulated = SimulatedTime(scheduler)
    kept: list[tuple[object, str, object]] = []

    def put(holder: object, name: str, value: object) -> None:
        kept.append((holder, name, getattr(holder, name)))
        setattr(holder, name, value)

    try:
        for module in _product_modules():
            # A real store beside the model takes its time.
            if getattr(module, "time", None) is time and not module.__name__.startswith("core.storage."):
                put(module, "time", simulated)
            if getattr(module, "ThreadPoolExecutor", None) is ThreadPoolExecutor:
                put(module, "ThreadPoolExecutor", OneByOne)
            for held in _locks_of_properties(module):
                # Python 3.11 computes one at a time over all threads: who waits for it has no turn to give.
                put(held, "lock", nullcontext())
        put(uuid, "uuid4", lambda: uuid.UUID(int=random.getrandbits(128), version=4))
        put(secrets, "token_hex", lambda size: f"{random.getrandbits(8 * size):0{2 * size}x}")
        yield
    finally:
        for holder, name, value in reversed(kept):
            setattr(holder, name, value)


def _locks_of_properties(module: ModuleType) -> list[object]:
    """The cached properties of a module's classes, as far as this Python locks them."""
    classes = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__ == module.__name__
    ]
    found = [each for owner in classes for each in vars(owner).values() if isinstance(each, cached_property)]
    return [each for each in found if hasattr(each, "lock")]


@cache
def _product_modules() -> list[ModuleType]:
    """All of `core.actions`, which loads its actions when they are first used, and what they load."""
    for each in pkgutil.walk_packages(core.actions.__path__, "core.actions."):
        importlib.import_module(each.name)
    return [module for name, module in sys.modules.items() if name.startswith("core.")]

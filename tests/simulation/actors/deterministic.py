"""Replace time, random names and thread pools of the product by deterministic ones during a run.

Only `core` sees the simulated time. Random names come from the seed. A thread pool runs its tasks one by one
in the calling thread, which is one of the orders that a real pool may take.
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

import paimark.core.actions
from paimark.core.statements import run
from paimark.core.storage import late_requests, parallel
from tests.simulation.actors.scheduler import Scheduler


class SimulatedTime:
    """A stand-in for the module `time`, with the functions that the product uses."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.sleep = scheduler.sleep

    def monotonic(self) -> float:
        return self._scheduler.elapsed / 1000

    def clock_gettime(self, clock: int) -> float:
        """Of the only one that the product asks: it goes on while a computer sleeps."""
        assert clock == time.CLOCK_BOOTTIME
        return self.monotonic()

    def time(self) -> float:
        return self._scheduler.now_ms(self._scheduler.current()) / 1000

    def time_ns(self) -> int:
        return self._scheduler.now_ms(self._scheduler.current()) * 1_000_000

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


class OneByOne:
    """A stand-in for `ThreadPoolExecutor` that runs each task in the call."""

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
        # A pool raises the error when the result is requested.
        except Exception as error:
            done.set_exception(error)
        return done

    def map(self, do: Callable[..., Any], *items: Iterable[Any]) -> Iterator[Any]:
        return iter([do(*each) for each in zip(*items, strict=False)])


@contextmanager
def deterministic(scheduler: Scheduler, random: Random) -> Iterator[None]:
    """Within the context, the product depends on the scheduler and the seed alone."""
    simulated = SimulatedTime(scheduler)
    kept: list[tuple[object, str, object]] = []

    def put(holder: object, name: str, value: object) -> None:
        kept.append((holder, name, getattr(holder, name)))
        setattr(holder, name, value)

    try:
        for module in _product_modules():
            # The clients of a real store need the real time.
            is_client = module.__name__.startswith("paimark.core.storage.") and module is not late_requests
            if getattr(module, "time", None) is time and not is_client:
                put(module, "time", simulated)
            if getattr(module, "ThreadPoolExecutor", None) is ThreadPoolExecutor:
                put(module, "ThreadPoolExecutor", OneByOne)
        for held in _locks_of_properties():
            # Python 3.11 locks it over all threads; an actor that waits for it can't give up its turn.
            put(held, "lock", nullcontext())
        # Pools that others have made are real ones, and those made here are not for others.
        put(parallel, "_idle", [])
        # A statement of a script makes a context of the settings of its engine.
        put(run, "context_of", lambda settings, engine: engine().context)
        put(uuid, "uuid4", lambda: uuid.UUID(int=random.getrandbits(128), version=4))
        put(secrets, "token_hex", lambda size: f"{random.getrandbits(8 * size):0{2 * size}x}")
        yield
    finally:
        for holder, name, value in reversed(kept):
            setattr(holder, name, value)


@cache
def _locks_of_properties() -> list[object]:
    """The cached properties of the product's classes that have a lock (before Python 3.12)."""
    classes = [
        each
        for module in _product_modules()
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__ == module.__name__
    ]
    found = [each for owner in classes for each in vars(owner).values() if isinstance(each, cached_property)]
    return [each for each in found if hasattr(each, "lock")]


@cache
def _product_modules() -> list[ModuleType]:
    """All loaded modules of the product, after an import of all actions, which it imports on use."""
    for each in pkgutil.walk_packages(paimark.core.actions.__path__, "paimark.core.actions."):
        importlib.import_module(each.name)
    return [module for name, module in sys.modules.items() if name.startswith("paimark.core.")]

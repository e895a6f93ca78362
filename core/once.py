"""Values that are computed on first use, and kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):
    """Like `functools.cached_property`, which up to Python 3.11 has one lock for all objects of a class.

    Two threads that need it at the same time may both compute it.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> T | Self:
        if instance is None:
            return self
        return self._stored(instance)

    def _stored(self, instance: object) -> T:
        value = instance.__dict__[self._name] = self._make(instance)
        return value


class once_for_all(once[T]):
    """The same for a value that must be made only once: other threads wait while one thread computes it."""

    def _stored(self, instance: object) -> T:
        stored = instance.__dict__
        # A lock of this object; if two threads make one, `setdefault` keeps only the first.
        with stored.setdefault(f"making {self._name}", threading.RLock()):
            value: T = stored[self._name] if self._name in stored else super()._stored(instance)
            return value

"""Values that are computed when first asked for, and kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):
    """As `functools.cached_property`, which up to Python 3.11 has one lock for all objects of a class.

    Two threads that ask at once may both work it out.
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
        return self._kept(instance)

    def _kept(self, instance: object) -> T:
        value = instance.__dict__[self._name] = self._make(instance)
        return value


class once_for_all(once[T]):
    """The same of what must not be there twice: who asks while another thread works it out waits for it."""

    def _kept(self, instance: object) -> T:
        kept = instance.__dict__
        # Of the object, and made by one of the threads only.
        with kept.setdefault(f"making {self._name}", threading.RLock()):
            value: T = kept[self._name] if self._name in kept else super()._kept(instance)
            return value

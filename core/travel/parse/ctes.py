"""The scopes of the query names that WITH defines."""

from __future__ import annotations

import math


class CteNames:
    """The names that WITH has defined so far in one pair of parentheses, and outside it up to its opening.

    No scope copies the names of the outer one: a statement may define 30,000, and each sees those before it.
    """

    def __init__(self, outer: CteNames | None = None) -> None:
        self._places: dict[str, int] = {}
        self._outer = outer
        self._seen_outside = len(outer._places) if outer else 0

    def add(self, name: str) -> None:
        self._places.setdefault(name, len(self._places))

    def __contains__(self, name: str) -> bool:
        names: CteNames | None = self
        seen: float = math.inf
        while names is not None:
            if names._places.get(name, math.inf) < seen:
                return True
            seen = names._seen_outside
            names = names._outer
        return False

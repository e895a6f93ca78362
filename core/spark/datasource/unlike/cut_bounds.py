"""Bounds of texts in statistics, where stock Paimon cuts them off wrongly.

An upper bound is cut after 16 characters, and the last of them made the next one. Java has none after U+D7FF
and writes a question mark, which is less: pypaimon would pass over files that hold rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from pypaimon.common.predicate import Predicate

_GREATEST = "\U0010ffff"

_Test = Callable[[Any, Any, Any], bool]


@cache
def loosen_cut_bounds() -> None:
    """In this process, for all tables."""
    for tester in Predicate.testers.values():
        tester.test_by_stats = _loosened(tester.test_by_stats)


def _loosened(test: _Test) -> _Test:
    def loosened(low: Any, high: Any, values: Any) -> bool:
        if isinstance(high, str) and high.endswith("?"):
            high = high[:-1] + _GREATEST
        return test(low, high, values)

    return loosened

"""Upper bounds of texts in statistics that stock Paimon cuts off wrongly.

An upper bound is cut off after 16 characters, and the last one replaced by its successor. After U+D7FF Java
writes a question mark, which is less, so pypaimon would skip files with matching rows.
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
    """Make pypaimon raise such bounds, in this process, for all tables. Idempotent."""
    for tester in Predicate.testers.values():
        tester.test_by_stats = _loosened(tester.test_by_stats)


def _loosened(test: _Test) -> _Test:
    def loosened(low: Any, high: Any, values: Any) -> bool:
        if isinstance(high, str) and high.endswith("?"):
            high = high[:-1] + _GREATEST
        return test(low, high, values)

    return loosened

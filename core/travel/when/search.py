"""The search: which version to count next, and what the counts say. Pure: the caller counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paimark.core.travel.when.versions import Version


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows of a version satisfy the condition. `time_millis` is that of its commit."""

    version: Version
    time_millis: int
    rows: int


@dataclass(frozen=True, slots=True)
class Found:
    """`first` has rows of the condition, and `before`, the version just before it, has none.

    `before` is None if the oldest version has some already. `newest` is where the search began; `gone` is how
    many snapshots between the two have expired, of which nothing is known.
    """

    first: Count
    before: Count | None
    newest: Count
    gone: int


# Counts a version; None if it has expired meanwhile.
Counting = Callable[[Version], Count | None]


def first_with_rows(versions: Sequence[Version], count: Counting) -> Found | Count | None:
    """Bisect for a version with rows behind one without. It is one beginning: there may be earlier ones.

    A `Count` of no rows if the newest version has none; None if all versions have expired meanwhile.
    """
    left = list(versions)
    newest = _last(left, count)
    if newest is None or not newest.rows:
        return newest
    oldest = None
    while len(left) > 1 and (oldest := count(left[0])) is None:
        left.pop(0)
    if oldest is None or oldest.rows:
        return Found(oldest or newest, None, newest, 0)
    first, before, low, high = newest, oldest, 0, len(left) - 1
    while high - low > 1:
        middle = (low + high) // 2
        counted = count(left[middle])
        if counted is None:
            left.pop(middle)
            high -= 1
        elif counted.rows:
            first, high = counted, middle
        else:
            before, low = counted, middle
    gone = first.version.snapshot_id - before.version.snapshot_id - 1
    return Found(first, before, newest, gone)


def _last(left: list[Version], count: Counting) -> Count | None:
    while left:
        counted = count(left[-1])
        if counted is not None:
            return counted
        left.pop()
    return None

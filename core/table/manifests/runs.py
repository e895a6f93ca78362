"""Sets of whole numbers as runs: 2, 3, 4 and 9 are `[2, 5, 9, 10]`.

A run is stored as its first number and the number after its last. A file that stays in a lineage has few
runs, however many snapshots there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Runs = Sequence[int]


def add(runs: list[int], number: int) -> None:
    """Add a number. It is fast if the number is not smaller than those in the set."""
    if not runs or number > runs[-1]:
        runs += (number, number + 1)
    elif number == runs[-1]:
        runs[-1] = number + 1
    elif number < runs[-1] - 1:
        runs[:] = union([runs, (number, number + 1)])


def union(sets: Sequence[Runs]) -> Runs:
    """All numbers of any of the sets."""
    if len(sets) <= 1:
        return sets[0] if sets else ()
    bounds: list[int] = []
    for start, end in sorted(pair for runs in sets for pair in _pairs(runs)):
        if not bounds or start > bounds[-1]:
            bounds += (start, end)
        elif end > bounds[-1]:
            bounds[-1] = end
    return bounds


def minus(left: Runs, right: Runs) -> Runs:
    """The numbers of `left` that are not in `right`."""
    if not right:
        return left
    bounds: list[int] = []
    gaps = list(_pairs(right))
    position = 0
    for start, end in _pairs(left):
        while position < len(gaps) and gaps[position][1] <= start:
            position += 1
        following = position
        while following < len(gaps) and gaps[following][0] < end:
            if gaps[following][0] > start:
                bounds += (start, gaps[following][0])
            start = gaps[following][1]
            following += 1
        if start < end:
            bounds += (start, end)
    return bounds


def both(left: Runs, right: Runs) -> Runs:
    """The numbers that are in both."""
    return minus(left, minus(left, right))


def meet(left: Runs, right: Runs) -> bool:
    """Whether any number is in both."""
    mine, theirs = list(_pairs(left)), list(_pairs(right))
    while mine and theirs:
        if mine[-1][0] < theirs[-1][1] and theirs[-1][0] < mine[-1][1]:
            return True
        (mine if mine[-1][0] >= theirs[-1][0] else theirs).pop()
    return False


def members(runs: Runs) -> Iterator[int]:
    """The numbers, ascending."""
    for start, end in _pairs(runs):
        yield from range(start, end)


def _pairs(runs: Runs) -> Iterator[tuple[int, int]]:
    return zip(runs[::2], runs[1::2], strict=True)

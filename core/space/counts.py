"""Count which rows hold which files: each state has a bit for each row, so a file needs one lookup."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from paimark.core.space.holders import Holder
from paimark.core.table.manifests.runs import Runs
from paimark.core.verify.needs import NeededState


class _Bits(NamedTuple):
    """For a state, a bit for each row: the rows that hold it, and those whose deletion would delete it."""

    held: int
    going: int


@dataclass(slots=True)
class Count:
    """Files and bytes."""

    files: int = 0
    bytes: int = 0

    def add(self, files: int, size: int) -> None:
        self.files += files
        self.bytes += size


@dataclass
class Counts:
    """For each row, what it holds and what goes with it; `alone` goes with any row, `shared` is the rest."""

    held: list[Count]
    going: list[Count]
    alone: Count = field(default_factory=Count)
    shared: Count = field(default_factory=Count)


def counted(
    rows: Sequence[Holder],
    states: Sequence[NeededState],
    sizes: Mapping[tuple[int, ...], Count],
    powerless: Collection[str] = (),
) -> Counts:
    """`sizes` are files and bytes by the states that need them, as runs; `powerless` are paths of versions
    that keep no file from being deleted."""
    counts = Counts([Count() for _ in rows], [Count() for _ in rows])
    whole = sum(1 << number for number, row in enumerate(rows) if not row.is_part)
    spans = _Spans(rows, states, powerless)
    for users, each in sizes.items():
        bits = spans.of(users)
        for row in _ones(bits.held):
            counts.held[row].add(each.files, each.bytes)
        for row in _ones(bits.going):
            counts.going[row].add(each.files, each.bytes)
        (counts.alone if bits.going & whole else counts.shared).add(each.files, each.bytes)
    return counts


class _Spans:
    """Neighbouring states with the same bits are one span: a lineage has few, however long it is."""

    def __init__(
        self, rows: Sequence[Holder], states: Sequence[NeededState], powerless: Collection[str]
    ) -> None:
        self._starts: list[int] = []
        self._bits: list[_Bits] = []
        number = 0
        for bits, alike in groupby(_bits_of(rows, states, powerless)):
            self._starts.append(number)
            self._bits.append(bits)
            number += sum(1 for _ in alike)

    def of(self, users: Runs) -> _Bits:
        """The rows that hold any of the states, and those whose deletion would delete all of them."""
        held, going = 0, -1
        for start, end in zip(users[::2], users[1::2], strict=True):
            first = bisect_right(self._starts, start) - 1
            last = bisect_right(self._starts, end - 1)
            for bits in self._bits[first:last]:
                held, going = held | bits.held, going & bits.going
        return _Bits(held, going & held)


def _bits_of(
    rows: Sequence[Holder], states: Sequence[NeededState], powerless: Collection[str]
) -> list[_Bits]:
    rows_of: dict[str, int] = {}
    for number, row in enumerate(rows):
        for path in row.paths:
            rows_of[path] = rows_of.get(path, 0) | 1 << number
    made = []
    for state in states:
        held, going = 0, -1
        for version in state.versions:
            its_rows = rows_of.get(version.path, 0)
            held |= its_rows
            if version.path not in powerless:
                going &= its_rows
        made.append(_Bits(held, going))
    return made


def _ones(bits: int) -> list[int]:
    """The numbers of the bits that are set."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found

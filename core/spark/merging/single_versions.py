"""Exclude rows without another version from merging: rows of big files whose keys are in no small file."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimark.core.spark.merging.model import MergeFile, MergeGroup, MergeRules
from paimark.core.spark.sort_keys import SortKey, end_to_end

# Searching pays if the big files have so many times more rows than all others together: sorting a row costs
# several times as much as skipping it.
_WORTH_SEARCHING = 2

_Indexes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of several files: for each file a list of sort keys and a list of text columns."""

    numbers: list[list[SortKey]]
    texts: list[list[pa.ChunkedArray]]

    @property
    def is_one_number(self) -> bool:
        return len(self.numbers[0]) == 1 and not self.texts[0]


def shared_rows(files: Sequence[MergeFile], keys: Keys) -> list[_Indexes]:
    """For each file the rows whose key may be in another file too, ascending. May contain other rows."""
    base = apart(files)
    base_rows = sum(files[index].row_count for index in base)
    rest = [index for index in range(len(files)) if index not in base]
    if not rest or base_rows < _WORTH_SEARCHING * sum(files[index].row_count for index in rest):
        return [np.arange(file.row_count) for file in files]
    find = _searcher(keys, rest) if keys.is_one_number else _looker(keys, rest)
    return [find(index) if index in base else np.arange(file.row_count) for index, file in enumerate(files)]


def apart(files: Sequence[MergeFile]) -> set[int]:
    """The biggest files with disjoint key ranges (indexes): a sorted run, which usually has most rows."""
    chosen: set[int] = set()
    ranges: list[tuple[Any, Any]] = []
    for index in sorted(range(len(files)), key=lambda index: -files[index].row_count):
        file = files[index]
        at = _insertion_index(ranges, file.min_key, file.max_key)
        if at is not None:
            ranges.insert(at, (file.min_key, file.max_key))
            chosen.add(index)
    return chosen


def ages_overlap(files: Sequence[MergeFile]) -> bool:
    """Whether two files that may share a key have overlapping sequence numbers, so that neither is the newer.

    Sequence numbers of different commits are disjoint, unless several writers worked at once.
    """
    base = apart(files)
    ranges: list[tuple[Any, Any]] = []
    # First compare the small files with one another, then each big file with the small ones.
    for index in sorted(range(len(files)), key=lambda index: index in base):
        low, high = files[index].min_sequence, files[index].max_sequence
        at = _insertion_index(ranges, low, high)
        if at is None:
            return True
        if index not in base:
            ranges.insert(at, (low, high))
    return False


def _insertion_index(ranges: list[tuple[Any, Any]], low: Any, high: Any) -> int | None:
    """The index of a new range among ascending disjoint ranges; None if it overlaps one of them."""
    at = bisect(ranges, low, key=itemgetter(0))
    if (at and ranges[at - 1][1] >= low) or (at < len(ranges) and ranges[at][0] <= high):
        return None
    return at


def _searcher(keys: Keys, rest: Sequence[int]) -> Callable[[int], _Indexes]:
    """A search for the small files' keys in a big file, which its writer sorted."""
    # The keys are sorted runs, which a stable sort merges; numpy's `unique` would hash them.
    small_keys = np.sort(np.concatenate([keys.numbers[index][0] for index in rest]), kind="stable")
    small_keys = small_keys[np.flatnonzero(np.diff(small_keys, prepend=~small_keys[:1]))]

    def find(index: int) -> _Indexes:
        have = keys.numbers[index][0]
        if not (have[1:] > have[:-1]).all():
            return np.flatnonzero(np.isin(have, small_keys))
        near = small_keys[
            np.searchsorted(small_keys, have[0]) : np.searchsorted(small_keys, have[-1], side="right")
        ]
        positions = np.searchsorted(have, near)
        matches: _Indexes = positions[have[positions] == near]
        return matches

    return find


def _looker(keys: Keys, rest: Sequence[int]) -> Callable[[int], _Indexes]:
    """A lookup of a big file's keys among the small files', column by column. It may match too many rows."""
    numbers = [
        pa.array(np.unique(np.concatenate([keys.numbers[index][sort_key] for index in rest])))
        for sort_key in range(len(keys.numbers[0]))
    ]
    texts = [
        end_to_end(keys.texts[index][column] for index in rest).unique()
        for column in range(len(keys.texts[0]))
    ]

    def find(index: int) -> _Indexes:
        columns = [pa.array(sort_key) for sort_key in keys.numbers[index]] + keys.texts[index]
        matches = [
            np.asarray(pc.is_in(column, value_set=values))
            for column, values in zip(columns, [*numbers, *texts], strict=True)
        ]
        return np.flatnonzero(np.logical_and.reduce(matches))

    return find


def overlap_groups(rules: MergeRules, files: Iterable[MergeFile]) -> list[MergeGroup]:
    """Group all files of one bucket by overlapping keys; groups and files are in the order of their keys."""
    return [MergeGroup(rules, tuple(group)) for group in _connected(files)]


def narrowed(group: MergeGroup, needed: Container[str]) -> Iterator[MergeGroup]:
    """The parts that must be merged of a group of only the `needed` files (paths)."""
    files = [file for file in group.files if file.path in needed]
    return (part for part in overlap_groups(group.rules, files) if part.must_merge)


def _connected(files: Iterable[MergeFile]) -> Iterator[list[MergeFile]]:
    group: list[MergeFile] = []
    reach: tuple[Any, ...] = ()
    for file in sorted(files, key=lambda file: (file.min_key, file.max_key)):
        if group and file.min_key > reach:
            yield group
            group, reach = [], ()
        reach = max(reach, file.max_key)
        group.append(file)
    if group:
        yield group

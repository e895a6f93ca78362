"""Divide groups of files into tasks: small groups together, a big one by ranges of its keys.

Keys are tuples of the values that `Values.java` compares: integers in the values' order, and bytes. A bound
is a prefix of such a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from paimark.core.spark.merging.model import MergeFile, MergeGroup, MergeRules
from paimark.core.table.definition.column_types import ColumnType

# The most pieces into which a file's range of keys is divided, and the pieces for each task that it may fill.
_MOST_PIECES = 1024
_PIECES_A_TASK = 8
_FLOATS = {"FLOAT": (31, 0x7FC00000), "DOUBLE": (63, 0x7FF8000000000000)}

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class MergeTask:
    """Whole groups, or the keys of one group from `low` (inclusive) to `high` (exclusive); None: unbounded.

    `parts` has the index of each group, with the indexes of the files to read.
    """

    parts: tuple[tuple[int, tuple[int, ...]], ...]
    low: Key | None = None
    high: Key | None = None


def merge_tasks(groups: Sequence[MergeGroup], task_rows: int) -> list[MergeTask]:
    """Divide the groups into tasks of about `task_rows` rows, so that each row is in exactly one task."""
    tasks: list[MergeTask] = []
    parts: list[tuple[int, tuple[int, ...]]] = []
    filled = 0
    for index, group in enumerate(groups):
        if group.row_count > task_rows and all(file.has_row_numbers for file in group.files):
            tasks += _ranged(index, group, task_rows)
            continue
        parts.append((index, tuple(range(len(group.files)))))
        filled += group.row_count
        if filled >= task_rows:
            tasks.append(MergeTask(tuple(parts)))
            parts, filled = [], 0
    return [*tasks, MergeTask(tuple(parts))] if parts else tasks


def comparable(rules: MergeRules, key: Sequence[tuple[Any, ...]]) -> Key:
    """Convert a file's smallest or greatest key from the form of `keys.KeyReader` to that of this module."""
    return tuple(
        _value(type_text, each[1]) if each[0] else None
        for type_text, each in zip(rules.key_types, key, strict=True)
    )


def _value(type_text: str, value: Any) -> Any:
    name = ColumnType.of(type_text).name
    if name in _FLOATS:
        bits, not_a_number = _FLOATS[name]
        return min(value - (1 << bits), not_a_number)
    if name in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        millis, nanos = value
        return millis * 1000 + nanos // 1000
    return value if isinstance(value, bytes) else int(value)


def _ranged(number: int, group: MergeGroup, task_rows: int) -> Iterator[MergeTask]:
    ranges = [
        (comparable(group.rules, file.min_key), comparable(group.rules, file.max_key)) for file in group.files
    ]
    bounds = _bounds(group.files, ranges, task_rows)
    for low, high in zip([None, *bounds], [*bounds, None], strict=True):
        inside = tuple(
            index
            for index, (first, last) in enumerate(ranges)
            if (high is None or first[: len(high)] < high) and (low is None or last[: len(low)] >= low)
        )
        yield MergeTask(((number, inside),), low, high)


def _bounds(files: Sequence[MergeFile], ranges: Sequence[tuple[Key, Key]], task_rows: int) -> list[Key]:
    """Keys, ascending, that divide the files' rows into ranges of about `task_rows`."""
    pieces = sorted(
        piece
        for file, (low, high) in zip(files, ranges, strict=True)
        for piece in _pieces(file, low, high, task_rows)
    )
    bounds: list[Key] = []
    least = pieces[0][0]
    passed = 0.0
    for low, rows in pieces:
        if passed >= task_rows and low > (bounds[-1] if bounds else least):
            bounds.append(low)
            passed = 0.0
        passed += rows
    return bounds


def _pieces(file: MergeFile, low: Key, high: Key, task_rows: int) -> Iterator[tuple[Key, float]]:
    """The beginnings of a file's pieces and the rows of each, if its numbers are evenly distributed."""
    count = min(max(file.row_count * _PIECES_A_TASK // max(task_rows, 1), 1), _MOST_PIECES)
    if not (isinstance(low[0], int) and isinstance(high[0], int)) or high[0] - low[0] < count:
        count = 1
    yield low, file.row_count / count
    for piece in range(1, count):
        yield (low[0] + (high[0] - low[0]) * piece // count,), file.row_count / count

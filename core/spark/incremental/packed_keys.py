"""Keys in a compact, searchable form in memory: a whole number takes about two bytes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimark.core.spark.merging.model import MergeRules
from paimark.core.spark.merging.reading import KeyRows
from paimark.core.spark.sort_keys import SortKey, end_to_end, is_text, sort_keys_of, text_values
from paimark.core.table.definition.column_types import WHOLE, ColumnType

_BLOCK = 1024
_WIDTHS = (np.uint8, np.uint16, np.uint32, np.uint64)

_Indexes = NDArray[np.intp]
T = TypeVar("T")


def is_whole(type_text: str) -> bool:
    """Whether values of the type are their own sort keys."""
    return ColumnType.of(type_text).name in (*WHOLE, "DATE")


@dataclass(frozen=True, slots=True)
class PackedNumbers:
    """Ascending numbers, each stored as its distance from the first of its block."""

    firsts: SortKey
    distances: NDArray[np.unsignedinteger]

    @classmethod
    def of(cls, values: SortKey) -> PackedNumbers:
        firsts = values[::_BLOCK].copy()
        distances = values.view(np.uint64) - np.repeat(firsts, _BLOCK)[: len(values)].view(np.uint64)
        most = int(distances.max(initial=0))
        width = next(each for each in _WIDTHS if most <= np.iinfo(each).max)
        return cls(firsts, distances.astype(width))

    @property
    def nbytes(self) -> int:
        return self.firsts.nbytes + self.distances.nbytes

    def values(self, indexes: _Indexes) -> SortKey:
        firsts = self.firsts[indexes // _BLOCK].view(np.uint64)
        values: SortKey = (firsts + self.distances[indexes]).view(np.int64)
        return values

    def find(self, wanted: SortKey) -> _Indexes:
        """The positions of the wanted numbers that exist. `wanted` must be ascending."""
        blocks = np.searchsorted(self.firsts, wanted, side="right") - 1
        wanted, blocks = wanted[blocks >= 0], blocks[blocks >= 0]
        distance = wanted.view(np.uint64) - self.firsts[blocks].view(np.uint64)
        low = blocks * _BLOCK
        high = np.minimum(low + _BLOCK, len(self.distances))
        end = high
        while (low < high).any():
            middle = (low + high) // 2
            is_before = (low < high) & (self.distances[np.minimum(middle, end - 1)] < distance)
            low, high = np.where(is_before, middle + 1, low), np.where(is_before, high, middle)
        there = np.flatnonzero(low < end)
        indexes: _Indexes = low[there[self.distances[low[there]] == distance[there]]]
        return indexes


@dataclass(frozen=True, slots=True)
class KeyBlock:
    """Rows of one row group. `packed` has the keys if they could be packed; otherwise `rows` has them."""

    count: int
    rows: KeyRows
    packed: PackedNumbers | None

    @classmethod
    def of(cls, rules: MergeRules, rows: KeyRows) -> KeyBlock:
        count = len(rows.key[0])
        if len(rules.key_types) != 1 or not is_whole(rules.key_types[0]):
            return cls(count, rows, None)
        (column,) = rows.key
        # All blocks of a file get the same type, packed or not.
        column = (column.cast(pa.int32()) if pa.types.is_date32(column.type) else column).cast(pa.int64())
        values = np.ascontiguousarray(sort_keys_of(column, rules.key_types[0])[1])
        if column.null_count or not (values[1:] > values[:-1]).all():
            return cls(count, replace(rows, key=[column]), None)
        return cls(count, replace(rows, key=[]), PackedNumbers.of(values))

    @property
    def nbytes(self) -> int:
        rows = self.rows
        columns = [*rows.key, *(each for each in rows.fields if each is not None)]
        arrays = [each for each in (rows.numbers, rows.retracts, self.packed) if each is not None]
        return int(sum(each.nbytes for each in [*columns, *arrays]))

    def all(self) -> KeyRows:
        return self.take(np.arange(self.count)) if self.packed is not None else self.rows

    def take(self, indexes: _Indexes) -> KeyRows:
        chosen = take_rows(self.rows, indexes)
        if self.packed is None:
            return chosen
        return replace(chosen, key=[pa.chunked_array([pa.array(self.packed.values(indexes))])])


@dataclass(frozen=True, slots=True)
class WantedKeys:
    """The keys to look up, column by column: ascending sort keys, or a set of texts.

    `first` are the ascending values of the first column; None if its type is not compared with bounds.
    """

    rules: MergeRules
    parts: Sequence[SortKey | pa.Array]
    first: Sequence[Any] | None

    @classmethod
    def of(cls, rules: MergeRules, rows: Sequence[KeyRows]) -> WantedKeys:
        each_parts = [_parts(rules, each) for each in rows]
        parts: list[SortKey | pa.Array] = []
        for same in zip(*each_parts, strict=True):
            if isinstance(same[0], pa.ChunkedArray):
                parts.append(end_to_end(same).unique())
            else:
                parts.append(np.unique(np.concatenate(same)))
        return cls(rules, parts, _first_values(rules.key_types[0], parts))

    def are_outside(self, low: Any, high: Any) -> bool:
        """Whether no key is within these bounds of the first column; False if they can't be compared."""
        first = self.first
        if not first or not all(isinstance(each, type(first[0])) for each in (low, high)):
            return False
        return bisect_left(first, low) == bisect_right(first, high)

    def find(self, block: KeyBlock) -> _Indexes:
        """The ascending positions of rows that may have a wanted key: a superset, with all rows of a key.

        Each column is matched by itself, so a key of several columns may match by chance.
        """
        if block.packed is not None:
            # The first part marks nulls, and packed keys have none.
            return block.packed.find(np.asarray(self.parts[1]))
        found = np.ones(block.count, dtype=np.bool_)
        for have, wanted in zip(_parts(self.rules, block.rows), self.parts, strict=True):
            column = have if isinstance(have, pa.ChunkedArray) else pa.array(have)
            values = wanted if isinstance(have, pa.ChunkedArray) else pa.array(wanted)
            found &= np.asarray(pc.is_in(column, value_set=values), dtype=np.bool_)
        return np.flatnonzero(found)


def _first_values(type_text: str, parts: Sequence[SortKey | pa.Array]) -> list[Any] | None:
    texts: Any = parts[0]
    if is_whole(type_text):
        return list(np.asarray(parts[1]).tolist())
    return sorted(texts.to_pylist()) if is_text(type_text) and not texts.null_count else None


def take_rows(rows: KeyRows, indexes: _Indexes) -> KeyRows:
    chosen = pa.array(indexes)
    return KeyRows(
        [column.take(chosen) for column in rows.key],
        [None if column is None else column.take(chosen) for column in rows.fields],
        None if rows.numbers is None else rows.numbers[indexes],
        None if rows.retracts is None else rows.retracts[indexes],
    )


def together(parts: Sequence[KeyRows]) -> KeyRows:
    """Concatenate the rows of parts of one file."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    has_retracts = any(part.retracts is not None for part in parts)
    keys = [[part.key[index] for part in parts] for index in range(len(first.key))]
    fields = [[part.fields[index] for part in parts] for index in range(len(first.fields))]
    return KeyRows(
        [end_to_end(each, each[0].type) for each in keys],
        [None if each[0] is None else end_to_end(map(_present, each), each[0].type) for each in fields],
        None if first.numbers is None else np.concatenate([_present(part.numbers) for part in parts]),
        np.concatenate([_retracts(part) for part in parts]) if has_retracts else None,
    )


def _present(column: T | None) -> T:
    """Assert that the column exists: all parts of a file have the same columns."""
    assert column is not None
    return column


def _retracts(rows: KeyRows) -> NDArray[np.bool_]:
    return np.zeros(len(rows.key[0]), dtype=np.bool_) if rows.retracts is None else rows.retracts


def _parts(rules: MergeRules, rows: KeyRows) -> list[SortKey | pa.ChunkedArray]:
    parts: list[SortKey | pa.ChunkedArray] = []
    for column, type_text in zip(rows.key, rules.key_types, strict=True):
        if is_text(type_text):
            parts.append(text_values(column))
        else:
            parts += sort_keys_of(column, type_text)
    return parts

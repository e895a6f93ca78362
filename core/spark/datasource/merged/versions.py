"""Sort the rows of a split by key, and those of one key from the oldest to the newest version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimark.core.spark.sort_keys import (
    SortKey,
    is_text,
    numbered,
    packed,
    ranked,
    reversed_order,
    sort_keys_of,
    text_values,
)


class Tied(Exception):
    """Two versions of a key of which neither is the newer, or which are in one file."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of all rows; `kind` is Paimon's text of its type."""

    values: pa.ChunkedArray
    kind: str


@dataclass(frozen=True, slots=True)
class Versions:
    """The keys that several rows have.

    `shared` says of each row whether another one has its key. The other fields number only these rows:
    `order` sorts them by key, then from the oldest to the newest; `starts` are the indexes in `order` where a
    key begins.
    """

    shared: NDArray[np.bool_]
    order: NDArray[np.intp]
    starts: NDArray[np.intp]

    @property
    def sizes(self) -> NDArray[np.intp]:
        """The number of versions of each key."""
        return np.diff(self.starts, append=len(self.order))

    @property
    def ends(self) -> NDArray[np.intp]:
        """The indexes in `order` of the newest version of each key."""
        return self.starts + self.sizes - 1


def find_versions(
    key: Sequence[Column],
    sequence: Sequence[Column],
    numbers: pa.ChunkedArray,
    files: NDArray[np.intp],
    *,
    descending: bool,
) -> Versions:
    """Find the rows that share keys.

    `numbers` are the sequence numbers: they decide between versions that are equal in `sequence`. `files` are
    the rows' files, ascending. Raises `Tied`.
    """
    keys = _keys(key)
    order = _sorted(keys)
    same = _same(keys, order)
    # A stable sort has left rows with the same key in the order of their files.
    if (same & _same([files], order)).any():
        raise Tied
    shared = np.zeros(len(order), dtype=np.bool_)
    shared[order[1:][same]] = True
    shared[order[:-1][same]] = True
    some = pa.array(np.flatnonzero(shared))
    keys = [each[shared] for each in keys]
    ages = [sort_key for each in sequence for sort_key in _ages(each, some, descending)]
    ages.append(np.asarray(numbers.cast(pa.int64()))[shared])
    order = np.lexsort([*reversed(ages), *reversed(keys)])
    same = _same(keys, order)
    if (same & _same(ages, order)).any():
        raise Tied
    return Versions(shared, order, np.flatnonzero(np.concatenate([np.ones(min(len(order), 1), bool), ~same])))


def _keys(columns: Sequence[Column]) -> list[SortKey]:
    """Integers by which keys are equal or not."""
    keys: list[SortKey] = []
    for column in columns:
        if is_text(column.kind):
            keys.append(numbered(text_values(column.values)))
        else:
            keys += sort_keys_of(column.values, column.kind)
    return packed([keys]) or keys


def _sorted(keys: Sequence[SortKey]) -> NDArray[np.intp]:
    if len(keys) == 1:
        # The files are sorted by key, and a stable sort merges such runs.
        return np.argsort(keys[0], kind="stable")
    return np.lexsort(list(reversed(keys)))


def _same(keys: Sequence[SortKey], order: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether a row is equal to the one before it, for each but the first."""
    same = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
    for each in keys:
        ordered = each[order]
        same &= ordered[1:] == ordered[:-1]
    return same


def _ages(column: Column, some: pa.Array, descending: bool) -> list[SortKey]:
    """Greater for newer rows; nulls are the oldest."""
    values = column.values.take(some)
    keys = ranked(text_values(values)) if is_text(column.kind) else sort_keys_of(values, column.kind)
    return reversed_order(keys) if descending else keys

"""A cache of the key columns of data files, of limited size. A file's keys never change.

Of a file, only those row groups are read that may hold a wanted key, judged by the file's statistics.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paimark.core.spark.incremental.packed_keys import KeyBlock, WantedKeys, together
from paimark.core.spark.merging.model import MergeFile, MergeRules
from paimark.core.spark.merging.reading import KeyRows, OpenFile, RowGroups, row_groups

# The size of one row group in a file's list of row groups, in memory.
_GROUP_BYTES = 200
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class _Groups:
    """Row counts and bounds of a file's row groups. The bounds compare with `WantedKeys.first`."""

    rows: Sequence[int]
    bounds: Sequence[tuple[Any, Any] | None]

    @property
    def nbytes(self) -> int:
        return _GROUP_BYTES * (1 + len(self.rows))


class KeptKeys:
    """A least-recently-used cache of at most `most_bytes` bytes. Any thread may use it.

    A new entry never evicts what this or the previous search used: a search goes over all keys of a table, so
    if they do not fit, every cached block would be evicted before its next use.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._search = 0
        self._kept: OrderedDict[Hashable, tuple[KeyBlock | _Groups, int]] = OrderedDict()
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        return self._bytes

    def begin_search(self, most_bytes: int) -> None:
        """Begin a search, and set the cache's limit from now on."""
        with self._lock:
            self._search += 1
            self._most = most_bytes
            while self._bytes > self._most:
                self._remove(next(iter(self._kept)))

    def get(self, key: Hashable) -> Any:
        """The cached value, or None."""
        with self._lock:
            if key not in self._kept:
                return None
            value, _ = self._kept.pop(key)
            self._kept[key] = value, self._search
            return value

    def put(self, key: Hashable, value: KeyBlock | _Groups) -> None:
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = value, self._search
            self._bytes += value.nbytes
            while self._bytes > self._most:
                oldest, (_, used) = next(iter(self._kept.items()))
                if used >= self._search - 1:
                    self._remove(key)
                    return
                self._remove(oldest)

    def _remove(self, key: Hashable) -> None:
        self._bytes -= self._kept.pop(key)[0].nbytes


class KeyFiles:
    """The keys of the files of one group, cached or read. `with_numbers`: with the rows' sequence numbers."""

    def __init__(self, rules: MergeRules, open_file: OpenFile, kept: KeptKeys, *, with_numbers: bool) -> None:
        self._rules = rules
        self._open_file = open_file
        self._kept = kept
        self._with_numbers = with_numbers

    def all(self, file: MergeFile) -> KeyRows:
        """Raises `FileMissing` and `Corrupt`, as does `search`."""
        blocks = list(self._blocks(file, None))
        return together([block.all() for _, block in blocks])

    def search(self, file: MergeFile, wanted: WantedKeys) -> tuple[NDArray[np.intp], KeyRows] | None:
        """The rows whose key may be wanted: ascending positions in the file, and keys. None: no row."""
        if wanted.are_outside(_of_manifest(file.min_key), _of_manifest(file.max_key)):
            return None
        places, parts = [], []
        for start, block in self._blocks(file, wanted):
            found = wanted.find(block)
            if len(found):
                places.append(found + start)
                parts.append(block.take(found))
        return (np.concatenate(places), together(parts)) if parts else None

    def unread_rows(self, file: MergeFile, wanted: WantedKeys) -> int:
        """The most rows that a search must read from the file."""
        if wanted.are_outside(_of_manifest(file.min_key), _of_manifest(file.max_key)):
            return 0
        groups = self._kept.get(self._key(file, -1))
        if groups is None:
            return file.row_count
        return sum(
            rows for number, rows in enumerate(groups.rows) if self._kept.get(self._key(file, number)) is None
        )

    def _blocks(self, file: MergeFile, wanted: WantedKeys | None) -> Iterator[tuple[int, KeyBlock]]:
        """Each row group with its first row's position, without those that can hold no wanted key."""
        with ExitStack() as stack:
            opened: list[RowGroups] = []

            def source() -> RowGroups:
                if not opened:
                    numbers = self._with_numbers
                    opening = row_groups(file, self._rules, self._open_file, with_numbers=numbers)
                    opened.append(stack.enter_context(opening))
                return opened[0]

            groups = self._kept.get(self._key(file, -1))
            if groups is None:
                groups = _Groups(source().rows, [_comparable(each) for each in source().bounds])
                self._kept.put(self._key(file, -1), groups)
            start = 0
            for number, count in enumerate(groups.rows):
                bounds = groups.bounds[number]
                if wanted is None or bounds is None or not wanted.are_outside(*bounds):
                    block = self._kept.get(self._key(file, number))
                    if block is None:
                        block = KeyBlock.of(self._rules, source().read(number))
                        self._kept.put(self._key(file, number), block)
                    yield start, block
                start += count

    def _key(self, file: MergeFile, number: int) -> Hashable:
        rules = self._rules
        columns = rules.columns[file.schema_id]
        kinds = rules.key_types, rules.sequence_types, rules.uncounted_deletes, self._with_numbers
        return file, columns, kinds, number


def _of_manifest(key: Sequence[Any]) -> Any:
    """The first value of a file's least or greatest key. Useful only for types that `WantedKeys` compares."""
    is_there, *value = key[0]
    return value[0] if is_there else None


def _comparable(bounds: tuple[Any, Any] | None) -> tuple[Any, Any] | None:
    return None if bounds is None else (_of_statistics(bounds[0]), _of_statistics(bounds[1]))


def _of_statistics(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, date) and type(value) is date:
        return (value - _EPOCH).days
    return value

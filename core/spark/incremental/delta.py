"""The bits of groups of files: cached, and derived from earlier ones for a group with other files.

Bits stay valid, because the data files of a group never change. If no added or removed file has the key of a
row, the row keeps its bit, because the versions of that key are unchanged. For every other key, all versions
are found, and merged as `merging.survive` merges them.
"""

from __future__ import annotations

from bisect import bisect
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paimark.core.cancelling import check_cancelled, map_cancellable
from paimark.core.errors import Corrupt, FileMissing
from paimark.core.spark.incremental.kept_keys import KeptKeys, KeyFiles
from paimark.core.spark.incremental.packed_keys import WantedKeys
from paimark.core.spark.merging.model import WORD_BITS, Bits, MergeFile, MergeGroup
from paimark.core.spark.merging.reading import OpenFile
from paimark.core.spark.merging.single_versions import ages_overlap
from paimark.core.spark.merging.survive import surviving_rows

# If more than one row is added or removed for this many that stay, a merge of all rows costs no more.
_WORTH_SEARCHING = 4
# The most rows that are read to find the keys; beyond, all rows are merged anew.
_MOST_READ = 128_000_000

_Indexes = NDArray[np.intp]
# For each file `near` returns at most so many of the groups that it was in.
_NEAR = 8


@dataclass(frozen=True, slots=True)
class _Piece:
    """Files of a group that were in one group before, with their bits then; None if a file was read whole.

    `gone` are the other files of that earlier group.
    """

    bits: dict[MergeFile, Bits | None]
    gone: tuple[MergeFile, ...]

    @property
    def worth(self) -> int:
        return sum(file.row_count for file in self.bits) - sum(file.row_count for file in self.gone)


@dataclass(frozen=True, slots=True)
class Earlier:
    """The starting point: the bits of files that stay, and the files that were added or removed since."""

    bits: dict[MergeFile, Bits]
    came: tuple[MergeFile, ...]
    gone: tuple[MergeFile, ...]

    @property
    def is_worthwhile(self) -> bool:
        changed = sum(file.row_count for file in (*self.came, *self.gone))
        return changed * _WORTH_SEARCHING <= sum(file.row_count for file in self.bits)


def earlier(group: MergeGroup, kept: BitCache, *, merged_only: bool = False) -> Earlier | None:
    """The earlier bits to start from; None if too few of the group's rows have any.

    With `merged_only`, a file that was read whole, outside of any group, does not count.
    """
    if group.has_vector or not group.has_row_numbers:
        return None
    bits: dict[MergeFile, Bits] = {}
    gone: list[MergeFile] = []
    ranges: list[tuple[Any, Any]] = []
    for piece in sorted(_pieces(group, kept, merged_only), key=lambda each: -each.worth):
        low = min(file.min_key for file in piece.bits)
        high = max(file.max_key for file in piece.bits)
        place = bisect(ranges, low, key=itemgetter(0))
        overlaps = (place and ranges[place - 1][1] >= low) or (
            place < len(ranges) and ranges[place][0] <= high
        )
        # If the key ranges of two pieces overlap, versions of one key were never merged with each other.
        if not overlaps and piece.worth > 0 and bits.keys().isdisjoint(piece.bits):
            ranges.insert(place, (low, high))
            bits |= {file: _whole(file) if each is None else each for file, each in piece.bits.items()}
            gone += piece.gone
    came = tuple(file for file in group.files if file not in bits)
    # The earlier groups may share files, so a file can be in `gone` of several pieces.
    found = Earlier(bits, came, tuple(dict.fromkeys(gone)))
    return found if bits and came + found.gone and found.is_worthwhile else None


def _pieces(group: MergeGroup, kept: BitCache, merged_only: bool) -> list[_Piece]:
    files, columns = set(group.files), group.rules.columns
    pieces = []
    for before, bits in kept.near(group):
        # If the compared columns of a schema changed, the bits of its files no longer hold.
        alike = {number for number, each in before.rules.columns.items() if columns.get(number) == each}
        same: dict[MergeFile, Bits | None] = {
            file: each
            for file, each in zip(before.files, bits, strict=True)
            if file in files and file.schema_id in alike
        }
        gone = tuple(file for file in before.files if file not in same)
        if same and all(file.schema_id in columns for file in gone):
            pieces.append(_Piece(same, gone))
    if not merged_only:
        pieces += [_Piece({file: None}, ()) for file in group.files if not group.rules.may_retract(file)]
    return pieces


def _whole(file: MergeFile) -> Bits:
    words = np.full(-(-file.row_count // WORD_BITS), -1, dtype=np.int64)
    if rest := file.row_count % WORD_BITS:
        words[-1] = (1 << rest) - 1
    return Bits(file.row_count, words)


def survivors_since(
    group: MergeGroup, before: Earlier, open_file: OpenFile, kept: KeptKeys
) -> list[Bits] | None:
    """The result of `survive.survivors`, derived from `before`; None if `survivors` is the better way."""
    keys = KeyFiles(group.rules, open_file, kept, with_numbers=ages_overlap(group.files))
    try:
        gone = [keys.all(file) for file in before.gone]
    except (FileMissing, Corrupt):
        # No snapshot in use needs the removed files, so they may be deleted: merge all rows instead.
        return None
    came = [keys.all(file) for file in before.came]
    wanted = WantedKeys.of(group.rules, [*came, *gone])
    stay = list(before.bits)
    if sum(keys.unread_rows(file, wanted) for file in stay) > _MOST_READ:
        return None
    check_cancelled()
    answers = map_cancellable(lambda file: keys.search(file, wanted), stay)
    # If a key is in no changed file, either all of its versions were found or none: its bits stay the same.
    found = {file: each for file, each in zip(stay, answers, strict=True) if each is not None}
    files = [*found, *before.came]
    rows = [*(each for _, each in found.values()), *came]
    truths = dict(zip(files, surviving_rows(group.rules, files, rows), strict=True))
    made = dict(before.bits)
    for file, (places, _) in found.items():
        made[file] = _changed(made[file], places, truths[file])
    made |= {file: Bits.of(truths[file]) for file in before.came}
    return [made[file] for file in group.files]


def _changed(bits: Bits, places: _Indexes, truths: NDArray[np.bool_]) -> Bits:
    words = bits.words.copy()
    octets = words.view(np.uint8)
    marks = np.left_shift(1, places & 7).astype(np.uint8)
    np.bitwise_or.at(octets, places[truths] >> 3, marks[truths])
    np.bitwise_and.at(octets, places[~truths] >> 3, ~marks[~truths])
    return Bits(bits.rows, words, bits.first)


class BitCache:
    """A cache of `most_bytes` that evicts the least recently used group. Thread-safe.

    The key is the merged files and the rules, not the snapshot, so two snapshots share the bits of a group
    that is in both.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._bits: OrderedDict[Hashable, tuple[MergeGroup, list[Bits]]] = OrderedDict()
        # By rules and file: the groups that it was in, the latest last.
        self._groups_of: dict[Hashable, list[Hashable]] = {}
        self._lock = Lock()

    def get(self, group: MergeGroup) -> list[Bits] | None:
        """The bits of each file, in the order of `group.files`; None if they are not cached."""
        identity = _identity(group)
        with self._lock:
            if identity not in self._bits:
                return None
            self._bits.move_to_end(identity)
            return self._bits[identity][1]

    def put(self, group: MergeGroup, bits: list[Bits]) -> None:
        identity = _identity(group)
        with self._lock:
            if identity in self._bits:
                self._remove(identity)
            self._bits[identity] = group, bits
            self._bytes += _bytes(bits)
            for file in _files(group):
                self._groups_of.setdefault(file, []).append(identity)
            while self._bytes > self._most:
                self._remove(next(iter(self._bits)))

    def near(self, group: MergeGroup) -> list[tuple[MergeGroup, list[Bits]]]:
        """Cached groups with the same rules that share files with this one, each once, the latest first."""
        with self._lock:
            keys: dict[Hashable, None] = {}
            for file in _files(group):
                keys.update(dict.fromkeys(reversed(self._groups_of.get(file, ())[-_NEAR:])))
            return [self._bits[identity] for identity in keys]

    def _remove(self, identity: Hashable) -> None:
        group, bits = self._bits.pop(identity)
        self._bytes -= _bytes(bits)
        for file in _files(group):
            self._groups_of[file].remove(identity)
            if not self._groups_of[file]:
                del self._groups_of[file]


def _bytes(bits: list[Bits]) -> int:
    return sum(each.words.nbytes for each in bits)


def _identity(group: MergeGroup) -> Hashable:
    return tuple(_files(group))


def _files(group: MergeGroup) -> Iterator[Hashable]:
    rules_key = _rules_key(group)
    return ((rules_key, file, group.rules.columns[file.schema_id]) for file in group.files)


def _rules_key(group: MergeGroup) -> Hashable:
    rules = group.rules
    deletes = rules.ignore_delete, rules.uncounted_deletes
    return rules.key_types, rules.sequence_types, rules.descending, deletes

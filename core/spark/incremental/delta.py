"""Derive the bits of a group from earlier bits: only the keys of added and removed files are looked up.

If no such file has the key of a row, the row keeps its bit, because the versions of that key are unchanged.
For every other key, all versions are found, and merged as `merging.survive` merges them.
"""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paimark.core.cancelling import check_cancelled, map_cancellable
from paimark.core.errors import Corrupt, FileMissing
from paimark.core.spark.incremental.kept_keys import KeptKeys, KeyFiles
from paimark.core.spark.incremental.packed_keys import WantedKeys
from paimark.core.spark.merging.bit_cache import BitCache
from paimark.core.spark.merging.model import WORD_BITS, Bits, MergeFile, MergeGroup
from paimark.core.spark.merging.narrow import ages_overlap
from paimark.core.spark.merging.opening import OpenFile
from paimark.core.spark.merging.survive import surviving_rows

# If more than one row is added or removed for this many that stay, a merge of all rows costs no more.
_WORTH_SEARCHING = 4
# The most rows that are read to find the keys; beyond, all rows are merged anew.
_MOST_READ = 128_000_000

_Indexes = NDArray[np.intp]


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

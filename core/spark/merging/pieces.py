"""Merge a group of Parquet files piece by piece, in the order of their keys, with few rows in memory.

Files with disjoint ranges of keys make a run, which is read one block after the other. A piece goes up to
the greatest key to which every run has been read. All versions of its keys are in it.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap, BitMap64

from paimark.core.cancelling import check_cancelled
from paimark.core.errors import Corrupt
from paimark.core.spark.merging.model import Bits, MergeFile, MergeGroup, MergeRules, Vector
from paimark.core.spark.merging.reading import KeyRows, OpenFile, read_rows, row_blocks
from paimark.core.spark.merging.single_versions import ages_overlap, apart
from paimark.core.spark.merging.survive import key_order, surviving_rows

_Truths = NDArray[np.bool_]


def survivors_in_pieces(group: MergeGroup, open_file: OpenFile, most_rows: int) -> list[Bits] | None:
    """The result of `survive.survivors`; None if the rows of a file are not in the order of their keys.

    About `most_rows` are in memory at a time. Raises as `survivors`.
    """
    files = group.files
    with_numbers = ages_overlap(files)
    truths: list[list[_Truths]] = [[] for _ in files]
    bits: list[Bits | None] = [None] * len(files)
    indexes = list(_runs(group))
    most = max(most_rows // len(indexes), 1)
    with ExitStack() as stack:
        runs = [
            stack.enter_context(closing(_blocks(group, run, open_file, most, with_numbers=with_numbers)))
            for run in indexes
        ]
        held = {run: part for run, blocks in enumerate(runs) if (part := next(blocks, None)) is not None}
        while held:
            check_cancelled()
            parts = list(held.values())
            told = _told(group.rules, parts)
            if told is None:
                return None
            filled = [each for each, count in enumerate(told) if count]
            heads = [_sliced(parts[each].rows, 0, told[each]) for each in filled]
            surviving = surviving_rows(group.rules, [files[parts[each].file] for each in filled], heads)
            for each, truth in zip(filled, surviving, strict=True):
                truths[parts[each].file].append(truth)
            for run, part, count in zip(list(held), parts, told, strict=True):
                if count < len(part):
                    held[run] = replace(part, rows=_sliced(part.rows, count, len(part)))
                    continue
                if part.is_end:
                    bits[part.file] = Bits.of(np.concatenate(truths[part.file]))
                    truths[part.file] = []
                following = next(runs[run], None)
                if following is None:
                    del held[run]
                else:
                    held[run] = following
    return [Bits.of(np.zeros(0, dtype=np.bool_)) if each is None else each for each in bits]


def first_survivors(group: MergeGroup, open_file: OpenFile, first: int) -> list[Bits] | None:
    """The bits of each file's first rows, up to the greatest key to which all files were read.

    At most `first` rows of a file are read. None if they are not sorted by key. Raises as `survivors`.
    """
    files, rules = group.files, group.rules
    with_numbers = ages_overlap(files)
    rows = [read_rows(file, rules, open_file, with_numbers=with_numbers, first=first) for file in files]
    parts = [
        _Part(index, each, False, len(each.key[0]) >= file.row_count)
        for index, (each, file) in enumerate(zip(rows, files, strict=True))
    ]
    told = _told(rules, parts)
    if told is None:
        return None
    truths = surviving_rows(rules, files, rows)
    return [Bits.of(truth[:count]) for truth, count in zip(truths, told, strict=True)]


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows of a file, in the order of their keys.

    `is_end`: they are the last of the file; `is_last`: no more rows of its run follow.
    """

    file: int
    rows: KeyRows
    is_end: bool
    is_last: bool

    def __len__(self) -> int:
        return len(self.rows.key[0])


def _told(rules: MergeRules, parts: Sequence[_Part]) -> list[int] | None:
    """How many first rows of each part have all versions of their keys in the parts; None if not sorted."""
    orders = key_order(rules, [part.rows for part in parts])
    if not all((order[1:] > order[:-1]).all() for order in orders):
        return None
    ends = [order[-1] for order, part in zip(orders, parts, strict=True) if len(order) and not part.is_last]
    if not ends:
        return [len(order) for order in orders]
    return [int(np.searchsorted(order, min(ends), side="right")) for order in orders]


def _runs(group: MergeGroup) -> Iterator[list[int]]:
    """The indexes of the files in each run, in the order of their keys."""
    left = list(range(len(group.files)))
    while left:
        chosen = {left[index] for index in apart([group.files[each] for each in left])}
        yield sorted(chosen, key=lambda index: group.files[index].min_key)
        left = [index for index in left if index not in chosen]


def _blocks(
    group: MergeGroup, run: Sequence[int], open_file: OpenFile, most_rows: int, *, with_numbers: bool
) -> Generator[_Part]:
    """The rows of a run's files, some at a time."""
    for index in run:
        file, count = group.files[index], 0
        for rows in row_blocks(file, group.rules, open_file, most_rows, with_numbers=with_numbers):
            count += len(rows.key[0])
            is_end = count == file.row_count
            yield _Part(index, rows, is_end, is_end and index == run[-1])


def _sliced(rows: KeyRows, start: int, stop: int) -> KeyRows:
    return KeyRows(
        [column.slice(start, stop - start) for column in rows.key],
        [None if column is None else column.slice(start, stop - start) for column in rows.fields],
        None if rows.numbers is None else rows.numbers[start:stop],
        None if rows.retracts is None else rows.retracts[start:stop],
    )


_NUMBER = 4
# The kinds of bitmaps: 32-bit numbers, and 64-bit numbers, whose kind is in the other byte order.
_KIND = (1581511376).to_bytes(_NUMBER, "big")
_KIND_64 = (1681511377).to_bytes(_NUMBER, "little")


# A vector in an index file consists of the length of kind and bitmap, four bytes of kind, a roaring bitmap in
# its specified format, and the CRC32 of kind and bitmap.
def vector_bits(files: Sequence[MergeFile], open_file: OpenFile) -> list[Bits]:
    """The bits of the rows left in each file. All vectors must be in one index file, which is read once.

    Raises `FileMissing`, `Unavailable` and `Corrupt`.
    """
    vectors = [file.vector for file in files if file.vector is not None]
    path, first = vectors[0].path, min(vector.offset for vector in vectors)
    # The length of 64-bit vectors includes the frame, so a few bytes too many are read.
    ends = [vector.offset + vector.length + 2 * _NUMBER for vector in vectors]
    try:
        with open_file(path) as source:
            source.seek(first)
            data = source.read(max(ends) - first)
    except OSError as error:
        raise Corrupt(f"{path} can't be read ({error})") from error
    return [
        _bits(file, vector, data[vector.offset - first : end - first])
        for file, vector, end in zip(files, vectors, ends, strict=True)
    ]


def _bits(file: MergeFile, vector: Vector, data: bytes) -> Bits:
    """`data` begins with the vector."""
    deleted = _deleted(vector, data)
    if len(deleted) and int(deleted.max()) >= file.row_count:
        raise Corrupt(f"{vector.path} deletes rows that {file.path} does not have")
    truths = np.ones(file.row_count, dtype=np.bool_)
    truths[deleted] = False
    return Bits.of(truths)


def _deleted(vector: Vector, data: bytes) -> NDArray[np.integer]:
    """The numbers of the deleted rows. Raises `Corrupt`."""
    length, kind = int.from_bytes(data[:_NUMBER], "big"), data[_NUMBER : 2 * _NUMBER]
    told = vector.length - 2 * _NUMBER if kind == _KIND_64 else vector.length
    if length != told or length < _NUMBER:
        raise Corrupt(f"{vector.path} has no deletion vector of length {told} at {vector.offset}")
    if kind not in (_KIND, _KIND_64):
        raise Corrupt(f"{vector.path} has a deletion vector of an unknown kind, {kind.hex()}")
    end = _NUMBER + length
    if zlib.crc32(data[_NUMBER:end]) != int.from_bytes(data[end : end + _NUMBER], "big"):
        raise Corrupt(f"{vector.path} has a deletion vector with a wrong checksum at {vector.offset}")
    bitmap = bytes(data[2 * _NUMBER : end])
    try:
        if kind == _KIND:
            return np.asarray(BitMap.deserialize(bitmap).to_array())
        return np.asarray(BitMap64.deserialize(bitmap).to_array())
    except ValueError as error:
        raise Corrupt(f"{vector.path} has a deletion vector that can't be read ({error})") from error

"""Input and output of merging a bucket's files by key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paimark.core.errors import Corrupt

# The kinds of rows are stored as 0 to 3: +I, -U, +U, -D. -U and -D remove the key.
RETRACTING = (1, 3)

WORD_BITS = 64
# A row of Spark's takes tens of bits anyway.
_MOST_BITS_A_ROW = 32
_SPARE_BITS = 1 << 16


class Unmergeable(Exception):
    """The reason why the newest version alone doesn't give a table's rows, for `EXPLAIN`'s line."""


@dataclass(frozen=True, slots=True)
class MergeColumns:
    """The names, in files of one schema, of the columns that merging reads; None if a file lacks it."""

    key: tuple[str, ...]
    sequence: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class MergeRules:
    """How a table merges. Types are Paimon's texts (`BIGINT NOT NULL`); `columns` is by schema id.

    `descending`: the version of a key with the smaller sequence fields is the newer one.
    `ignore_delete`: rows that retract are ignored, and the version before them stays.
    `uncounted_deletes`: files of any level may hold deletions that their `delete_row_count` omits.
    """

    key_types: tuple[str, ...]
    sequence_types: tuple[str, ...]
    descending: bool
    ignore_delete: bool
    columns: Mapping[int, MergeColumns]
    uncounted_deletes: bool = False

    def may_retract(self, file: MergeFile) -> bool:
        """Whether rows in a file may be deletions."""
        return self.uncounted_deletes or file.may_retract


@dataclass(frozen=True, slots=True)
class Vector:
    """Where a file's deletion vector is. `path` is an address; `offset` and `length` are as in manifests."""

    path: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class MergeFile:
    """A data file of a bucket. `path` is an address that Spark and `opening.open_file` take.

    `row_count` is before merging, `size` is in bytes. `min_key` and `max_key` are in the form of
    `keys.KeyReader`, which compares as Paimon does. Not all writers record `delete_row_count`: see
    `may_retract`. A file with a `vector` is not merged with others.
    """

    path: str
    format: str
    schema_id: int
    level: int
    row_count: int
    min_sequence: int
    max_sequence: int
    delete_row_count: int | None
    min_key: tuple[Any, ...]
    max_key: tuple[Any, ...]
    size: int = 0
    vector: Vector | None = None

    @property
    def has_row_numbers(self) -> bool:
        """Whether a row is identified by its index in the file; otherwise by its sequence number."""
        return self.format == "parquet"

    @property
    def is_sparse(self) -> bool:
        """Whether one bit per sequence number takes too much: most of the numbers belong to removed rows."""
        return self.max_sequence - self.min_sequence >= _MOST_BITS_A_ROW * self.row_count + _SPARE_BITS

    @property
    def may_retract(self) -> bool:
        """Whether rows may be deletions, by the manifest. On level 0 pypaimon doesn't count deletions."""
        return self.level == 0 or self.delete_row_count != 0


@dataclass(frozen=True, slots=True)
class MergeGroup:
    """Files of one bucket with connected key ranges: no other file has a key in these ranges.

    Or a single file that has a deletion vector.
    """

    rules: MergeRules
    files: tuple[MergeFile, ...]

    @property
    def must_merge(self) -> bool:
        """False for a single file that is read whole."""
        return len(self.files) > 1 or self.has_vector or self.rules.may_retract(self.files[0])

    @property
    def has_vector(self) -> bool:
        """Whether a deletion vector tells which rows are left. Then no rows are read."""
        return self.files[0].vector is not None

    @property
    def has_row_numbers(self) -> bool:
        """Whether each row is identified by its index in its file."""
        return all(file.has_row_numbers for file in self.files)

    @property
    def row_count(self) -> int:
        """Rows before merging."""
        return sum(file.row_count for file in self.files)


@dataclass(frozen=True, slots=True)
class Bits:
    """One bit per row of a file, in the file's order: 1 = the row is in the snapshot.

    Row `i` is bit `i % 64`, counted from the lowest, of word `i // 64`. Bits after the last row are 0. Spark
    gives no row indexes for ORC files: they have one bit per sequence number instead, beginning with `first`,
    and `rows` counts these.
    """

    rows: int
    words: NDArray[np.int64]
    first: int = 0

    @classmethod
    def of(cls, survives: NDArray[np.bool_], first: int = 0) -> Bits:
        """From one boolean per row."""
        packed = np.packbits(survives, bitorder="little")
        padded = np.zeros(-(-len(survives) // WORD_BITS) * 8, dtype=np.uint8)
        padded[: len(packed)] = packed
        return cls(len(survives), padded.view("<i8"), first)

    @classmethod
    def by_number(cls, survives: NDArray[np.bool_], file: MergeFile, numbers: NDArray[np.int64]) -> Bits:
        """From one boolean and one sequence number per row.

        Raises `Unmergeable` if two rows share a number, `Corrupt` if one is out of the manifest's range.
        """
        truths = np.zeros(file.max_sequence - file.min_sequence + 1, dtype=np.bool_)
        if len(numbers) and not file.min_sequence <= numbers.min() <= numbers.max() <= file.max_sequence:
            raise Corrupt(f"{file.path} has sequence numbers that its manifest does not tell of")
        truths[numbers - file.min_sequence] = True
        if np.count_nonzero(truths) < len(numbers):
            raise Unmergeable(f"rows of {file.format} files share sequence numbers")
        truths[numbers[~survives] - file.min_sequence] = False
        return cls.of(truths, file.min_sequence)

    def truths(self) -> NDArray[np.bool_]:
        unpacked = np.unpackbits(self.words.view(np.uint8), count=self.rows, bitorder="little")
        return unpacked.view(np.bool_)

    def popcount(self) -> int:
        """The number of rows that survive."""
        return int(np.bitwise_count(self.words.view(np.uint64)).sum())


def without(rows: int, mine: Bits | None, theirs: Bits | None) -> Bits:
    """The rows of a file that are in one state and not in another; None: all its `rows` are in that state."""
    if theirs is None:
        # The other state has all rows of the file, so none are left.
        return (
            Bits.of(np.zeros(rows, dtype=np.bool_)) if mine is None else replace(mine, words=mine.words * 0)
        )
    if mine is None:
        return Bits.of(~theirs.truths(), theirs.first)
    return replace(mine, words=mine.words & ~theirs.words)

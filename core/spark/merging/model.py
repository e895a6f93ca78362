"""Input and output of merging a bucket's files by key: values that travel to the workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import Corrupt

# A row's kinds as files hold them: +I, -U, +U, -D. The second and the last take the key away.
RETRACTING = (1, 3)

WORD_BITS = 64
# A row takes Spark tens of bits in any case.
_MOST_BITS_A_ROW = 32
_SPARE_BITS = 1 << 16


class Unmergeable(Exception):
    """Why a table's rows can't be chosen by their newest version alone, for the line that `EXPLAIN` shows."""


@dataclass(frozen=True, slots=True)
class MergeColumns:
    """Names, in files of one schema, of the columns that merging reads; None: it lacks the column."""

    key: tuple[str, ...]
    sequence: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class MergeRules:
    """How a table merges: types are Paimon's texts (`BIGINT NOT NULL`), `columns` goes by schema id.

    `descending`: of two versions of a key the one with the smaller sequence fields is the newer.
    `ignore_delete`: rows that retract count for nothing, and the version before them stands.
    `uncounted_deletes`: files may hold deletions that no count tells of, on any level.
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
    """Where a file's deletion vector is. `path` is an address; `offset` and `length` as manifests tell."""

    path: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class MergeFile:
    """A data file of a bucket. `path` is an address that Spark and `opening.open_file` take.

    `row_count` is before merging, `size` is bytes. `min_key` and `max_key` are in the form that
    `keys.KeyReader` gives, which compares as Paimon does. `delete_row_count` is what the writer recorded, and
    not all of them do: see `may_retract`. A file with a `vector` is merged with no other.
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
        """Whether a row is told by its place in the file; else by its sequence number."""
        return self.format != "orc"

    @property
    def is_sparse(self) -> bool:
        """Whether a bit a sequence number is too much: most of the numbers are of rows long gone."""
        return self.max_sequence - self.min_sequence >= _MOST_BITS_A_ROW * self.row_count + _SPARE_BITS

    @property
    def may_retract(self) -> bool:
        """Whether its manifest lets rows in it be deletions; pypaimon, writing on level 0, counts none."""
        return self.level == 0 or self.delete_row_count != 0


@dataclass(frozen=True, slots=True)
class MergeGroup:
    """The files of one bucket whose key ranges hang together: no key in them is in any other file.

    Or a file alone that has a deletion vector.
    """

    rules: MergeRules
    files: tuple[MergeFile, ...]

    @property
    def must_merge(self) -> bool:
        """False for a file that is read as it is, whole."""
        return len(self.files) > 1 or self.has_vector or self.rules.may_retract(self.files[0])

    @property
    def has_vector(self) -> bool:
        """Whether a deletion vector says which rows are left: no row is looked at."""
        return self.files[0].vector is not None

    @property
    def has_row_numbers(self) -> bool:
        """Whether each row is told by its place in its file."""
        return all(file.has_row_numbers for file in self.files)

    @property
    def row_count(self) -> int:
        """Rows before merging."""
        return sum(file.row_count for file in self.files)


@dataclass(frozen=True, slots=True)
class Bits:
    """One bit a row of a file, in the file's order: 1 = the row is in the snapshot.

    Row `i` is bit `i % 64`, counted from the lowest, of word `i // 64`. Bits after the last row are 0. An ORC
    file, of which Spark does not tell rows' places, has a bit for each of its sequence numbers instead, the
    first of them `first`, and `rows` counts those.
    """

    rows: int
    words: NDArray[np.int64]
    first: int = 0

    @classmethod
    def of(cls, survives: NDArray[np.bool_], first: int = 0) -> Bits:
        """From one truth a row."""
        packed = np.packbits(survives, bitorder="little")
        padded = np.zeros(-(-len(survives) // WORD_BITS) * 8, dtype=np.uint8)
        padded[: len(packed)] = packed
        return cls(len(survives), padded.view("<i8"), first)

    @classmethod
    def by_number(cls, survives: NDArray[np.bool_], file: MergeFile, numbers: NDArray[np.int64]) -> Bits:
        """From one truth and one sequence number a row. Raises `Unmergeable` when two rows share one."""
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
        """How many rows survive."""
        return int(np.bitwise_count(self.words.view(np.uint64)).sum())


def without(rows: int, mine: Bits | None, theirs: Bits | None) -> Bits:
    """The rows of a file that are in one state and not in another; None: all of its `rows` are in it."""
    if theirs is None:
        # Of a file that is merged here and whole there nothing is left.
        return (
            Bits.of(np.zeros(rows, dtype=np.bool_)) if mine is None else replace(mine, words=mine.words * 0)
        )
    if mine is None:
        return Bits.of(~theirs.truths(), theirs.first)
    return replace(mine, words=mine.words & ~theirs.words)

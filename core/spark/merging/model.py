"""What merging by key is told of a bucket's files, and what it answers: values that travel to the workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A row's kinds as files hold them: +I, -U, +U, -D. The second and the last take the key away.
RETRACTING = (1, 3)

WORD_BITS = 64


class Unmergeable(Exception):
    """Why a table's rows can't be chosen by their newest version alone, for the line that `EXPLAIN` shows."""


@dataclass(frozen=True, slots=True)
class FileColumns:
    """What the columns that merging reads are called in files of one schema; None: it lacks the column."""

    key: tuple[str, ...]
    sequence: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class MergeRules:
    """How a table merges: types are Paimon's texts (`BIGINT NOT NULL`), `columns` goes by schema id.

    `descending`: of two versions of a key the one with the smaller sequence fields is the newer.
    `ignore_delete`: rows that retract count for nothing, and the version before them stands.
    """

    key_types: tuple[str, ...]
    sequence_types: tuple[str, ...]
    descending: bool
    ignore_delete: bool
    columns: Mapping[int, FileColumns]


@dataclass(frozen=True, slots=True)
class MergeFile:
    """A data file of a bucket. `path` is an address that Spark and `opening.open_file` take.

    `row_count` is before merging. `min_key` and `max_key` are in the form that `keys.KeyReader` gives, which
    compares as Paimon does. `delete_row_count` is what the writer recorded, and not all of them do: see
    `may_retract`.
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

    @property
    def may_retract(self) -> bool:
        """Whether rows in it may be deletions: pypaimon's files, always on level 0, record none of theirs."""
        return self.level == 0 or self.delete_row_count != 0


@dataclass(frozen=True, slots=True)
class MergeGroup:
    """The files of one bucket whose key ranges hang together: no key in them is in any other file."""

    rules: MergeRules
    files: tuple[MergeFile, ...]

    @property
    def must_merge(self) -> bool:
        """False for a file that is read as it is, whole."""
        return len(self.files) > 1 or self.files[0].may_retract

    @property
    def row_count(self) -> int:
        """Rows before merging."""
        return sum(file.row_count for file in self.files)


@dataclass(frozen=True, slots=True)
class Bits:
    """One bit a row of a file, in the file's order: 1 = the row is in the snapshot.

    Row `i` is bit `i % 64`, counted from the lowest, of word `i // 64`. Bits after the last row are 0.
    """

    rows: int
    words: NDArray[np.int64]

    @classmethod
    def of(cls, survives: NDArray[np.bool_]) -> Bits:
        """From one truth a row."""
        packed = np.packbits(survives, bitorder="little")
        padded = np.zeros(-(-len(survives) // WORD_BITS) * 8, dtype=np.uint8)
        padded[: len(packed)] = packed
        return cls(len(survives), padded.view("<i8"))

    def truths(self) -> NDArray[np.bool_]:
        """One truth a row."""
        unpacked = np.unpackbits(self.words.view(np.uint8), count=self.rows, bitorder="little")
        return unpacked.view(np.bool_)

    def popcount(self) -> int:
        """How many rows survive."""
        return int(np.bitwise_count(self.words.view(np.uint64)).sum())


def joined(parts: Sequence[Bits]) -> tuple[NDArray[np.int64], list[int]]:
    """The words of many files in one array, and at which bit each file's first row is."""
    words = [part.words for part in parts]
    ends = np.cumsum([0, *(len(each) for each in words)])
    return np.concatenate(words) if words else np.zeros(0, dtype=np.int64), [
        int(end) * WORD_BITS for end in ends[:-1]
    ]

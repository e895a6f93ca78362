"""Which rows of overlapping files survive in a snapshot of a `deduplicate` primary-key table.

The way there: `rules.merge_rules` (or `Unmergeable`: read another way), `rules.merge_file` for every data file,
`overlap.overlap_groups` for each bucket, and `merge_bits` here for the groups that `must_merge`. What it gives
never changes for a snapshot, and is kept while there is room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.spark.merging.model import Bits, MergeGroup


@dataclass(frozen=True, slots=True)
class Snapshotted:
    """What tells one state of one table from every other: where it is, and the snapshot's id and uuid."""

    table: str
    root: str
    snapshot: int
    uuid: str | None


def merge_bits(
    spark: Any, state: Snapshotted, options: Mapping[str, str], groups: Sequence[MergeGroup]
) -> dict[str, Bits]:
    """Each file's bits by its path, of all files in `groups`; `options` are the catalog's, to open files with.

    Built here, or where there are too many keys on the executors of `spark`, a group a task. Raises
    `FileMissing`, `Corrupt` and `Unavailable`.
    """
    raise NotImplementedError

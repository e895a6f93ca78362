"""The data files of each bucket in one state: how many there are, small ones and those of level 0."""

from __future__ import annotations

from collections.abc import Iterator

from paimark.core.errors import PaimarkError
from paimark.core.space.report import BucketRow
from paimark.core.table.definition.file_sizes import small_below
from paimark.core.table.manifests.manifests import FileKey
from paimark.core.table.manifests.partition_values import PartitionValues
from paimark.core.table.records import TableSchema

# The number of the worst buckets that are listed.
MOST_LISTED = 1000


class Buckets:
    """Counts files one by one; even for a million files it holds only a few numbers for each bucket."""

    def __init__(self, schema: TableSchema) -> None:
        self.small_below = small_below(schema)
        self._schema = schema
        self._has_levels = bool(schema.primary_keys)
        self._counts: dict[tuple[bytes, int], list[int]] = {}

    def add(self, size: int, key: FileKey) -> None:
        counts = self._counts.setdefault((key.partition, key.bucket), [0, 0, 0, 0])
        counts[0] += 1
        counts[1] += size
        counts[2] += size < self.small_below
        counts[3] += key.level == 0

    def __len__(self) -> int:
        return len(self._counts)

    @property
    def small_files(self) -> int:
        return sum(counts[2] for counts in self._counts.values())

    @property
    def level_0_files(self) -> int | None:
        """None if files have no levels."""
        return sum(counts[3] for counts in self._counts.values()) if self._has_levels else None

    def worst(self) -> Iterator[BucketRow]:
        """The buckets with the most files that compaction would take."""
        worst = sorted(self._counts.items(), key=lambda each: (-_badness(each[1]), -each[1][0], each[0]))
        names = _Names(self._schema)
        for (partition, bucket), (files, size, small, level_0) in worst[:MOST_LISTED]:
            yield BucketRow(
                partition=names.of(partition),
                bucket=bucket,
                files=files,
                bytes=size,
                small=small,
                level_0=level_0 if self._has_levels else None,
            )


def _badness(counts: list[int]) -> int:
    return max(counts[2], counts[3])


class _Names:
    def __init__(self, schema: TableSchema) -> None:
        try:
            self._names: PartitionValues | None = PartitionValues(schema)
        except PaimarkError:
            self._names = None

    def of(self, partition: bytes) -> str:
        """The partition's values, times in UTC; its bytes if these can't be read."""
        try:
            return partition.hex() if self._names is None else self._names.text(partition)
        except PaimarkError:
            return partition.hex()

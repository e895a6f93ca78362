"""The batch reader of the data source `paimark`: it divides splits into tasks.

Runs in Spark's Python workers, so pypaimon is imported only where it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from paimark.core.errors import hints_in_messages
from paimark.core.spark.datasource.scan import Scan
from paimark.core.spark.datasource.worker_imports import settle

if TYPE_CHECKING:
    import pyarrow as pa

# The least bytes of a task.
_TASK_BYTES = 32 << 20
_MOST_TASKS = 10_000
# The cost of a byte in files that must be merged row by row, relative to files that need no merging.
_MERGING_COSTS = 16


class Part(InputPartition):
    """The splits that one task reads."""

    def __init__(self, splits: list[Any]) -> None:
        self.splits = splits


class PaimarkReader(DataSourceReader):
    def __init__(self, scan: Scan, schema: StructType) -> None:
        self.scan = scan
        self.spark_schema = schema

    @hints_in_messages()
    def partitions(self) -> list[InputPartition]:
        from paimark.core.spark.datasource.paimon import plan_splits

        parts: list[InputPartition] = [Part(group) for group in grouped(plan_splits(self.scan))]
        settle()
        return parts

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        from paimark.core.spark.arrow import fit_batch
        from paimark.core.spark.datasource.paimon import read_splits

        if not isinstance(partition, Part):
            return
        schema = to_arrow_schema(self.spark_schema)
        with hints_in_messages():
            for batch in read_splits(self.scan, partition.splits):
                yield fit_batch(batch, schema)


def grouped(splits: Sequence[Any]) -> list[list[Any]]:
    """Group neighbouring splits to tasks of sufficient size."""
    sizes = list(map(_cost, splits))
    enough = max(_TASK_BYTES, sum(sizes) // _MOST_TASKS)
    groups: list[list[Any]] = []
    filled = enough
    for split, size in zip(splits, sizes, strict=True):
        if filled + size > enough:
            groups.append([])
            filled = 0
        groups[-1].append(split)
        filled += size
    return groups


def _cost(split: Any) -> int:
    size: int = sum(file.file_size for file in split.files)
    return size if split.raw_convertible else size * _MERGING_COSTS

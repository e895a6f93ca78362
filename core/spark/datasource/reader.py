"""The batch reader of the data source `paimark`: it divides splits into tasks.

Runs in Spark's Python workers, so pypaimon is imported only where it is used.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from paimark.core.errors import hints_in_messages
from paimark.core.spark.datasource.scan import Scan

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


def leave_out_spark_jar() -> None:
    """Remove Spark's own jar from the path, where Spark puts it for its workers.

    It contains no Python, and before every task Python (until 3.13) reads its six thousand names again.
    """
    for path in [each for each in sys.path if Path(each).match("spark-core_*.jar")]:
        sys.path.remove(path)
        sys.path_importer_cache.pop(path, None)


@cache
def settle() -> None:
    """Exclude all present objects from garbage collection, which a worker does for every task.

    To be called in a worker after its imports. Idempotent.
    """
    leave_out_spark_jar()
    gc.collect()
    gc.freeze()

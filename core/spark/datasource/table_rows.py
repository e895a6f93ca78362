"""Read the rows of a scan in this process, without Spark. They are merged if the table has a primary key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pypaimon.schema.data_types import PyarrowFieldParser
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from paimark.core.errors import NotFound, Unavailable, hints_in_messages
from paimark.core.spark.arrow import fit_batch
from paimark.core.spark.datasource.paimon import open_table, plan_splits, read_splits
from paimark.core.spark.datasource.scan import Scan
from paimark.core.spark.datasource.worker_imports import settle

if TYPE_CHECKING:
    import pyarrow as pa


LOST_FILE = "An expiry or a clean-up took it; `paimark verify` says what is lost."


def arrow_schema(scan: Scan) -> pa.Schema:
    """The columns that the scan selects, in its order."""
    schema = PyarrowFieldParser.from_paimon_schema(open_table(scan).fields)
    if scan.columns is None:
        return schema
    return pa.schema([schema.field(name) for name in scan.columns])


def row_batches(scan: Scan, limit: int | None = None) -> Iterator[pa.RecordBatch]:
    """Yield at most `limit` rows in the columns of `arrow_schema`, reading lazily.

    Raises `Refused` for rows that can't be read correctly, `Corrupt` for a file that differs from its
    manifest, `NotFound` for a missing one, and `Unavailable`.
    """
    try:
        yield from _row_batches(scan, limit)
    except FileNotFoundError as error:
        raise NotFound(
            f"A file that this version of {scan.name} needs is not there: {error}",
            LOST_FILE,
        ) from error
    except OSError as error:
        raise Unavailable(f"{scan.name} could not be read: {error}") from error


def _row_batches(scan: Scan, limit: int | None) -> Iterator[pa.RecordBatch]:
    schema, remaining = arrow_schema(scan), limit
    # Apply the limit here, split by split: the reader's limit counts rows before merging.
    for split in plan_splits(scan) if scan.snapshot and remaining != 0 else ():
        for batch in read_splits(scan, [split]):
            first_rows = batch if remaining is None else batch.slice(0, min(remaining, batch.num_rows))
            rows = fit_batch(first_rows, schema)
            yield rows
            if remaining is not None and (remaining := remaining - rows.num_rows) <= 0:
                return


# The least bytes of a task.
_TASK_BYTES = 32 << 20
_MOST_TASKS = 10_000
# The cost of a byte in files that must be merged row by row, relative to files that need no merging.
_MERGING_COSTS = 16


# Runs in Spark's Python workers, so pypaimon is imported only where it is used.
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

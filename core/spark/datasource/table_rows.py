"""Read the rows of a scan in this process, without Spark. They are merged if the table has a primary key."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pypaimon.schema.data_types import PyarrowFieldParser

from paimark.core.errors import NotFound, Unavailable
from paimark.core.spark.arrow import fit_batch
from paimark.core.spark.datasource.paimon import open_table, plan_splits, read_splits
from paimark.core.spark.datasource.scan import Scan

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

"""Batches of rows as pyarrow's. Imports pyarrow when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.spark.protocol import Batch

if TYPE_CHECKING:
    import pyarrow as pa


def read_batch(batch: Batch) -> pa.RecordBatch:
    """The rows of one `Batch`. Times with a zone are in the session's."""
    import pyarrow as pa

    with pa.ipc.open_stream(batch.ipc) as reader:
        return reader.read_next_batch()


def fit_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch's columns in the schema's order and types; a column it does not have is all nulls."""
    import pyarrow as pa

    have = {name: index for index, name in enumerate(batch.schema.names)}
    columns = []
    for field in schema:
        if field.name not in have:
            columns.append(pa.nulls(batch.num_rows, field.type))
            continue
        column = batch.column(have[field.name])
        # Not safe: nanoseconds lose what is finer than a microsecond.
        columns.append(column if column.type == field.type else column.cast(field.type, safe=False))
    return pa.RecordBatch.from_arrays(columns, schema=schema)

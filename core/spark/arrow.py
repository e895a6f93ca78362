"""Convert batches of rows from and to pyarrow. Imports pyarrow at the first use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from paimark.core.spark.protocol import Batch
from paimark.core.table.system_tables import Column, Row

if TYPE_CHECKING:
    import pyarrow as pa


def read_batch(batch: Batch) -> pa.RecordBatch:
    """The rows of one `Batch`. Times with a zone are in the session's zone."""
    import pyarrow as pa

    with pa.ipc.open_stream(batch.ipc) as reader:
        return reader.read_next_batch()


def ipc_stream(batch: pa.RecordBatch) -> bytes:
    """One batch as an Arrow IPC stream with its schema."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def cells_batch(columns: Mapping[str, str], rows: Sequence[Sequence[str | int | bool | None]]) -> Batch:
    """A batch of at least one row. `columns` maps names to types: boolean, bigint or string."""
    import pyarrow as pa

    arrow = {"boolean": pa.bool_(), "bigint": pa.int64(), "string": pa.string()}
    cells = zip(*rows, strict=True)
    arrays = [pa.array(each, arrow[kind]) for each, kind in zip(cells, columns.values(), strict=True)]
    return Batch(ipc_stream(pa.RecordBatch.from_arrays(arrays, names=list(columns))))


def listed_rows(columns: Iterable[Column], rows: Sequence[Row]) -> pa.Table:
    """The rows of a system table as an Arrow table of these columns."""
    import pyarrow as pa

    types = {
        "BIGINT": pa.int64(),
        "INT": pa.int32(),
        "BOOLEAN": pa.bool_(),
        "STRING": pa.string(),
        "TIMESTAMP(3)": pa.timestamp("ms", "UTC"),
    }
    schema = pa.schema([(column.name, types[column.type]) for column in columns])
    values = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(cells, field.type) for cells, field in zip(values, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def in_zone(field: pa.Field, zone: str) -> pa.Field:
    """The field, with that zone if it is a timestamp with a zone."""
    import pyarrow as pa

    is_moment = pa.types.is_timestamp(field.type) and field.type.tz is not None
    return field.with_type(pa.timestamp("us", zone)) if is_moment else field


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
        # Not safe, because nanoseconds are cut off to microseconds.
        columns.append(column if column.type == field.type else column.cast(field.type, safe=False))
    return pa.RecordBatch.from_arrays(columns, schema=schema)

"""A result's batches as pyarrow's, for whoever shows or writes them. Imports pyarrow when first used."""

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

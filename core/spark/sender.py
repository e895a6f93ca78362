"""A task's side of handing a result's rows to the engine, and the frames it uses.

Each task connects, shows the token, names its partition, waits until it is known, then sends batches as fast
as they are taken. An end mark follows the last one, so that a task that died is not taken for a short one.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    Send = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]

# An Arrow IPC stream and how many rows are in it.
Rows = tuple[bytes, int]

TOKEN_BYTES = 32
PARTITION = struct.Struct("<I")
# Bytes of the Arrow stream and rows in it; no batch is empty, so nothing of nothing is the end.
HEAD = struct.Struct("<II")
END = HEAD.pack(0, 0)
KNOWN = b"+"


def row_sender(address: tuple[str, int], token: bytes, names: Sequence[str]) -> Send:
    """The function for `mapInArrow`: sends every batch, its columns called `names`, and gives Spark none."""
    # Not a closure: that would travel with copies of this module's globals.
    return partial(_send, address, token, names)


def _send(
    address: tuple[str, int], token: bytes, names: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> Iterable[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    # Without a connection the engine has all the rows it wants.
    with suppress(ConnectionError), socket.create_connection(address) as channel:
        channel.sendall(token + PARTITION.pack(context.partitionId()))
        if channel.recv(1) == KNOWN:
            for batch in batches:
                if batch.num_rows:
                    data = ipc_stream(batch.rename_columns(names))
                    channel.sendall(HEAD.pack(len(data), batch.num_rows))
                    channel.sendall(data)
            channel.sendall(END)
    return iter(())


def ipc_stream(batch: pa.RecordBatch) -> pa.Buffer:
    """One batch as an Arrow IPC stream with its schema."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()

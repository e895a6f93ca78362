"""Send a result's rows from a task to the engine; `native/ResultRows.java` is the other side.

Each task connects, shows the token, names its partition, waits until it is known, then sends batches as fast
as they are taken. An end mark follows the last one, so that a task that died is not taken for a short one.
"""

from __future__ import annotations

import struct

# An Arrow IPC stream and how many rows are in it.
SentBatch = tuple[bytes, int]

TOKEN_BYTES = 32
PARTITION = struct.Struct("<I")
# Bytes of the Arrow batch and rows in it; no batch is empty, so nothing of nothing is the end.
HEAD = struct.Struct("<II")
END = HEAD.pack(0, 0)
KNOWN = b"+"
# Ends a stream of Arrow's, which is a message of the schema and such batches.
STREAM_END = b"\xff\xff\xff\xff\0\0\0\0"

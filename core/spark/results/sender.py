"""Send a result's rows from a task to the engine; `native/ResultRows.java` is the other side.

Each task connects, and the engine sends it a nonce. The task answers with a nonce of its own, its partition,
its attempt, and a digest of all that, made with the shared secret, which is never sent here; the engine
answers with a digest of the task's nonce. Then the task sends batches as fast as the engine takes them. An
end mark follows the last batch, so that a task that died doesn't look complete.
"""

from __future__ import annotations

import hmac
import struct

# An Arrow IPC stream, and the number of rows in it.
SentBatch = tuple[bytes, int]

SECRET_BYTES = 32
NONCE_BYTES = 32
DIGEST_BYTES = 32
# The partition, and the attempt at it: a later attempt has a higher number.
TASK = struct.Struct("<Iq")
GREETING_BYTES = NONCE_BYTES + TASK.size + DIGEST_BYTES
# The bytes of an Arrow batch, and the rows in it. No batch is empty, so zero and zero are the end mark.
HEAD = struct.Struct("<II")
END = HEAD.pack(0, 0)
# The end of an Arrow stream, which consists of a schema message, batches and this mark.
STREAM_END = b"\xff\xff\xff\xff\0\0\0\0"


def digest(secret: bytes, *parts: bytes) -> bytes:
    return hmac.digest(secret, b"".join(parts), "sha256")


def known_task(secret: bytes, asked: bytes, answer: bytes) -> tuple[int, int] | None:
    """The partition and attempt of a task; None unless its answer proves that it knows the secret."""
    said, proof = answer[:-DIGEST_BYTES], answer[-DIGEST_BYTES:]
    if not hmac.compare_digest(proof, digest(secret, asked, said)):
        return None
    partition, attempt = TASK.unpack(said[NONCE_BYTES:])
    return partition, attempt

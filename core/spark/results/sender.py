"""Send a result's rows from a task to the engine; `native/ResultRows.java` is the other side.

Each task connects and is sent a nonce. It answers with a nonce of its own, its partition, its attempt and a
digest of all that, made with the secret that both know and that never travels here; the engine answers with
a digest of the task's nonce. Then the task sends batches as fast as they are taken. An end mark follows the
last one, so that a task that died is not taken for a short one.
"""

from __future__ import annotations

import hmac
import struct

# An Arrow IPC stream and how many rows are in it.
SentBatch = tuple[bytes, int]

SECRET_BYTES = 32
NONCE_BYTES = 32
DIGEST_BYTES = 32
# The partition, and the attempt at it: of two the one with the higher number is the later.
TASK = struct.Struct("<Iq")
GREETING_BYTES = NONCE_BYTES + TASK.size + DIGEST_BYTES
# Bytes of the Arrow batch and rows in it; no batch is empty, so nothing of nothing is the end.
HEAD = struct.Struct("<II")
END = HEAD.pack(0, 0)
# Ends a stream of Arrow's, which is a message of the schema and such batches.
STREAM_END = b"\xff\xff\xff\xff\0\0\0\0"


def digest(secret: bytes, *parts: bytes) -> bytes:
    return hmac.digest(secret, b"".join(parts), "sha256")


def greeting(secret: bytes, asked: bytes, own: bytes, partition: int, attempt: int) -> bytes:
    """What a task answers to the nonce `asked`."""
    task = TASK.pack(partition, attempt)
    return b"".join((own, task, digest(secret, asked, own, task)))


def known_task(secret: bytes, asked: bytes, answer: bytes) -> tuple[int, int] | None:
    """The partition and the attempt of a task whose answer to the nonce shows that it knows the secret."""
    said, proof = answer[:-DIGEST_BYTES], answer[-DIGEST_BYTES:]
    if not hmac.compare_digest(proof, digest(secret, asked, said)):
        return None
    partition, attempt = TASK.unpack(said[NONCE_BYTES:])
    return partition, attempt

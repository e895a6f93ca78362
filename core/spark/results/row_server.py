"""A server that takes rows from the tasks of a statement and yields them in the order of partitions, batch by
batch. A task waits until it is its partition's turn, so only few rows are in memory.

Spark tries a task that dies again, and its later attempt replaces the earlier one. If rows of the earlier one
were yielded already, the later one must begin with the same rows; otherwise the statement fails.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import struct
import tempfile
import threading
import zlib
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from paimark.core.errors import StatementFailed, Unavailable
from paimark.core.spark.launch.session_settings import RESULT_PORT
from paimark.core.spark.launch.settings import ResultPort
from paimark.core.spark.protocol import receive_exactly

# The time to wait for a partition, because later ones may occupy the cores that it needs.
_PATIENCE_SECONDS = 1.0
_HANDSHAKE_SECONDS = 5.0


@dataclass(slots=True)
class _Source:
    """An attempt at a partition, and its rows: from a socket, or from a file to which they were spooled."""

    attempt: int
    rows: IO[bytes]
    channel: socket.socket | None

    def cut(self) -> None:
        """Make the reader see the end of the rows. Any thread may call this."""
        if self.channel is not None:
            with suppress(OSError):
                self.channel.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.rows.close()
        if self.channel is not None:
            self.channel.close()


class RowServer:
    """To be made before the Spark job starts; `job_ended` must be called when it has ended."""

    def __init__(self, port: ResultPort, scratch: Path) -> None:
        """Raises `Unavailable` if no port can be opened."""
        self.secret = secrets.token_bytes(SECRET_BYTES)
        self._scratch = scratch
        self._server = _listening(port)
        self.address: tuple[str, int] = (port.host, self._server.getsockname()[1])
        self._changed = threading.Condition()
        self._arrived: dict[int, _Source] = {}
        # The attempt that is being read, its partition, and the number of completed partitions.
        self._current: _Source | None = None
        self._number = self._done = 0
        # The number of partitions; known once all have been sent.
        self._partitions: int | None = None
        self._failure: Exception | None = None
        threading.Thread(target=self._accept, name="row-server", daemon=True).start()

    def job_ended(self, failure: Exception | None, partitions: int = 0) -> None:
        """Report the end of the job: its failure, or the number of partitions that its tasks have sent."""
        with self._changed:
            self._partitions, self._failure = partitions, failure
            self._changed.notify_all()

    def rows(self) -> Iterator[SentBatch]:
        """Yield the batches as Arrow IPC streams, with their row counts. Raises the failure of the job."""
        while self._is_more():
            told: list[int] = []
            while not (yield from self._handed_on(told)):
                pass
            with self._changed:
                self._done += 1

    def close(self) -> None:
        """Stop taking rows: tasks that still send find the connection closed."""
        with self._changed:
            # close() alone would leave the thread in accept() waiting for one more connection.
            with suppress(OSError):
                self._server.shutdown(socket.SHUT_RDWR)
            self._server.close()
            for source in self._arrived.values():
                source.close()
            self._arrived.clear()
            if self._current is not None:
                self._current.cut()

    def _is_more(self) -> bool:
        """Whether another partition is to be yielded. Waits until that is known."""
        with self._changed:
            self._changed.wait_for(lambda: self._partitions is not None or self._arrived)
            return self._partitions is None or self._failure is not None or self._done < self._partitions

    def _handed_on(self, told: list[int]) -> Generator[SentBatch, None, bool]:
        """Yield the current partition's batches after those in `told`; return whether it is complete.

        `told` are the checksums of its batches that were yielded so far, from any attempt.
        """
        source, number = self._source(), 0
        try:
            while (batch := _batch(source.rows)) is not None:
                data, count = batch
                if not count:
                    if number < len(told):
                        raise self._lost()
                    return True
                check = zlib.crc32(data)
                if number == len(told):
                    told.append(check)
                    yield batch
                elif told[number] != check:
                    raise self._lost()
                number += 1
            return False
        finally:
            with self._changed:
                self._current = None
            source.close()

    def _source(self) -> _Source:
        """Wait for an attempt at the current partition. Meanwhile spools later partitions to disk."""
        while True:
            with self._changed:
                partition = self._done
                if partition in self._arrived:
                    return self._take(partition)
                if self._failure is not None:
                    raise self._failure
                if self._partitions is not None:
                    raise self._lost()
                if self._changed.wait(_PATIENCE_SECONDS) or not self._arrived:
                    continue
                later = min(self._arrived)
                source = self._take(later)
            self._put_on_disk(later, source)

    def _take(self, partition: int) -> _Source:
        self._number, self._current = partition, self._arrived.pop(partition)
        return self._current

    def _put_on_disk(self, partition: int, source: _Source) -> None:
        """Let a later task finish early: the current partition's task may need its core."""
        # Stays open, because it is read when the partition's turn comes.
        spool = tempfile.TemporaryFile(dir=self._scratch)  # noqa: SIM115
        try:
            while data := source.rows.read(1 << 20):
                spool.write(data)
        finally:
            source.close()
        spool.seek(0)
        with self._changed:
            self._current = None
            if partition in self._arrived:
                # Spark has tried its task again.
                spool.close()
            else:
                self._arrived[partition] = _Source(source.attempt, spool, None)

    def _lost(self) -> Exception:
        """The error for incomplete rows of a partition: the job's failure, if there is one."""
        return self._failure or StatementFailed(
            "A task of the statement was lost when part of its rows had been sent, and other rows came "
            "when Spark tried it again",
            "Run it again.",
        )

    def _accept(self) -> None:
        while True:
            try:
                channel, _ = self._server.accept()
            except OSError:
                return
            if not self._accepts(channel):
                channel.close()

    def _accepts(self, channel: socket.socket) -> bool:
        """Authenticate a connection; whether it is from a task with the secret whose rows are wanted."""
        channel.settimeout(_HANDSHAKE_SECONDS)
        challenge = secrets.token_bytes(NONCE_BYTES)
        try:
            channel.sendall(challenge)
            answer = receive_exactly(channel, GREETING_BYTES)
        except OSError:
            return False
        task = None if answer is None else known_task(self.secret, challenge, bytes(answer))
        if answer is None or task is None:
            return False
        partition, attempt = task
        with self._changed:
            if not self._is_newest_attempt(partition, attempt):
                return False
            channel.settimeout(None)
            with suppress(OSError):
                channel.sendall(digest(self.secret, bytes(answer[:NONCE_BYTES])))
            self._arrived[partition] = _Source(attempt, channel.makefile("rb"), channel)
            self._changed.notify_all()
        return True

    def _is_newest_attempt(self, partition: int, attempt: int) -> bool:
        """Whether it is the newest attempt at an incomplete partition. Closes earlier attempts then."""
        if self._server.fileno() < 0 or partition < self._done:
            return False
        if (waiting := self._arrived.get(partition)) is not None:
            if waiting.attempt > attempt:
                return False
            del self._arrived[partition]
            waiting.close()
        if self._current is not None and self._number == partition:
            if self._current.attempt > attempt:
                return False
            # The earlier attempt's machine may be gone without closing the connection.
            self._current.cut()
        return True


def _listening(port: ResultPort) -> socket.socket:
    bind = port.bind.strip("[]")
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    refused = ""
    for number in port.ports:
        try:
            return socket.create_server((bind, number), family=family)
        except OSError as error:
            refused = error.strerror or str(error)
    first, last = port.ports[0], port.ports[-1]
    if not first:
        raise Unavailable(f"Rows can't be taken in at {bind} ({refused})", "Check spark.driver.bindAddress.")
    named = f"Port {first} of {bind} is" if first == last else f"Ports {first} to {last} of {bind} are"
    raise Unavailable(
        f"{named} not to be had for the rows of statements ({refused})",
        f"Another engine may use it. {RESULT_PORT} is the first port that is tried, "
        "spark.port.maxRetries says how many more are.",
    )


def _batch(source: IO[bytes]) -> SentBatch | None:
    """The next batch; one without rows at the end; None if the task died."""
    try:
        head = source.read(HEAD.size)
        if len(head) < HEAD.size:
            return None
        length, count = HEAD.unpack(head)
        data = source.read(length)
    except OSError:
        # The connection was reset with the executor.
        return None
    return (data, count) if len(data) == length else None


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


# Each task connects, and the engine sends it a nonce. The task answers with a nonce of its own, its
# partition, its attempt, and a digest of all that, made with the shared secret, which is never sent here;
# the engine answers with a digest of the task's nonce. Then the task sends batches as fast as the engine
# takes them. An end mark follows the last batch, so that a task that died doesn't look complete.
def digest(secret: bytes, *parts: bytes) -> bytes:
    return hmac.digest(secret, b"".join(parts), "sha256")


def known_task(secret: bytes, asked: bytes, answer: bytes) -> tuple[int, int] | None:
    """The partition and attempt of a task; None unless its answer proves that it knows the secret."""
    said, proof = answer[:-DIGEST_BYTES], answer[-DIGEST_BYTES:]
    if not hmac.compare_digest(proof, digest(secret, asked, said)):
        return None
    partition, attempt = TASK.unpack(said[NONCE_BYTES:])
    return partition, attempt

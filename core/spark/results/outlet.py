"""Where the tasks of a statement hand in their rows, and where these come out: in order of partitions, a
batch at a time. A task whose turn has not come waits, so however many rows there are, few are in memory.
"""

from __future__ import annotations

import secrets
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from core.errors import StatementFailed
from core.spark.protocol import receive_exactly
from core.spark.results.sender import HEAD, KNOWN, PARTITION, TOKEN_BYTES, SentBatch

# How long a partition is waited for while later ones may be holding the cores it needs.
_PATIENCE_SECONDS = 1.0
_HANDSHAKE_SECONDS = 5.0


class Outlet:
    """Opened before the Spark job starts; `job_ended` is called when it has."""

    def __init__(self, host: str, scratch: Path) -> None:
        self.token = secrets.token_bytes(TOKEN_BYTES)
        self._scratch = scratch
        self._server = socket.create_server((host, 0))
        self.address: tuple[str, int] = (host, self._server.getsockname()[1])
        self._changed = threading.Condition()
        self._arrived: dict[int, IO[bytes]] = {}
        self._taken: set[int] = set()
        self._ended = False
        self._failure: Exception | None = None
        threading.Thread(target=self._accept, name="outlet", daemon=True).start()

    def job_ended(self, failure: Exception | None) -> None:
        with self._changed:
            self._ended, self._failure = True, failure
            self._changed.notify_all()

    def rows(self) -> Iterator[SentBatch]:
        """The batches as Arrow IPC streams, with how many rows each has. Raises what the job failed with."""
        partition = 0
        while (source := self._source(partition)) is not None:
            with source:
                while (batch := _batch(source)) is not None:
                    if not batch[1]:
                        break
                    yield batch
                else:
                    self._lost()
            partition += 1

    def close(self) -> None:
        """No more rows are wanted: tasks that still send find the connection closed."""
        with self._changed:
            # Not close(): that would leave the thread in accept() waiting for a last connection.
            with suppress(OSError):
                self._server.shutdown(socket.SHUT_RDWR)
            self._server.close()
            for source in self._arrived.values():
                source.close()
            self._arrived.clear()

    def _source(self, partition: int) -> IO[bytes] | None:
        while True:
            with self._changed:
                if partition in self._arrived:
                    return self._take(partition)
                if self._ended:
                    if self._failure is not None:
                        raise self._failure
                    return self._take(min(self._arrived)) if self._arrived else None
                if self._changed.wait(_PATIENCE_SECONDS) or not self._arrived:
                    continue
                later = min(self._arrived)
                source = self._take(later)
            self._put_on_disk(later, source)

    def _take(self, partition: int) -> IO[bytes]:
        self._taken.add(partition)
        return self._arrived.pop(partition)

    def _put_on_disk(self, partition: int, source: IO[bytes]) -> None:
        """Let a task finish out of turn: the one that is waited for may need its core."""
        with source:
            # Kept open: it is read when its turn comes.
            spool = tempfile.TemporaryFile(dir=self._scratch)  # noqa: SIM115
            while data := source.read(1 << 20):
                spool.write(data)
        spool.seek(0)
        with self._changed:
            self._arrived[partition] = spool

    def _lost(self) -> None:
        """A task ended in the middle of its rows: the job says why."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended)
            raise self._failure or StatementFailed(
                "A task of the statement was lost when part of its rows had been sent", "Run it again."
            )

    def _accept(self) -> None:
        while True:
            try:
                channel, _ = self._server.accept()
            except OSError:
                return
            partition = self._introduced(channel)
            with self._changed:
                if partition is None or partition in self._taken or self._server.fileno() < 0:
                    channel.close()
                    continue
                self._arrived[partition] = channel.makefile("rb")
                with channel, suppress(OSError):
                    channel.sendall(KNOWN)
                self._changed.notify_all()

    def _introduced(self, channel: socket.socket) -> int | None:
        """The partition of a task that knows the token; None for anything else that connects."""
        channel.settimeout(_HANDSHAKE_SECONDS)
        try:
            data = receive_exactly(channel, TOKEN_BYTES + PARTITION.size)
        except TimeoutError:
            return None
        channel.settimeout(None)
        if data is None or not secrets.compare_digest(data[:TOKEN_BYTES], self.token):
            return None
        number: int = PARTITION.unpack(data[TOKEN_BYTES:])[0]
        return number


def _batch(source: IO[bytes]) -> SentBatch | None:
    """The next batch; without rows at the end; None when the task died."""
    head = source.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    length, count = HEAD.unpack(head)
    data = source.read(length)
    return (data, count) if len(data) == length else None

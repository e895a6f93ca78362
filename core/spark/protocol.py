"""The messages between the console's process and the engine's.

A frame is a 4-byte length, one byte of kind, and the payload: a message as JSON, or a record batch as an
Arrow IPC stream, whose bytes are handed on as they came. One statement runs at a time; its events end with
exactly one `Finished` or `Failed`.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from typing import Literal

import msgspec

from core.errors import Cancelled, PaimarkError, StatementFailed, Unavailable
from core.redaction import HidesSecrets
from core.table.lineage.commits import Overwritten

_HEAD = struct.Struct("<IB")
_MESSAGE = 0
_BATCH = 1

# What the query of a `Write` may call the partitions that are replaced, and what both are made of.
PARTITIONS = "__paimark_partitions"
COMMON = "__paimark_common"

# How a system table is read, in a `Reading`.
LISTED = "metadata"

Cause = Literal["statement", "cancelled", "engine", "overwritten", "start"]
_ERRORS: Mapping[Cause, type[PaimarkError]] = {
    "cancelled": Cancelled,
    "engine": Unavailable,
    "overwritten": Overwritten,
    # No engine came to be, so nothing of it was done.
    "start": Unavailable,
}


class ParentGone(Exception):
    """Nobody listens to the engine any more."""


class JavaGone(Exception):
    """The engine's Java process ended."""


class Start(HidesSecrets, frozen=True, tag=True):
    """The first message to the engine. `options` are catalog options and may hold secrets.

    `session` are statements that an earlier engine of the same session was set up by.
    """

    warehouse: str
    options: Mapping[str, str]
    master: str | None
    conf: Mapping[str, str]
    scratch: str
    read_only: bool
    session: tuple[str, ...] = ()


class Inserting(msgspec.Struct, frozen=True):
    """The permission to run an INSERT: a person has seen its plan. Its commit bears the name `commit_user`.

    `root` is the branch that the rows go to, None for the table directory: main may be another one by then.
    `head` is the JSON of the snapshot that must be the newest still, empty for none; None where any may be.
    """

    commit_user: str
    root: str | None
    head: str | None = None


class Run(msgspec.Struct, frozen=True, tag=True):
    """Run one statement. `limit` is the most rows to send back, None for all of them.

    Without `inserting` no INSERT runs. Its answer is a `Told`, whose one row says what was committed.
    `differing`: it is a difference of two versions of a table, the older one first, and nothing in it depends
    on rows that are the same in both. Files that hold such rows alone are not read.
    """

    number: int
    sql: str
    database: str | None = None
    limit: int | None = None
    inserting: Inserting | None = None
    differing: bool = False


class Version(msgspec.Struct, frozen=True):
    """The rows of a root (None: the table directory) at a snapshot, which is that record's JSON.

    They are read by `schema`, a schema's JSON, or where that is empty by the order's own.
    """

    branch: str | None
    snapshot: str
    schema: str = ""


class Ask(msgspec.Struct, frozen=True, tag=True):
    """Run a query over versions of a table, called as in `versions`.

    It gives a handful of rows in one `Told`; or, where it `streams`, any number in one after another.
    `texts` are views of one text column, `line`.
    """

    number: int
    table: str
    schema: str
    versions: Mapping[str, Version]
    sql: str
    texts: Mapping[str, tuple[str, ...]] = {}
    streams: bool = False


class Write(msgspec.Struct, frozen=True, tag=True):
    """Write a query's rows over versions of a table to one of its roots, as one commit.

    `schema`, `head` and `follows_main` must be so still at the commit (see `core.spark.writing.target`). An
    `overwrite` replaces the whole table, or the partitions that the query `partitions_sql` gives: none of
    them, no commit. For `sql` they are the view `PARTITIONS`. With `common_sql`, that alone is over versions,
    and for both others it is the view `COMMON`. `texts` are as an `Ask` has them. `lock` and `next_entry` are
    as the target of a write has them.
    """

    number: int
    table: str
    schema: str
    versions: Mapping[str, Version]
    sql: str
    branch: str | None
    follows_main: bool
    head: str
    commit_user: str
    overwrite: bool
    partitions_sql: str | None = None
    common_sql: str | None = None
    texts: Mapping[str, tuple[str, ...]] = {}
    lock: str | None = None
    next_entry: str = ""


class Prefetch(msgspec.Struct, frozen=True, tag=True):
    """Make the tables of this query ready while there is nothing else to do: it may be asked next.

    A newer one takes its place. It is never answered with rows or errors, only with a `Prefetched`.
    """

    sql: str


class Cancel(msgspec.Struct, frozen=True, tag=True):
    """Stop statement `number`, if it is the one that runs."""

    number: int


class Close(msgspec.Struct, frozen=True, tag=True):
    """Stop Spark and end the process."""


class Ready(msgspec.Struct, frozen=True, tag=True):
    """Spark takes statements now, `seconds` after its start. `nodes`: a line a machine of a cluster."""

    seconds: float
    nodes: tuple[str, ...] = ()


class Died(msgspec.Struct, frozen=True, tag=True):
    """Spark can't run, or its Java process ended, and so the engine's does. One sentence, and what to do."""

    message: str
    hint: str = ""


class Prefetched(msgspec.Struct, frozen=True, tag=True):
    """A `Prefetch` is over, for whatever came of it. No event of a statement."""

    sql: str


class Reading(msgspec.Struct, frozen=True, tag=True):
    """One table of the statement. `version` says which snapshot and its time, `scan` how it is read.

    `note` is not empty when something else than what was written served (`savepoint.1 served`).
    """

    table: str
    version: str
    scan: str
    note: str = ""


class Columns(msgspec.Struct, frozen=True, tag=True):
    """The result's columns; `types` are Spark's names (`bigint`, `decimal(10,2)`)."""

    names: tuple[str, ...]
    types: tuple[str, ...]


class Batch(msgspec.Struct, frozen=True):
    """Some rows: an Arrow IPC stream with its schema, as `core.spark.arrow.read_batch` takes it."""

    ipc: bytes


class StageProgress(msgspec.Struct, frozen=True, tag=True):
    """Tasks done of those known so far, over all stages of the statement."""

    done: int
    total: int
    label: str


class Explained(msgspec.Struct, frozen=True, tag=True):
    """The answer to EXPLAIN: lines of text."""

    text: str


class Told(msgspec.Struct, frozen=True, tag=True):
    """The answer to an `Ask`: rows as JSON objects; to a `Write`: the snapshot it made, if any."""

    rows: tuple[str, ...] = ()
    snapshot: int | None = None


class Finished(msgspec.Struct, frozen=True, tag=True):
    """The statement is done. `truncated`: there were more rows than the limit. `message`: what it did.

    The parent counts the `seconds`, from the order on.
    """

    rows: int
    truncated: bool
    seconds: float = 0.0
    message: str = ""


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The statement did not finish. `position` counts characters from the start of its text."""

    message: str
    hint: str = ""
    position: int | None = None
    cause: Cause = "statement"

    @classmethod
    def of(cls, error: PaimarkError, position: int | None = None) -> Failed:
        """What is told of an error, at its own place or at `position`."""
        if isinstance(error, StatementFailed):
            position = error.position
        causes = (cause for cause, kind in _ERRORS.items() if isinstance(error, kind))
        return cls(error.message, error.hint, position, next(causes, "statement"))

    def error(self) -> PaimarkError:
        """To be raised by whoever asked."""
        if self.cause in _ERRORS:
            return _ERRORS[self.cause](self.message, self.hint)
        return StatementFailed(self.message, self.hint, self.position)


CANCELLED = Failed("The statement was cancelled", cause="cancelled")

# What the engine works on, one at a time.
Task = Run | Ask | Write
Order = Start | Run | Ask | Write | Prefetch | Cancel | Close
# And Batch, which is not JSON.
Report = Ready | Prefetched | Died | Reading | Columns | StageProgress | Explained | Told | Finished | Failed
Event = Ready | Reading | Columns | Batch | StageProgress | Explained | Told | Finished | Failed

_encode = msgspec.json.encode
_orders: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)
_reports: msgspec.json.Decoder[Report] = msgspec.json.Decoder(Report)


def send(channel: socket.socket, message: Order | Report | Batch) -> None:
    """Write one frame; blocks while the other side does not read. Raises `OSError` when it is gone."""
    kind, payload = (_BATCH, message.ipc) if isinstance(message, Batch) else (_MESSAGE, _encode(message))
    channel.sendall(_HEAD.pack(len(payload), kind))
    channel.sendall(payload)


def receive_order(channel: socket.socket) -> Order | None:
    """The next message to the engine; None when the other side is gone."""
    frame = _receive(channel)
    return None if frame is None else _orders.decode(frame[1])


def receive_report(channel: socket.socket) -> Report | Batch | None:
    """The next message from the engine; None when the other side is gone."""
    frame = _receive(channel)
    if frame is None:
        return None
    kind, payload = frame
    return Batch(bytes(payload)) if kind == _BATCH else _reports.decode(payload)


def _receive(channel: socket.socket) -> tuple[int, bytearray] | None:
    head = receive_exactly(channel, _HEAD.size)
    if head is None:
        return None
    length, kind = _HEAD.unpack(head)
    payload = receive_exactly(channel, length)
    return None if payload is None else (kind, payload)


def receive_exactly(channel: socket.socket, count: int) -> bytearray | None:
    """Exactly so many bytes; None when the other side is gone before that."""
    data = bytearray(count)
    view = memoryview(data)
    filled = 0
    while filled < count:
        try:
            got = channel.recv_into(view[filled:])
        except ConnectionError:
            return None
        if got == 0:
            return None
        filled += got
    return data

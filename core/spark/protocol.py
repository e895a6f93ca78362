"""The messages between the console's process and the engine's.

A frame is a 4-byte length, one byte of kind, and the payload: a message as JSON, or a record batch as an
Arrow IPC stream, whose bytes are passed on unchanged. One statement runs at a time; its last event is its
only `Finished` or `Failed`.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from typing import Literal

import msgspec

from paimark.core.errors import (
    Cancelled,
    Outrun,
    PaimarkError,
    StatementFailed,
    Unavailable,
    is_uncommitted,
)
from paimark.core.redaction import HidesSecrets
from paimark.core.table.commits import Overwritten
from paimark.core.table.lineage.notes import Note
from paimark.core.table.records import Point

_HEAD = struct.Struct("<IB")
_MESSAGE = 0
_BATCH = 1

# A view of the rows of a `Repair` with a key.
COMMON = "__paimark_common"
# The column of a `Repair` that says of a key that it shall have no row.
GONE = "__paimark_gone"

# How a system table is read, in a `Reading`.
LISTED = "metadata"

Cause = Literal["statement", "cancelled", "engine", "overwritten", "start"]
_ERRORS: Mapping[Cause, type[PaimarkError]] = {
    "cancelled": Cancelled,
    "engine": Unavailable,
    "overwritten": Overwritten,
    # The engine didn't start, so nothing was done.
    "start": Unavailable,
}


class ParentGone(Exception):
    """The engine's parent is gone."""


class JavaGone(Exception):
    """The engine's Java process ended."""


class Start(HidesSecrets, frozen=True, tag=True):
    """The first message to the engine. `options` are catalog options and may contain secrets.

    `session` are statements that changed the session in an earlier engine; they are repeated.
    """

    warehouse: str
    options: Mapping[str, str]
    master: str | None
    conf: Mapping[str, str]
    scratch: str
    read_only: bool
    session: tuple[str, ...] = ()


class Inserting(msgspec.Struct, frozen=True):
    """The permission to run an INSERT: a person has seen its plan. Its commit has this `commit_user`.

    `root` is the branch that gets the rows, None for the table directory: main may be another root by then.
    `head` is the JSON of the snapshot that must still be the newest; empty: there must be none; None: any.
    `most` is how many rows may be changed if it runs again on a later one, after others committed.
    """

    commit_user: str
    root: str | None
    head: str | None = None
    note: Note = Note()
    most: int | None = None


class Run(msgspec.Struct, frozen=True, tag=True):
    """Run one statement. `limit` is the most rows to send back, None for all of them.

    Without `inserting` no INSERT runs. The answer to an INSERT is a `TaskResult` with one row on the commit.
    `differing`: the statement is a difference of two versions of a table, the older one first, and doesn't
    depend on rows that are equal in both. Files with only such rows are not read.
    """

    number: int
    sql: str
    database: str | None = None
    limit: int | None = None
    inserting: Inserting | None = None
    differing: bool = False


class Version(msgspec.Struct, frozen=True):
    """The rows of a root (`branch` None: the table directory) at a snapshot, which is given as JSON.

    They are read with `schema`, also JSON; if that is empty, with the order's schema. `only` are the names of
    the data files to read, None for all. With `beside`, another version by its name, this one and that one
    lack rows that are equal in both: files that cancel out are not read.
    """

    branch: str | None
    snapshot: str
    schema: str = ""
    only: tuple[str, ...] | None = None
    beside: str = ""


class Ask(msgspec.Struct, frozen=True, tag=True):
    """Run a query over versions of a table, by their names in `versions`.

    The answer is one `TaskResult` with a few rows; with `streams`, any number of them in several.
    `texts` are views with one text column, `line`. Only with `reads_others` it may read tables of the
    warehouse too.
    """

    number: int
    table: str
    schema: str
    versions: Mapping[str, Version]
    sql: str
    texts: Mapping[str, tuple[str, ...]] = {}
    streams: bool = False
    reads_others: bool = False


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Change a root of a table in one commit. The answer is a `TaskResult`, without a snapshot if there was
    nothing to do.

    `branch` None is the table directory. `schema`, `follows_main` and `head` must still be valid at the
    commit; they, `lock` and `next_entry` are as in `paimark.core.spark.writing.target`. The queries of a
    change name `versions` and `texts` as in `Ask`.
    """

    number: int
    table: str
    schema: str
    branch: str | None
    follows_main: bool
    commit_user: str
    head: str | None = None
    versions: Mapping[str, Version] = {}
    texts: Mapping[str, tuple[str, ...]] = {}
    lock: str | None = None
    next_entry: str = ""
    note: Note = Note()


class Write(Change, frozen=True, kw_only=True, tag=True):
    """Write the rows of a query; an `overwrite` replaces the whole table.

    `may_go_on` is as in the target of a write.
    """

    head: str
    sql: str
    overwrite: bool
    may_go_on: bool = False


class Compact(Change, frozen=True, kw_only=True, tag=True):
    """Compact, with a commit only for that. `partitions` are as manifests have them, in Base64; None: all."""

    is_full: bool = False
    partitions: tuple[str, ...] | None = None


class Repair(Change, frozen=True, kw_only=True, tag=True):
    """Change rows by queries.

    Rows with a key: `upserts_sql` has the rows as they shall be, and in the column `GONE` whether the key
    shall have none. With `overwrites` the partitions of these keys are written again, for tables in which a
    row that is added can't replace each one that is there. Rows without: the data files named `out` leave the
    table, and so do the rows of the condition `delete_where`; `rows_sql` has those that are added. Either:
    the `partitions`, as manifests have them, in Base64, leave the table. `operation` and `done` are for the
    log, in which a change with a `lock` writes itself.
    """

    head: str
    operation: str | None = None
    done: str = ""
    upserts_sql: str = ""
    overwrites: bool = False
    out: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    delete_where: str = ""
    rows_sql: str = ""


class Analyze(Change, frozen=True, kw_only=True, tag=True):
    """Commit statistics of `columns`, and no rows.

    `sql` gives them in one row: the number of rows, and for each column those that Java's `ColumnStatistics`
    names. `size` is that of all files, in bytes. They are those of `head`: others may commit meanwhile.
    """

    head: str
    sql: str
    columns: tuple[str, ...]
    size: int


class Cancel(msgspec.Struct, frozen=True, tag=True):
    """Stop statement `number`, if it is running or waiting."""

    number: int


class Close(msgspec.Struct, frozen=True, tag=True):
    """Stop Spark and end the process."""


class Ready(msgspec.Struct, frozen=True, tag=True):
    """Spark is ready, `seconds` after its start. `nodes`: one line for each machine of a cluster."""

    seconds: float
    nodes: tuple[str, ...] = ()


class Died(msgspec.Struct, frozen=True, tag=True):
    """Spark can't run, or its Java process ended; so the engine's process ends. A message and a hint.

    `was_killed`: Java was, most likely by the system.
    """

    message: str
    hint: str = ""
    was_killed: bool = False


class Reading(msgspec.Struct, frozen=True, tag=True):
    """One table of the statement. `version` names the snapshot and its time, `scan` how it is read.

    `note` is a remark, for example that another state than the named one serves (`savepoint.1 serves`).
    `point` tells the snapshot from a later one with its number.
    """

    table: str
    version: str
    scan: str
    note: str = ""
    point: Point | None = None


class Columns(msgspec.Struct, frozen=True, tag=True):
    """The result's columns; `types` are Spark's names (`bigint`, `decimal(10,2)`)."""

    names: tuple[str, ...]
    types: tuple[str, ...]


class Batch(msgspec.Struct, frozen=True):
    """Some rows: an Arrow IPC stream with its schema, for `paimark.core.spark.arrow.read_batch`."""

    ipc: bytes


class StageProgress(msgspec.Struct, frozen=True, tag=True):
    """The done tasks, and all tasks known so far, over all stages of the statement."""

    done: int
    total: int
    label: str


class Explained(msgspec.Struct, frozen=True, tag=True):
    """The answer to EXPLAIN: lines of text."""

    text: str


# The tag stays: a console that is open while Paimark is updated starts an engine of the new version.
class TaskResult(msgspec.Struct, frozen=True, tag="Told"):
    """The result of an `Ask`: rows as JSON objects; of another order: the snapshot it made, if any.

    `remark` is what failed after the commit.
    """

    rows: tuple[str, ...] = ()
    snapshot: int | None = None
    remark: str = ""


class Finished(msgspec.Struct, frozen=True, tag=True):
    """The statement succeeded. `truncated`: there were more rows than the limit. `message`: what it did.

    `database`: the current database that it has chosen. The parent sets `seconds`, counted from the order.
    """

    rows: int
    truncated: bool
    seconds: float = 0.0
    message: str = ""
    database: str | None = None


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The statement failed. `position` is a character offset in its text.

    `was_killed`: a person ended the engine before it answered, so a store may still get a request of it.
    `is_uncommitted`: it is certain that nothing was committed; `is_outrun`: because others committed.
    """

    message: str
    hint: str = ""
    position: int | None = None
    cause: Cause = "statement"
    was_killed: bool = False
    is_uncommitted: bool = False
    is_outrun: bool = False

    @classmethod
    def of(cls, error: PaimarkError, position: int | None = None) -> Failed:
        """The report of an error, with its own position or with `position`."""
        if isinstance(error, StatementFailed):
            position = error.position
        causes = (cause for cause, kind in _ERRORS.items() if isinstance(error, kind))
        return cls(
            error.message,
            error.hint,
            position,
            next(causes, "statement"),
            is_uncommitted=is_uncommitted(error),
            is_outrun=isinstance(error, Outrun),
        )

    def error(self) -> PaimarkError:
        """The error for the caller to raise."""
        if self.cause in _ERRORS:
            return _ERRORS[self.cause](self.message, self.hint)
        return StatementFailed(self.message, self.hint, self.position)


CANCELLED = Failed("The statement was cancelled", cause="cancelled")

# The orders of actions, and all that the engine does one at a time.
ActionTask = Ask | Write | Compact | Analyze | Repair
Task = Run | ActionTask
Order = Start | Task | Cancel | Close
# A Batch is also a report, but not JSON.
Report = Ready | Died | Reading | Columns | StageProgress | Explained | TaskResult | Finished | Failed
Event = Ready | Reading | Columns | Batch | StageProgress | Explained | TaskResult | Finished | Failed

_encode = msgspec.json.encode
_orders: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)
_reports: msgspec.json.Decoder[Report] = msgspec.json.Decoder(Report)


def send(channel: socket.socket, message: Order | Report | Batch) -> None:
    """Write one frame; blocks while the other side doesn't read. Raises `OSError` if it is gone."""
    kind, payload = (_BATCH, message.ipc) if isinstance(message, Batch) else (_MESSAGE, _encode(message))
    channel.sendall(_HEAD.pack(len(payload), kind))
    channel.sendall(payload)


def receive_order(channel: socket.socket) -> Order | None:
    """Receive the next message to the engine; None if the other side is gone."""
    frame = _receive(channel)
    return None if frame is None else _orders.decode(frame[1])


def receive_report(channel: socket.socket) -> Report | Batch | None:
    """Receive the next message from the engine; None if the other side is gone."""
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
    """Receive exactly `count` bytes; None if the other side is gone before that."""
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

"""A stream's position: the JSON that Spark keeps in the checkpoint.

Ids are used again after a rollback and in other branches. So a position has, beside the id, the root and a
mark that distinguishes the commit from others with that id.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from paimark.core.errors import Corrupt
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.records import Snapshot


class StreamPosition(msgspec.Struct, frozen=True, omit_defaults=True):
    """A position after a snapshot of a root: all up to it has been read. Snapshot 0 is before the first."""

    branch: str | None  # the root, when it was written; the file's own root counts
    snapshot: int  # read up to here; 0 is before the first
    uuid: str  # the snapshot's `uuid`, or the name of its delta manifest list; empty where it is not known
    is_full: bool = msgspec.field(default=False, name="full")  # the whole state at this snapshot comes next
    pieces: int = 0  # so many pieces of it, or of the snapshot's changes, have been read
    last: str = ""  # a data file of the last of them
    since: int = 0  # the whole state is read without the files of this snapshot's
    since_uuid: str = ""  # what tells that snapshot

    @property
    def is_inside(self) -> bool:
        """Whether there is more of this snapshot to read."""
        return self.is_full or self.pieces > 0

    def root(self, table: TablePath) -> Root:
        return table.root(self.branch)


# What is read of the lost snapshots from the earliest one that is left: its whole state (table with keys);
# the remaining rows in files added since; its whole state, where the stream begins; nothing.
Rescued = Literal["state", "rest", "start", "nothing"]


class Gap(msgspec.Struct, frozen=True):
    """The ids of snapshots that expired before the stream read them. `first` is 0 if it is not known."""

    first: int
    last: int
    read: Rescued


class Offset(StreamPosition, frozen=True, omit_defaults=True):
    """The end of a micro-batch.

    `start` is the beginning of the batch, if that is not the end of the one before: for the first batch, and
    after a move from `left` to another root or over a gap. Spark keeps only ends, and a batch that is read
    again after a crash must begin at the same position.
    """

    start: StreamPosition | None = None
    left: StreamPosition | None = None
    gap: Gap | None = None

    @property
    def position(self) -> StreamPosition:
        return StreamPosition(*(getattr(self, name) for name in StreamPosition.__struct_fields__))

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = msgspec.to_builtins(self)
        return fields


# The offset before the first batch: the start is looked up when there is something to read.
NOTHING_READ: dict[str, Any] = {}


def read_offset(fields: dict[str, Any]) -> Offset | None:
    """Parse an offset; None for `NOTHING_READ`. Raises `Corrupt`."""
    if fields == NOTHING_READ:
        return None
    try:
        return msgspec.convert(fields, Offset)
    except msgspec.ValidationError as error:
        raise Corrupt(
            f"The checkpoint holds an offset of another source ({error})",
            "Give each query a checkpoint of its own.",
        ) from error


def mark_of(snapshot: Snapshot) -> str:
    """Distinguishes commits with the same id: the uuid, or for older writers the name of the delta list."""
    return snapshot.uuid or snapshot.delta_manifest_list


def position_of(root: Root, snapshot: Snapshot, *, is_full: bool = False) -> StreamPosition:
    return StreamPosition(root.branch, snapshot.id, mark_of(snapshot), is_full)

"""How far a stream has read: what Spark keeps in the checkpoint, as JSON.

Ids are given again after a rollback and in another branch, so an id alone says nothing: with it go the root
and what tells its commit from any other of that id.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from core.errors import Corrupt
from core.table.layout import Root, TablePath
from core.table.records import Snapshot


class StreamPosition(msgspec.Struct, frozen=True, omit_defaults=True):
    """Behind a snapshot of a root: all up to it has been read. Snapshot 0 is before the first.

    `branch` is None for the table directory. `uuid` is empty where the commit is not known. With `is_full`
    nothing has been read: what follows begins with the whole state at this snapshot. With `pieces` so many
    of it have been read, and no more: of the whole state, or else of what this snapshot changed. `last` is a
    data file of the last of them. With `since` the whole state is without the files of that snapshot's.
    """

    branch: str | None
    snapshot: int
    uuid: str
    is_full: bool = msgspec.field(default=False, name="full")
    pieces: int = 0
    last: str = ""
    since: int = 0
    since_uuid: str = ""

    @property
    def is_inside(self) -> bool:
        """Whether there is more of this very snapshot to read."""
        return self.is_full or self.pieces > 0

    def root(self, table: TablePath) -> Root:
        return table.root(self.branch)


# What the earliest snapshot that is left tells of those before it: its whole state, of a table with keys; the
# rows that are left in files that came since; nothing.
Rescued = Literal["state", "rest", "nothing"]


class Gap(msgspec.Struct, frozen=True):
    """Ids of snapshots that expired before the stream read them."""

    first: int
    last: int
    read: Rescued


class Offset(StreamPosition, frozen=True, omit_defaults=True):
    """An end of a micro-batch.

    `start` is where the batch that ends here begins, when that is not the end of the one before: at the very
    first, and where a reader of main goes on in another root, having stood at `left`. Spark keeps only ends,
    and what it reads again after a crash must begin where it began.
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


# Before the first batch: where to begin is looked up when there is something to read.
NOTHING_READ: dict[str, Any] = {}


def read_offset(fields: dict[str, Any]) -> Offset | None:
    """None for `NOTHING_READ`. Raises `Corrupt`."""
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
    """Tells this commit from any other of its id: older writers give no uuid, but new names to lists."""
    return snapshot.uuid or snapshot.delta_manifest_list


def position_of(root: Root, snapshot: Snapshot, *, is_full: bool = False) -> StreamPosition:
    return StreamPosition(root.branch, snapshot.id, mark_of(snapshot), is_full)

"""Keep a stream's position in the table as a consumer of Paimon: `consumer-id`.

`<root>/consumer/consumer-<id>` names the next snapshot that is needed, which expiry keeps with all later
ones, and the exact position. Spark's checkpoint is authoritative: the file follows it, once Spark says that a
batch is committed. A query without a checkpoint continues from the file. While a stream reads the whole state
that it began with, the file is `consumer-<id>.full`, because readers that only know `nextSnapshot` must not
continue there.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic

import msgspec

from paimark.core.config import read_only_environment
from paimark.core.errors import READ_ONLY, NotFound, Refused, UsageError
from paimark.core.spark.streaming.offsets import StreamPosition, mark_of
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import has_schema
from paimark.core.table.names import checked_name
from paimark.core.table.records import Consumer, TableSchema
from paimark.core.table.trash import table_missing
from paimark.core.travel.states import State, States

ID, MODE, IGNORES = "consumer-id", "consumer.mode", "consumer.ignore-progress"
_OURS, _WHOLE = "paimark-", ".full"
# Stock engines delete a consumer whose file has not been written for consumer.expiration-time.
_RENEWED_S = 60.0


class StreamConsumer(Consumer, frozen=True, kw_only=True):
    """A consumer with the exact position, which Paimon's readers ignore."""

    position: StreamPosition | None = msgspec.field(default=None, name="paimarkPlace")  # where it stands


def consumer_id(options: Mapping[str, str]) -> str | None:
    """The consumer id in the options, or None.

    Raises `UsageError` for an invalid name and for options without effect, `Refused` in read-only mode.
    """
    name = options.get(ID)
    if name is None:
        if without_id := [each for each in (MODE, IGNORES) if each in options]:
            raise UsageError(f"{without_id[0]} goes with {ID}", f"Give {ID}, or leave it out.")
        return None
    if options.get(MODE, "exactly-once").lower() != "exactly-once":
        raise UsageError(
            f"{MODE} is exactly-once, not {options[MODE]}",
            "The position is written when Spark has committed the batch, and never before.",
        )
    if name.startswith(_OURS) or name.endswith(_WHOLE):
        raise UsageError(f"{ID} can't begin with {_OURS} or end with {_WHOLE}: {name}")
    checked_name(name, "consumer")
    if read_only_environment():
        raise Refused(*READ_ONLY)
    return name


class ConsumerPosition:
    """The consumer's file of one stream. Without an id there is no file, and methods do nothing."""

    def __init__(self, name: str | None) -> None:
        self._name = name
        self._root: Root | None = None
        self._position: StreamPosition | None = None
        # The file, and the content that was written last.
        self._path, self._data = "", b""
        # By the monotonic clock of this process.
        self._written = 0.0

    def position(self, files: Files, root: Root) -> StreamPosition | None:
        """The position from which a stream of this id continues, or None. Raises `Corrupt`."""
        if self._name is None:
            return None
        for name in (self._name, self._name + _WHOLE):
            path = root.consumer(name)
            if (data := read_if_there(files, path)) is not None:
                return _position_in(files, root, StreamConsumer.from_json(data, path))
        return None

    def hold(self, files: Files, root: Root, position: StreamPosition, *, is_new: bool) -> None:
        """Register the position of a run, which keeps the next snapshots. Later calls renew the file.

        If the stream is not new, the file may be a batch behind, until Spark says that this is committed; or
        ahead, if an older checkpoint was restored. Raises as `advance` does.
        """
        if self._name is None:
            return
        if self._position is None or self._root is None:
            recorded = None if is_new else self.position(files, root)
            self._write(files, root, min(recorded or position, position, key=_next_snapshot))
        elif monotonic() - self._written > _RENEWED_S:
            self._write(files, self._root, self._position)

    def advance(self, files: Files, root: Root, position: StreamPosition) -> None:
        """Move to a position up to which Spark has committed.

        Raises `Refused` if another query moved it, and `NotFound` if the branch is gone.
        """
        if self._name is not None:
            self._write(files, root, position)

    def _write(self, files: Files, root: Root, position: StreamPosition) -> None:
        whole, plain = (root.consumer(f"{self._name}{end}") for end in (_WHOLE, ""))
        path, other = (whole, plain) if position.is_full else (plain, whole)
        self._require_root(files, root)
        self._require_unmoved(files)
        self._path = path
        self._data = StreamConsumer(next_snapshot=_next_snapshot(position), position=position).to_json()
        files.replace(path, self._data)
        # The branch may have been deleted in between.
        self._require_root(files, root)
        if self._position is None or self._position.is_full != position.is_full:
            files.delete(other)
        if self._root is not None and self._root != root:
            for end in ("", _WHOLE):
                files.delete(self._root.consumer(f"{self._name}{end}"))
        self._root, self._position, self._written = root, position, monotonic()

    def _require_root(self, files: Files, root: Root) -> None:
        """Raises `NotFound` if the root is gone, and deletes what this stream wrote there.

        The consumer alone would be a branch without a schema: stock orphan cleaning fails on it for the whole
        table, and no branch of that name can be made.
        """
        if has_schema(files, root):
            return
        for end in ("", _WHOLE):
            files.delete(root.consumer(f"{self._name}{end}"))
        if root.branch is None:
            files.prune(root.consumers)
            raise table_missing(files, root.table)
        files.prune(root.directory)
        raise NotFound(
            f"{root.table.full_name} has no branch {root.branch} any more: it was deleted while this stream "
            "read it",
            "Begin anew with another checkpoint, on a branch that is there.",
        )

    def _require_unmoved(self, files: Files) -> None:
        """Raises `Refused` if another query wrote the file: snapshots that this one needs could expire."""
        data = read_if_there(files, self._path) if self._path else None
        if data is None or data == self._data:
            return
        moved = StreamConsumer.from_json(data, self._path)
        raise Refused(
            f"Consumer {self._name} was moved to snapshot {moved.next_snapshot} by another query or engine, "
            "while this stream kept its position there",
            f"Give each query a {ID} of its own. If you moved it on purpose, start this query again.",
        )


def _next_snapshot(position: StreamPosition) -> int:
    """The first snapshot that a stream at this position needs."""
    return position.snapshot + (not position.is_inside)


def _position_in(files: Files, root: Root, consumer: StreamConsumer) -> StreamPosition:
    """The exact position if the file has it, else the one before the next snapshot.

    Other engines write only the next snapshot, and remove the position or leave it unchanged.
    """
    position = consumer.position
    if position is not None and _next_snapshot(position) == consumer.next_snapshot:
        return msgspec.structs.replace(position, branch=root.branch)
    before = max(consumer.next_snapshot - 1, 0)
    live = States(files, root).snapshot(before)
    return StreamPosition(root.branch, before, mark_of(live.snapshot) if live else "")


def tells_changes_later(schema: TableSchema) -> bool:
    """Whether rows are in the table before the changelog of a later snapshot has their changes."""
    return changelog_producer(schema) in ("lookup", "full-compaction")


def changelog_producer(schema: TableSchema) -> str:
    return schema.options.get("changelog-producer", "none").lower()


def begins_whole(states: States) -> bool:
    """Whether a stream of the table may begin with a whole state."""
    return not tells_changes_later(Lineage(states.files, states.root).require_schema())


def begin_anew(states: States) -> str:
    """How a query begins anew, with all rows where the table allows that."""
    mode = "latest-full" if begins_whole(states) else "latest"
    return f"begin anew with another checkpoint and scan.mode {mode}"


def what_begins(states: States) -> str:
    """A hint on the starts of a stream that work, though what was asked for has expired."""
    oldest = states.lineage.oldest()
    if oldest is None:
        return f"{begin_anew(states).capitalize()}."
    if not begins_whole(states):
        return (
            f"scan.mode from-snapshot with scan.snapshot-id {oldest.id} begins with the changes left, and "
            "scan.gap=earliest does so too and says what is missing."
        )
    first = _first_followed(states) or State("snapshot", f"snapshot.{oldest.id}", oldest)
    return (
        f"scan.mode from-snapshot-full with scan.snapshot-id {first.name} begins with all rows of snapshot "
        f"{first.snapshot.id}, and has every change since; scan.gap=earliest begins with the earliest rows "
        "left, and says what is missing."
    )


def is_followed(states: States, state: State) -> bool:
    """Whether every snapshot after a kept state is left, in its file or in a tag."""
    earliest = states.lineage.earliest_id()
    ids = range(state.snapshot.id + 1, earliest or 0)
    return earliest is not None and all(states.that_saved(each).same for each in ids)


def _first_followed(states: States) -> State | None:
    """The earliest kept state, before the snapshots that are left, that is followed."""
    earliest = states.lineage.earliest_id() or 0
    kept = [
        state
        for state in states.tag_states
        # A number is taken for the id of a snapshot.
        if state.snapshot.id < earliest and not state.name.isdecimal() and is_followed(states, state)
    ]
    return min(kept, key=lambda state: (state.snapshot.id, state.kind == "tag"), default=None)

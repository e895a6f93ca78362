"""The pieces of a micro-batch's snapshots: planned once, for the batch's end and for its tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from paimark.core.spark.datasource.scan import Scan
from paimark.core.spark.streaming.consumers import tells_changes_later
from paimark.core.spark.streaming.limits import Limits, Size, cut_changes, cut_whole, require_same_pieces
from paimark.core.spark.streaming.next_changes import Expired, changes, snapshot_at, whole_state
from paimark.core.spark.streaming.offsets import Gap, Offset, StreamPosition, mark_of, position_of
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import snapshot_facts
from paimark.core.table.records import Snapshot

if TYPE_CHECKING:
    from paimark.core.spark.datasource.scan import Scan
    from paimark.core.spark.streaming.changes import MicroBatch, RowForm


# The number of snapshots that are read at a time.
_AT_ONCE = 32


class PlannedPieces:
    """A cache of the pieces of snapshots from the stream's position on."""

    def __init__(self, with_kinds: bool) -> None:
        self._with_kinds = with_kinds
        # By the position of the whole state, or else of the snapshot whose changes they are.
        self._planned: dict[StreamPosition, tuple[list[Any], RowForm]] = {}

    def end(
        self, files: Files, scan: Scan, start: StreamPosition, newest: Offset, limits: Limits
    ) -> tuple[Offset, Size | None]:
        """The end of the next batch, at most `newest`, and its size if it takes all there is, else None."""
        self._planned = {at: pieces for at, pieces in self._planned.items() if at.snapshot >= start.snapshot}
        if start.is_inside:
            return cut_whole(start, self._pieces(files, scan, start.snapshot, start)[0], limits), None
        end, size = cut_changes(
            start,
            _in_steps(files, scan.root, start.snapshot, newest.snapshot),
            lambda snapshot: self._cached(files, scan, None, [snapshot])[0],
            limits,
        )
        assert end is not None
        return end, (size if end == newest else None)

    def splits(
        self, files: Files, scan: Scan, first: StreamPosition, last: Offset
    ) -> tuple[list[Any], RowForm]:
        """The splits of a batch. Raises `Corrupt` if its pieces are not those that were counted."""
        if first.pieces or last.pieces:
            return self._splits_of_part(files, scan, first, last)
        later = changes(files, scan.root, first.snapshot, last.snapshot)
        return self._batch(files, scan, first if first.is_full else None, later).splits()

    def _splits_of_part(
        self, files: Files, scan: Scan, first: StreamPosition, last: Offset
    ) -> tuple[list[Any], RowForm]:
        """The splits of a batch that is a part of one snapshot, perhaps after others that add nothing."""
        snapshot = (first if first.is_inside else last).snapshot
        pieces, rows = self._pieces(files, scan, snapshot, first)
        for position in (first, last.position):
            if position.snapshot == snapshot:
                require_same_pieces(position, pieces)
        begin = first.pieces if first.is_inside else 0
        return pieces[begin : last.pieces or None], rows

    def _pieces(
        self, files: Files, scan: Scan, snapshot: int, position: StreamPosition
    ) -> tuple[list[Any], RowForm]:
        """The pieces of a snapshot's changes, or of its whole state if `position.is_full`."""
        whole = replace(position, pieces=0, last="") if position.is_full else None
        later = [] if whole else changes(files, scan.root, snapshot - 1, snapshot)
        return self._cached(files, scan, whole, later)

    def _cached(
        self, files: Files, scan: Scan, whole: StreamPosition | None, later: list[Snapshot]
    ) -> tuple[list[Any], RowForm]:
        from paimark.core.spark.streaming.changes import in_pieces

        at = whole or position_of(scan.root, later[0])
        if at not in self._planned:
            self._planned[at] = self._batch(files, in_pieces(scan), whole, later).splits()
        return self._planned[at]

    def _batch(
        self, files: Files, scan: Scan, whole: StreamPosition | None, later: list[Snapshot]
    ) -> MicroBatch:
        from paimark.core.spark.streaming.changes import MicroBatch

        snapshot = whole_state(files, scan.root, whole) if whole else None
        without = files_before(files, scan.root, whole) if whole else frozenset()
        return MicroBatch(files, scan, snapshot, later, self._with_kinds, without)


def _in_steps(files: Files, root: Root, after: int, last: int) -> Iterator[Snapshot]:
    for behind in range(after, last, _AT_ONCE):
        yield from changes(files, root, behind, min(behind + _AT_ONCE, last))


# The stream continues with the earliest snapshot that is left, and reads as much of the lost changes as that
# one has. For a table with keys it reads the whole state, as upserts. For a table without keys it reads the
# rows in files that were added since the last state that it read, if a savepoint or tag keeps that state and
# all its files are still in the table; else only the changes from the earliest snapshot on. The log, and the
# offset in the query's progress, tell what is missing.
def describe_gap(gap: Gap, name: str) -> str:
    """Describe a gap in one sentence; `name` is the table's."""
    one = gap.first == gap.last
    ids = f"Snapshot {gap.first}" if one else f"Snapshots {gap.first} to {gap.last}"
    if not gap.first:
        ids = f"Snapshots up to {gap.last}"
    begin = f"{ids} of {name} expired before this stream read {'it' if one else 'them'}"
    match gap.read:
        case "start":
            return f"{begin}: it begins with all rows of snapshot {gap.last + 1} in place of their changes"
        case "state":
            return (
                f"{begin}: every row of snapshot {gap.last + 1} comes as an upsert, and a key that was "
                "deleted in between stays as it was read before"
            )
        case "rest":
            return (
                f"{begin}: the rows that were added come as they are left in snapshot {gap.last + 1}; those "
                "that were deleted again do not"
            )
    return f"{begin}: what was changed is missing, and the stream goes on with snapshot {gap.last + 1}"


def over_gap(
    files: Files, scan: Scan, position: StreamPosition, expired: Expired
) -> tuple[StreamPosition, Gap]:
    """The position after a gap, and the gap. Raises `expired` if nothing later is left."""
    root, schema = scan.root, scan.table_schema
    earliest = Lineage(files, root).oldest()
    if earliest is None or earliest.id <= expired.missing[0]:
        raise expired
    first, last = expired.missing[0], earliest.id - 1
    if schema.primary_keys and not tells_changes_later(schema):
        return position_of(root, earliest, is_full=True), Gap(first, last, "state")
    if not schema.primary_keys and (last_read := _state_within(files, root, position, earliest)) is not None:
        start = msgspec.structs.replace(
            position_of(root, earliest, is_full=True), since=last_read.id, since_uuid=mark_of(last_read)
        )
        return start, Gap(first, last, "rest")
    return StreamPosition(root.branch, last, ""), Gap(first, last, "nothing")


def _state_within(files: Files, root: Root, position: StreamPosition, later: Snapshot) -> Snapshot | None:
    """The state at a position, if it can be read and all its files are in the later state, too; else None.

    Then every row in the other files was added later: a compacted file would be missing in the later one.
    """
    if position.pieces or (last_read := snapshot_at(files, root, position)) is None:
        return None
    return last_read if file_names(files, root, last_read) <= file_names(files, root, later) else None


def files_before(files: Files, root: Root, position: StreamPosition) -> frozenset[str]:
    """The data files to leave out when the whole state at a position is read.

    Raises `NotFound` if the state that has them is gone.
    """
    if not position.since:
        return frozenset()
    last_read = StreamPosition(position.branch, position.since, position.since_uuid)
    return file_names(files, root, whole_state(files, root, last_read))


def file_names(files: Files, root: Root, snapshot: Snapshot) -> frozenset[str]:
    """The names of the data files in the whole state of a snapshot."""
    facts = snapshot_facts(files, root.table, snapshot)
    return frozenset(each.name for each in facts)

"""The pieces of a micro-batch's snapshots: planned once, for the batch's end and for its tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from paimark.core.spark.streaming.gaps import files_before
from paimark.core.spark.streaming.limits import Limits, Size, cut_changes, cut_whole, require_same_pieces
from paimark.core.spark.streaming.next_changes import changes, whole_state
from paimark.core.spark.streaming.offsets import Offset, StreamPosition, position_of
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
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

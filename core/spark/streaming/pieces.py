"""The pieces of a snapshot, of which a micro-batch takes so many: planned once, for its end and its tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from core.spark.streaming.following import changes, whole_state
from core.spark.streaming.limits import Limits, Size, cut_changes, cut_whole, require_same_pieces
from core.spark.streaming.offsets import Offset, StreamPosition, mark_of
from core.storage.files import Files
from core.table.layout import Root
from core.table.records import Snapshot

if TYPE_CHECKING:
    from core.spark.datasource.scan import Scan
    from core.spark.streaming.changes import RowForm

# Snapshots that are read at a time, to see what they add.
_AT_ONCE = 32


class PlannedPieces:
    """Of the snapshots from the stream's place on that have been looked at."""

    def __init__(self, with_kinds: bool) -> None:
        self._with_kinds = with_kinds
        self._planned: dict[tuple[int, str, bool], tuple[list[Any], RowForm]] = {}

    def end(
        self, files: Files, scan: Scan, start: StreamPosition, newest: Offset, limits: Limits
    ) -> tuple[Offset, Size | None]:
        """Where the next batch ends, at `newest` at the latest, and its size where it takes all there is."""
        self._forget(start.snapshot)
        if start.is_inside:
            [snapshot] = self._snapshots(files, scan.root, start)
            return cut_whole(start, self.of(files, scan, snapshot, start.is_full)[0], limits), None
        end, size = cut_changes(
            start,
            _in_steps(files, scan.root, start.snapshot, newest.snapshot),
            lambda snapshot: self.of(files, scan, snapshot, False)[0],
            limits,
        )
        assert end is not None
        return end, (size if end == newest else None)

    def between(
        self, files: Files, scan: Scan, first: StreamPosition, last: Offset
    ) -> tuple[list[Any], RowForm]:
        """Those of a batch of one snapshot. Raises `Corrupt` where they are not those that were counted."""
        [snapshot] = self._snapshots(files, scan.root, first if first.is_inside else last)
        pieces, rows = self.of(files, scan, snapshot, first.is_full)
        for position in (first, last.position):
            if position.snapshot == snapshot.id:
                require_same_pieces(position, pieces)
        begin = first.pieces if first.is_inside else 0
        return pieces[begin : last.pieces or None], rows

    def of(self, files: Files, scan: Scan, snapshot: Snapshot, is_whole: bool) -> tuple[list[Any], RowForm]:
        """Of its whole state, or of what it changed."""
        from core.spark.streaming.changes import MicroBatch, in_pieces

        key = (snapshot.id, mark_of(snapshot), is_whole)
        if key not in self._planned:
            whole, later = (snapshot, []) if is_whole else (None, [snapshot])
            batch = MicroBatch(files, in_pieces(scan), whole, later, self._with_kinds)
            self._planned[key] = batch.splits()
        return self._planned[key]

    def _forget(self, before: int) -> None:
        self._planned = {key: pieces for key, pieces in self._planned.items() if key[0] >= before}

    def _snapshots(self, files: Files, root: Root, position: StreamPosition) -> list[Snapshot]:
        if position.is_full:
            return [whole_state(files, root, position)]
        return changes(files, root, position.snapshot - 1, position.snapshot)


def _in_steps(files: Files, root: Root, after: int, last: int) -> Iterator[Snapshot]:
    for behind in range(after, last, _AT_ONCE):
        yield from changes(files, root, behind, min(behind + _AT_ONCE, last))

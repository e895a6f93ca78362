"""The rows of a timeline: runs in their order, drawn, with the records at their ends, a page at a time."""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from paimark.core.storage.files import Files
from paimark.core.table.layout import SAVEPOINT_TAG_PREFIX
from paimark.core.table.lineage.notes import note_of
from paimark.core.table.records import DECODE_ERRORS, Tag, misnamed, not_whole
from paimark.core.table.rows import Said, SnapshotRow, row_decoder
from paimark.core.table.timeline.lane_data import LaneData
from paimark.core.table.timeline.lanes import (
    FOLDED,
    Drawing,
    Lane,
    LaneCommit,
    Opened,
    Run,
    all_runs,
    forked_at,
)

# The number of runs of a lane that are read ahead: as many as a screen shows.
_AHEAD = 48
_FIRST_AHEAD = 2
_LONG_AGO, _TO_COME = -(2**63), 2**63
COMMIT, SAVED, TAGGED, EXPIRED = "●", "◆", "◇", "○"


@dataclass(frozen=True, slots=True)
class Row:
    """A commit, or a folded run of them. `tags` keep its files, savepoints first; `others` are tags with its
    id that keep another commit, because ids are given again after a rollback.

    `newest` and `oldest` are the records at the run's ends; None if they can't be read.
    """

    lane: Lane
    run: Run
    graph: str
    newest: SnapshotRow | None
    oldest: SnapshotRow | None
    tags: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    is_expired: bool = False
    is_main: bool = False

    @property
    def change(self) -> int | None:
        """Records added less those removed; None if the records lack the counts."""
        newest, oldest = self.newest, self.oldest
        if newest is None or oldest is None or not self.run.is_folded:
            return None if newest is None else newest.delta_record_count
        counts = (newest.total_record_count, oldest.total_record_count, oldest.delta_record_count)
        if None in counts:
            return None
        after, first, first_change = (each or 0 for each in counts)
        return after - (first - first_change)


class RecordReader:
    """Rows of snapshots, read on first use and kept; rows of expired snapshots come from tags."""

    def __init__(self, files: Files, data: LaneData) -> None:
        self.unreadable: dict[str, str] = {}
        self._files = files
        self._data = data
        self._decode = row_decoder()
        self._known: dict[LaneCommit, SnapshotRow | None] = {}

    def take(self, lane: int, rows: Iterable[SnapshotRow]) -> None:
        """Add rows that were read elsewhere."""
        self._known.update((LaneCommit(lane, row.snapshot_id), row) for row in rows)

    def at(self, commit: LaneCommit) -> SnapshotRow | None:
        if commit not in self._known:
            self.read([commit])
        return self._known[commit]

    def time_of(self, commit: LaneCommit) -> int:
        """Epoch milliseconds; a time long ago if the record can't be read."""
        row = self.at(commit)
        return _LONG_AGO if row is None else row.commit_time

    def of_run(self, run: Run, following: Sequence[Run] = ()) -> SnapshotRow | None:
        """The newest commit of a run; those of the runs that follow are read together with it."""
        if run.newest_commit not in self._known:
            self.read(commit for each in (run, *following) for commit in _ends(each))
        return self._known[run.newest_commit]

    def read(self, commits: Iterable[LaneCommit]) -> None:
        """Read all places that are not known yet, in parallel."""
        lanes = self._data.lanes
        unread = [each for each in dict.fromkeys(commits) if each not in self._known]
        paths = [lanes[each.lane].root.snapshot(each.id) for each in unread]
        for commit, path, data in zip(unread, paths, self._files.read_many(paths), strict=True):
            self._known[commit] = self._from_tag(commit) if data is None else self._row(path, commit.id, data)

    def same_commit(self, commit: LaneCommit, name: str) -> bool:
        """Whether a tag is of the commit that is shown: ids are given again after a rollback."""
        row, tag = self.at(commit), self._data.tags[commit.lane][name]
        return row is None or (row.commit_time, row.commit_user, row.commit_identifier) == (
            tag.time_millis,
            tag.commit_user,
            tag.commit_identifier,
        )

    def _row(self, path: str, snapshot_id: int, data: bytes) -> SnapshotRow | None:
        try:
            row = self._decode(data)
        except DECODE_ERRORS as error:
            self.unreadable[path] = not_whole(path, "snapshot", error)
            return None
        if row.snapshot_id != snapshot_id:
            self.unreadable[path] = misnamed(path, row.snapshot_id)
            return None
        return row

    def _from_tag(self, commit: LaneCommit) -> SnapshotRow | None:
        names = self._data.lanes[commit.lane].tags.get(commit.id, ())
        return row_of_tag(self._data.tags[commit.lane][names[0]]) if names else None


def row_of_tag(tag: Tag) -> SnapshotRow:
    """The row that a list shows for the snapshot that a tag keeps."""
    note = note_of(tag)
    return SnapshotRow(
        snapshot_id=tag.id,
        schema_id=tag.schema_id,
        commit_user=tag.commit_user,
        commit_identifier=tag.commit_identifier,
        commit_kind=tag.commit_kind,
        commit_time=tag.time_millis,
        total_record_count=tag.total_record_count,
        delta_record_count=tag.delta_record_count,
        said=Said(note.message or None, note.author or None),
        changelog_record_count=tag.changelog_record_count,
        watermark=tag.watermark,
    )


def page_of_rows(
    data: LaneData,
    records: RecordReader,
    opened: Sequence[Opened] = (),
    limit: int = 500,
    until: LaneCommit | None = None,
) -> tuple[list[Row], int]:
    """The newest `limit` rows, or as many more as include `until`, and the number of all rows.

    It reads the records of these rows, and the newest of each lane.
    """
    runs = all_runs(data.lanes, opened)
    records.read(commit for lane in runs for run in lane[:_FIRST_AHEAD] for commit in _ends(run))
    positions = {run.newest_commit: at for lane in runs for at, run in enumerate(lane)}
    # A record that can't be read gets the time of the last one before it in its lane.
    last_times = [_TO_COME] * len(runs)

    def time_of(run: Run) -> int:
        lane, at = runs[run.lane], positions[run.newest_commit]
        row = records.of_run(run, lane[at + 1 : at + _AHEAD])
        if row is not None:
            last_times[run.lane] = row.commit_time
        return last_times[run.lane]

    drawing = Drawing(data.lanes, runs)
    rows: list[Row] = []
    missing = until is not None
    for run in in_order(data.lanes, runs, time_of):
        if len(rows) >= limit and not missing:
            break
        rows.append(_row(data, records, drawing, run))
        missing = missing and not covers(run, until)
    return rows, sum(map(len, runs))


def _row(data: LaneData, records: RecordReader, drawing: Drawing, run: Run) -> Row:
    lane = data.lanes[run.lane]
    if run.is_folded:
        graph = drawing.draw(run, FOLDED)
        oldest = records.at(LaneCommit(run.lane, run.oldest))
        return Row(lane, run, graph, records.at(run.newest_commit), oldest, is_main=run.lane == 0)
    named = lane.tags.get(run.newest, ())
    tags = tuple(each for each in named if records.same_commit(run.newest_commit, each))
    others = tuple(each for each in named if each not in tags)
    is_expired = not lane.has_file(run.newest)
    sign = EXPIRED if is_expired else _sign(tags)
    newest = records.at(run.newest_commit)
    return Row(lane, run, drawing.draw(run, sign), newest, newest, tags, others, is_expired, run.lane == 0)


def _sign(tags: Sequence[str]) -> str:
    if not tags:
        return COMMIT
    return SAVED if tags[0].startswith(SAVEPOINT_TAG_PREFIX) else TAGGED


def covers(run: Run, commit: LaneCommit | None) -> bool:
    """Whether a commit is in a run."""
    return commit is not None and run.lane == commit.lane and run.oldest <= commit.id <= run.newest


def _ends(run: Run) -> tuple[LaneCommit, ...]:
    return (run.newest_commit, LaneCommit(run.lane, run.oldest)) if run.is_folded else (run.newest_commit,)


def commit_at(data: LaneData, records: RecordReader, lane: int, time_ms: int) -> LaneCommit | None:
    """The newest commit of a lane's history at or before a time (epoch ms); None if all are later.

    It bisects, though times need not rise with ids: the result is a commit to show, and no version to read.
    """
    index: int | None = lane
    newest: int | None = None
    while index is not None:
        here = data.lanes[index]
        ids = sorted({*here.ids, *here.tags})
        commits = [LaneCommit(index, each) for each in ids if newest is None or each <= newest]
        at = bisect_right(commits, time_ms, key=records.time_of)
        if at:
            return commits[at - 1]
        index, newest = here.parent, here.fork
    return None


def unfold_around(lane: Lane, snapshot_id: int, each_side: int) -> Opened:
    """The commits around a snapshot, to be shown one by one."""
    at = bisect_left(lane.ids, snapshot_id)
    there = lane.ids[max(0, at - each_side) : at + each_side + 1]
    return Opened(lane.root, there[0] if there else snapshot_id, there[-1] if there else snapshot_id)


# Epoch milliseconds of the newest commit of a run.
TimeOf = Callable[[Run], int]


def in_order(lanes: Sequence[Lane], runs: Sequence[Sequence[Run]], time_of: TimeOf) -> Iterator[Run]:
    """Merge the lanes by time, lazily: it calls `time_of` only for the next run of each lane.

    A commit waits for the lanes that part from it and for the merges of it, whatever the clocks say.
    """
    children = forked_at(lanes)
    blockers: Counter[LaneCommit] = Counter(
        {commit: sum(bool(runs[child]) for child in lanes_from) for commit, lanes_from in children.items()}
    )
    for index, lane in enumerate(lanes):
        for merge, sources in lane.merges.items():
            if lane.has(merge):
                blockers.update(source for source in sources if source != LaneCommit(index, merge))
    ready: list[tuple[int, int]] = []
    waiting: dict[LaneCommit, tuple[int, int]] = {}
    following = [0] * len(lanes)

    def queue(index: int) -> None:
        if following[index] == len(runs[index]):
            return
        run = runs[index][following[index]]
        entry = (-time_of(run), index)
        if blockers[run.newest_commit] > 0:
            waiting[run.newest_commit] = entry
        else:
            heapq.heappush(ready, entry)

    def release(commit: LaneCommit) -> None:
        blockers[commit] -= 1
        if blockers[commit] <= 0 and commit in waiting:
            heapq.heappush(ready, waiting.pop(commit))

    for index in range(len(lanes)):
        queue(index)
    while ready or waiting:
        if not ready:
            # Records that contradict each other must not hide commits.
            newest = min(waiting, key=lambda commit: waiting[commit])
            ready.append(waiting.pop(newest))
        _, index = heapq.heappop(ready)
        run, lane = runs[index][following[index]], lanes[index]
        following[index] += 1
        yield run
        for source in lane.merges.get(run.newest, ()):
            release(source)
        if following[index] == len(runs[index]) and lane.parent is not None and lane.fork is not None:
            release(LaneCommit(lane.parent, lane.fork))
        queue(index)

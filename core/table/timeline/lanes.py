"""Lanes, and the runs of commits in each. Long runs of plain commits are one row."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from paimark.core.table.layout import Root

# A run of plain commits that is longer than this is folded into one row.
FEW = 8
# The number of main's newest commits that are never folded.
NEWEST_SHOWN = 10


class LaneCommit(NamedTuple):
    """A commit of the lane with this index."""

    lane: int
    id: int


class Run(NamedTuple):
    """The commits of a lane from `newest` to `oldest`, `length` of them."""

    lane: int
    newest: int
    oldest: int
    length: int

    @property
    def newest_commit(self) -> LaneCommit:
        return LaneCommit(self.lane, self.newest)

    @property
    def is_folded(self) -> bool:
        return self.length > 1


class Opened(NamedTuple):
    """Ids, both included, of commits of a root that are shown one by one."""

    root: Root
    oldest: int
    newest: int


@dataclass(frozen=True, slots=True)
class Lane:
    """The commits of a root since it parted from lane `parent`, at snapshot `fork`; None if unknown.

    `ids` are those of its snapshot files, ascending. `tags` has by id the names of the tags that keep a
    snapshot, savepoints first; an id that is not in `ids` has expired. `notes` are words by id, `merges` the
    commits of other lanes that a commit merged.
    """

    root: Root
    ids: Sequence[int]
    tags: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    parent: int | None = None
    fork: int | None = None
    notes: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    merges: Mapping[int, tuple[LaneCommit, ...]] = field(default_factory=dict)

    def has_file(self, snapshot_id: int) -> bool:
        at = bisect_left(self.ids, snapshot_id)
        return at < len(self.ids) and self.ids[at] == snapshot_id

    def has(self, snapshot_id: int) -> bool:
        return snapshot_id in self.tags or self.has_file(snapshot_id)


def locate(lanes: Sequence[Lane], lane: int, snapshot_id: int) -> LaneCommit | None:
    """The place that shows a snapshot of this lane's root: on the lane, or on one from which it parted."""
    index: int | None = lane
    while index is not None:
        here = lanes[index]
        if here.fork is None or snapshot_id > here.fork:
            return LaneCommit(index, snapshot_id) if here.has(snapshot_id) else None
        index = here.parent
    return None


def forked_at(lanes: Sequence[Lane]) -> dict[LaneCommit, list[int]]:
    """For each commit that is shown and has any: the lanes that part from it."""
    children: dict[LaneCommit, list[int]] = {}
    for index, lane in enumerate(lanes):
        if lane.parent is None or lane.fork is None or not (lane.ids or lane.tags):
            continue
        if lanes[lane.parent].has(lane.fork):
            children.setdefault(LaneCommit(lane.parent, lane.fork), []).append(index)
    return children


def all_runs(lanes: Sequence[Lane], opened: Iterable[Opened] = ()) -> list[list[Run]]:
    """The runs of each lane, newest first. It uses only ids, so that any number of commits costs the same."""
    marked: list[set[int]] = [{*lane.tags, *lane.notes, *lane.merges} for lane in lanes]
    for commit in forked_at(lanes):
        marked[commit.lane].add(commit.id)
    for lane in lanes:
        for sources in lane.merges.values():
            for source in sources:
                marked[source.lane].add(source.id)
    by_root = {lane.root: index for index, lane in enumerate(lanes)}
    for each in opened:
        if (index := by_root.get(each.root)) is not None:
            marked[index].update(_slice(lanes[index].ids, each.oldest, each.newest))
    return [_runs(index, lane, marked[index]) for index, lane in enumerate(lanes)]


def _runs(index: int, lane: Lane, marked: set[int]) -> list[Run]:
    always_single = NEWEST_SHOWN if index == 0 else 1
    single = sorted({*(each for each in marked if lane.has(each)), *lane.ids[-always_single:]}, reverse=True)
    runs: list[Run] = []
    above = len(lane.ids)
    for snapshot_id in single:
        after = bisect_right(lane.ids, snapshot_id)
        runs += _between(index, lane.ids, after, above)
        runs.append(Run(index, snapshot_id, snapshot_id, 1))
        above = bisect_left(lane.ids, snapshot_id)
    return [*runs, *_between(index, lane.ids, 0, above)]


def _between(index: int, ids: Sequence[int], start: int, end: int) -> list[Run]:
    if end - start > FEW:
        return [Run(index, ids[end - 1], ids[start], end - start)]
    return [Run(index, ids[at], ids[at], 1) for at in range(end - 1, start - 1, -1)]


def _slice(ids: Sequence[int], oldest: int, newest: int) -> Sequence[int]:
    return ids[bisect_left(ids, oldest) : bisect_right(ids, newest)]

"""Lanes with their runs of commits, and the lines of box-drawing characters beside them.

Long runs of plain commits are one row.
"""

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
MOST_LANES = 8
FOLDED = "┊"
_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_BOXES = " ╵╷│╴╯╮┤╶╰╭├─┴┬┼"


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


class Drawing:
    """Draws runs in their order, from the top. A lane has a column while it is live.

    If more than `MOST_LANES` are live, the others are shown as a count, `+192`, until a column is free.
    """

    def __init__(self, lanes: Sequence[Lane], runs: Sequence[Sequence[Run]]) -> None:
        self._lanes = lanes
        self._left = [len(each) for each in runs]
        self._children = {
            commit: [child for child in children if runs[child]]
            for commit, children in forked_at(lanes).items()
        }
        self._has_fork = {child for children in self._children.values() for child in children}
        self._drawn: set[LaneCommit] = set()
        # Lanes by column; the first column is kept for main's lane.
        self._columns: list[int | None] = [None] * MOST_LANES
        self._hidden: set[int] = set()

    def draw(self, run: Run, sign: str) -> str:
        """The line of the next run, with its sign in its lane."""
        commit = run.newest_commit
        live = [lane is not None for lane in self._columns]
        here = self._column_for(run.lane)
        down = [
            self._column_for(source.lane)
            for source in self._lanes[run.lane].merges.get(run.newest, ())
            if source.lane != run.lane and source not in self._drawn and not run.is_folded
        ]
        up = [
            self._columns.index(child) for child in self._children.get(commit, ()) if child in self._columns
        ]
        line = self._line(here, sign, live, up, [column for column in down if column is not None])
        self._drawn.add(commit)
        for child in self._children.get(commit, ()):
            self._end(child)
        self._left[run.lane] -= 1
        if not self._left[run.lane] and run.lane not in self._has_fork:
            self._end(run.lane)
        return line

    def _column_for(self, lane: int) -> int | None:
        """The column of a lane. If it has none yet, it gets a free one, if there is one."""
        if lane in self._columns:
            return self._columns.index(lane)
        free = [column for column, lane in enumerate(self._columns) if lane is None and column]
        column = 0 if lane == 0 else free[0] if free else None
        if column is None:
            self._hidden.add(lane)
        else:
            self._columns[column] = lane
            self._hidden.discard(lane)
        return column

    def _end(self, lane: int) -> None:
        self._hidden.discard(lane)
        if lane in self._columns:
            self._columns[self._columns.index(lane)] = None

    def _line(self, here: int | None, sign: str, live: list[bool], up: list[int], down: list[int]) -> str:
        """`live`: columns that come from above; `up`: those that end here; `down`: those of merged lanes."""
        cells = [(_UP | _DOWN) if each else 0 for each in live]
        between = [False] * MOST_LANES
        if here is not None:
            for column in up:
                cells[column] &= ~_DOWN
            for column in down:
                cells[column] |= _DOWN
            for column in (*up, *down):
                cells[column] |= _LEFT if column > here else _RIGHT
                first, last = min(here, column), max(here, column)
                between[first:last] = [True] * (last - first)
                for crossed in range(first + 1, last):
                    # Only lanes that end or begin here are joined; others pass below the line.
                    if not live[crossed] or crossed in up or crossed in down:
                        cells[crossed] |= _LEFT | _RIGHT
        boxes = [_BOXES[cell] for cell in cells]
        if here is not None:
            boxes[here] = sign
        text = "".join(box + ("─" if joined else " ") for box, joined in zip(boxes, between, strict=True))
        if self._hidden:
            return f"{text}{sign if here is None else ' '}+{len(self._hidden):,}"
        return text.rstrip()

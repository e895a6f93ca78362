"""The runs of all lanes in one order: newest first, and no commit above one that descends from it."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from paimark.core.table.timeline.lanes import Lane, LaneCommit, Run, forked_at

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

"""The runs of all lanes in one order: newest first, and no commit above one that descends from it."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from core.table.timeline.lanes import Lane, Place, Run, forked_at

# Epoch milliseconds of the newest commit of a run.
TimeOf = Callable[[Run], int]


def in_order(lanes: Sequence[Lane], runs: Sequence[Sequence[Run]], time_of: TimeOf) -> Iterator[Run]:
    """Merge the lanes by time, lazily: it calls `time_of` only for the next run of each lane.

    A commit waits for the lanes that part from it and for the merges of it, whatever the clocks say.
    """
    children = forked_at(lanes)
    blockers: Counter[Place] = Counter(
        {place: sum(bool(runs[child]) for child in lanes_from) for place, lanes_from in children.items()}
    )
    for index, lane in enumerate(lanes):
        for merge, sources in lane.merges.items():
            if lane.has(merge):
                blockers.update(source for source in sources if source != Place(index, merge))
    ready: list[tuple[int, int]] = []
    waiting: dict[Place, tuple[int, int]] = {}
    following = [0] * len(lanes)

    def queue(index: int) -> None:
        if following[index] == len(runs[index]):
            return
        run = runs[index][following[index]]
        entry = (-time_of(run), index)
        if blockers[run.place] > 0:
            waiting[run.place] = entry
        else:
            heapq.heappush(ready, entry)

    def release(place: Place) -> None:
        blockers[place] -= 1
        if blockers[place] <= 0 and place in waiting:
            heapq.heappush(ready, waiting.pop(place))

    for index in range(len(lanes)):
        queue(index)
    while ready or waiting:
        if not ready:
            # Records that contradict each other must not hide commits.
            newest = min(waiting, key=lambda place: waiting[place])
            ready.append(waiting.pop(newest))
        _, index = heapq.heappop(ready)
        run, lane = runs[index][following[index]], lanes[index]
        following[index] += 1
        yield run
        for source in lane.merges.get(run.newest, ()):
            release(source)
        if following[index] == len(runs[index]) and lane.parent is not None and lane.fork is not None:
            release(Place(lane.parent, lane.fork))
        queue(index)

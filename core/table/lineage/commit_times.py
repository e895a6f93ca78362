"""The commit times of a root's snapshots.

Writers put their local clocks into snapshots, so that times need not rise with ids. Only a snapshot's own
file proves its commit time; its neighbours and the age of the file do not. So no bisection can be trusted,
and a lookup by time reads every snapshot. If a listing contains etags, a process reads each snapshot once. On
a local disk, reading a file again costs no more than checking whether it is still the same.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from threading import Lock

import msgspec

from paimark.core.storage.files import Files
from paimark.core.table.layout import SNAPSHOT_PREFIX, Root, number_in
from paimark.core.table.records import DECODE_ERRORS, Long, misnamed, not_whole

# About 50 MB.
_MOST_REMEMBERED = 200_000

# Time (epoch ms) and the file's etag, by snapshot id.
_Times = dict[int, tuple[int, str | None]]


class _Committed(msgspec.Struct, gc=False, rename={"time": "timeMillis"}):
    id: Long
    time: Long


class _Memory:
    """The times of the roots that were read last, by store and directory."""

    def __init__(self) -> None:
        self._roots: dict[tuple[str, str], _Times] = {}
        self._lock = Lock()

    def recall(self, key: tuple[str, str]) -> _Times:
        with self._lock:
            return self._roots.get(key, {})

    def keep(self, key: tuple[str, str], times: _Times) -> None:
        with self._lock:
            self._roots.pop(key, None)
            self._roots[key] = times
            while len(self._roots) > 1 and sum(map(len, self._roots.values())) > _MOST_REMEMBERED:
                del self._roots[next(iter(self._roots))]


_memory = _Memory()


class CommitTimes(msgspec.Struct, frozen=True):
    """`times` are epoch ms by snapshot id, ascending; `broken` has a sentence about each half-written one."""

    times: Mapping[int, int]
    broken: Mapping[int, str]

    def last_at(self, time_ms: int) -> int | None:
        """The snapshot with the latest commit time up to this time; of equal times, the highest id."""
        candidates = ((time, each) for each, time in self.times.items() if time <= time_ms)
        return max(candidates, default=(0, None))[1]

    def first_since(self, time_ms: int) -> int | None:
        """The lowest id of a snapshot committed at the time or later."""
        return next((each for each, time in self.times.items() if time >= time_ms), None)

    def oldest(self) -> int | None:
        return min(self.times, key=lambda each: (self.times[each], each), default=None)

    def untold(self, time_ms: int) -> str | None:
        """The sentence about a half-written snapshot that, by its neighbours' times, could be `last_at`."""
        last = self.last_at(time_ms)
        answer = (-math.inf, 0) if last is None else (self.times[last], last)
        ids = list(self.times)
        for number, sentence in self.broken.items():
            at = bisect_left(ids, number)
            below = self.times[ids[at - 1]] if at else -math.inf
            above = self.times[ids[at]] if at < len(ids) else math.inf
            if min(below, above) <= time_ms and (max(below, above), number) > answer:
                return sentence
        return None


def read_commit_times(files: Files, root: Root) -> CommitTimes:
    """Takes one listing, and a read of each file that this process has not read yet."""
    key = (files.uri, root.snapshots)
    known = _memory.recall(key)
    etags = _listed(files, root)
    remembered = {
        number: known[number]
        for number, etag in etags.items()
        if etag is not None and number in known and known[number][1] == etag
    }
    times, broken = _read(files, root, [number for number in etags if number not in remembered])
    remembered.update((number, (time_ms, etags[number])) for number, time_ms in times.items())
    if rememberable := {number: each for number, each in remembered.items() if each[1] is not None}:
        _memory.keep(key, rememberable)
    return CommitTimes({number: remembered[number][0] for number in etags if number in remembered}, broken)


def _listed(files: Files, root: Root) -> dict[int, str | None]:
    """The etag of each snapshot's file by id, ascending."""
    etags = (
        (number, etag)
        for name, etag in files.etags(root.snapshots).items()
        if (number := number_in(name, SNAPSHOT_PREFIX)) is not None
    )
    return dict(sorted(etags))


def _read(files: Files, root: Root, ids: Sequence[int]) -> tuple[dict[int, int], dict[int, str]]:
    """Times and sentences about broken snapshots, by id. Snapshots that expired meanwhile are in neither."""
    decode = msgspec.json.Decoder(_Committed).decode
    times: dict[int, int] = {}
    broken: dict[int, str] = {}
    contents = files.read_many(map(root.snapshot, ids))
    for number, data in zip(ids, contents, strict=True):
        if data is None:
            continue
        try:
            record = decode(data)
        except DECODE_ERRORS as error:
            broken[number] = not_whole(root.snapshot(number), "snapshot", error)
            continue
        if record.id == number:
            times[number] = record.time
        else:
            broken[number] = misnamed(root.snapshot(number), record.id)
    return times, broken

"""Read the data of a table's lanes: listings, tags, and the few snapshots that determine the forks."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from paimark.core.errors import NotFound, PaimarkError
from paimark.core.figures import some_of
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import Root, TablePath, in_order_of_makers
from paimark.core.table.lineage.forks import Fork, Side, find_fork
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.table.names import is_archive
from paimark.core.table.records import Point, Snapshot, Tag, commit_key, is_apart
from paimark.core.table.timeline.lanes import Lane, LaneCommit, locate

T = TypeVar("T")

# The number of main's newest archives that are also considered as parents of branches.
_MOST_ARCHIVES = 8


@dataclass(frozen=True, slots=True)
class PastEvent:
    """Words for a commit of a root (None: the table directory).

    The commit merged branch `source` up to snapshot `head`, if it merged any. `time_ms` (epoch milliseconds)
    is the time of its record, if known.
    """

    root: str | None
    at: Point
    words: str
    time_ms: float = math.inf
    source: str | None = None
    head: Point | None = None


@dataclass(frozen=True, slots=True)
class LaneData:
    """The lanes of a table, main's first. `tags` has the record of each tag by lane and name.

    `unreadable` has a sentence for each branch or file that is left out.
    """

    main: Root
    lanes: Sequence[Lane]
    tags: Sequence[dict[str, Tag]]
    unreadable: tuple[str, ...] = field(default=())


def read_lane_data(files: Files, table: TablePath, main: Root, events: Iterable[PastEvent]) -> LaneData:
    """Two listings and the tags of each root, and the reads of `find_fork`. Raises as `Side.read` of main."""
    trunk = Side(files, main).read()
    unreadable: dict[str, str] = {}
    others = [table.root(name) for name in branch_names(files, table) if name != main.branch]
    readable = each_of(partial(_if_readable, unreadable), [Side(files, root) for root in others])
    sides = [trunk, *(side for side in readable if side is not None)]
    lanes = _lanes(sides, unreadable)
    lanes = _with_newborn(lanes)
    lanes = _with_events(files, lanes, events)
    for side in sides:
        unreadable.update(side.lineage.unreadable)
    return LaneData(main, lanes, [side.tags for side in sides], tuple(unreadable.values()))


def _if_readable(unreadable: dict[str, str], side: Side) -> Side | None:
    return _attempt(unreadable, side.root, side.read)


def _attempt(unreadable: dict[str, str], root: Root, read: Callable[[], T]) -> T | None:
    """None, and a reason in `unreadable`, if a branch can't be read: it must not hide the others."""
    try:
        return read()
    except NotFound:
        # It was deleted after the listing.
        return None
    except PaimarkError as error:
        unreadable[root.directory] = error.message
        return None


def _lanes(sides: Sequence[Side], unreadable: dict[str, str]) -> list[Lane]:
    """A lane for each side. Its parent is main, an archive of main, or the branch with whose tag it began."""
    archives = [index for index, side in enumerate(sides) if is_archive(side.root.label)][-_MOST_ARCHIVES:]
    parents: list[tuple[int, int] | None] = [None] * len(sides)

    def best(index: int) -> tuple[int, int] | None:
        candidates = [0] if index in archives else [0, *archives]
        forks = [(each, _fork(sides[each], sides[index], unreadable)) for each in candidates]
        known = [(each, fork) for each, fork in forks if fork is not None and fork.snapshot_id is not None]
        proven = [(each, fork) for each, fork in known if fork.is_proven] or known
        chosen = max(proven, key=lambda pair: (pair[1].snapshot_id or 0, -pair[0]), default=None)
        return None if chosen is None else (chosen[0], chosen[1].snapshot_id or 0)

    for index, parent in zip(range(1, len(sides)), each_of(best, range(1, len(sides))), strict=True):
        parents[index] = parent
    tagged: dict[tuple[int, str, str], int] = {}
    for index in reversed(range(len(sides))):
        if parents[index] is not None or index == 0:
            tagged.update((commit_key(tag), index) for tag in sides[index].tags.values())
    for index, parent in enumerate(parents):
        if index and parent is None:
            candidates = [
                (tagged[commit_key(tag)], tag.id)
                for tag in sides[index].tags.values()
                if commit_key(tag) in tagged
            ]
            parents[index] = max(candidates, key=lambda pair: pair[1], default=None)
    return [_lane(side, parent) for side, parent in zip(sides, parents, strict=True)]


def _fork(parent: Side, side: Side, unreadable: dict[str, str]) -> Fork | None:
    return _attempt(unreadable, side.root, partial(find_fork, parent, side))


def _lane(side: Side, parent: tuple[int, int] | None) -> Lane:
    index, fork = parent if parent is not None else (None, None)
    after = -1 if fork is None else fork
    tags: dict[int, list[str]] = {}
    for name, tag in side.tags.items():
        if tag.id > after:
            tags.setdefault(tag.id, []).append(name)
    named = {number: in_order_of_makers(names) for number, names in tags.items()}
    ids = side.snapshot_ids[bisect_right(side.snapshot_ids, after) :]
    lane = Lane(side.root, ids, named, index, fork)
    apart = {tag.id for tag in side.tags.values() if is_apart(tag) and tag.id > after}
    notes = {each: ("not of this history",) for each in apart if not lane.has_file(each)}
    return replace(lane, notes=notes)


def newborn_branches(lanes: Sequence[Lane]) -> dict[LaneCommit, list[str]]:
    """The branches without a commit of their own, by the commit where they begin."""
    newborn: dict[LaneCommit, list[str]] = {}
    for lane in lanes[1:]:
        if not lane.ids and not lane.tags and lane.parent is not None and lane.fork is not None:
            newborn.setdefault(LaneCommit(lane.parent, lane.fork), []).append(lane.root.label)
    return newborn


def _with_newborn(lanes: Sequence[Lane]) -> list[Lane]:
    """Name branches without a commit of their own at the commit where they begin."""
    notes = {}
    for commit, names in newborn_branches(lanes).items():
        notes[commit] = f"{'branch' if len(names) == 1 else 'branches'} {some_of(names)}"
    return _with_notes(lanes, notes.items())


def _with_events(files: Files, lanes: Sequence[Lane], events: Iterable[PastEvent]) -> list[Lane]:
    """Add merges and other events, if their commits are still the ones that were recorded."""
    by_branch = {lane.root.branch: index for index, lane in enumerate(lanes)}
    shown_events = [each for each in events if each.root in by_branch]
    commits = {(each.root, each.at.id) for each in shown_events}
    commits |= {
        (each.source, each.head.id) for each in shown_events if each.head and each.source in by_branch
    }
    there = _snapshots(files, [(lanes[by_branch[branch]].root, number) for branch, number in commits])

    def find(branch: str | None, point: Point, before_ms: float) -> LaneCommit | None:
        """Ids are given again: it must be the recorded commit or, without one, no newer than the record."""
        snapshot = there.get((branch, point.id))
        if snapshot is None:
            return None
        is_it = snapshot.time_millis <= before_ms if point.is_lost else point.is_of(snapshot)
        return locate(lanes, by_branch[branch], point.id) if is_it else None

    notes: list[tuple[LaneCommit, str]] = []
    edges: dict[LaneCommit, list[LaneCommit]] = {}
    for each in shown_events:
        commit = find(each.root, each.at, each.time_ms)
        if commit is None:
            continue
        notes.append((commit, each.words))
        source = find(each.source, each.head, each.time_ms) if each.head else None
        if source is not None and source != commit:
            edges.setdefault(commit, []).append(source)
    noted_lanes = _with_notes(lanes, notes)
    for commit, sources in edges.items():
        lane = noted_lanes[commit.lane]
        noted_lanes[commit.lane] = replace(lane, merges={**lane.merges, commit.id: tuple(sources)})
    return noted_lanes


def _snapshots(files: Files, commits: Sequence[tuple[Root, int]]) -> dict[tuple[str | None, int], Snapshot]:
    """The snapshots that exist and are whole, by branch and id."""
    paths = [root.snapshot(number) for root, number in commits]
    there = {}
    for (root, number), path, data in zip(commits, paths, files.read_many(paths), strict=True):
        try:
            if data is not None:
                there[root.branch, number] = Snapshot.from_json(data, path)
        except PaimarkError:
            # The error is reported when its row is read.
            continue
    return there


def _with_notes(lanes: Sequence[Lane], notes: Iterable[tuple[LaneCommit, str]]) -> list[Lane]:
    noted_lanes = list(lanes)
    for commit, words in notes:
        lane = noted_lanes[commit.lane]
        known = lane.notes.get(commit.id, ())
        if lane.has(commit.id) and words not in known:
            noted_lanes[commit.lane] = replace(lane, notes={**lane.notes, commit.id: (*known, words)})
    return noted_lanes

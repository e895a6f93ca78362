"""Find the position at which a stream begins, by its options."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC
from typing import NamedTuple

from paimark.core.errors import NotFound
from paimark.core.spark.streaming.consumers import begins_whole, is_followed, what_begins
from paimark.core.spark.streaming.limits import ReadOptions
from paimark.core.spark.streaming.offsets import Gap, StreamPosition, mark_of, position_of
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.records import Snapshot
from paimark.core.travel.states import State, States
from paimark.core.travel.times import shown_time
from paimark.core.travel.version import Resolved, resolve_version

_SNAPSHOT = re.compile(r"(?:snapshot\.)?([0-9]{1,18})", re.IGNORECASE)


class Start(NamedTuple):
    """The first position of a stream, and what it can't read of what was asked for."""

    position: StreamPosition
    gap: Gap | None = None


def start_position(files: Files, root: Root, options: ReadOptions, until: int | None = None) -> Start | None:
    """The start, at snapshot `until` at the latest; None while the table has nothing to begin with.

    Raises `NotFound` if it is gone for good, with a hint on what can be read.
    """
    states = States(files, root)
    latest = states.lineage.latest()
    if until is not None and latest is not None and latest.id > until:
        last = states.snapshot(until)
        # If that snapshot has expired, the newest contains its rows.
        latest = last.snapshot if last else (latest if until else None)
    match options.mode:
        case "latest-full":
            return None if latest is None else Start(position_of(root, latest, is_full=True))
        case "latest":
            return Start(_before_all(root) if latest is None else position_of(root, latest))
        case "from-timestamp":
            assert options.time_ms is not None
            return _since(states, latest, options.time_ms, options.goes_over_gaps)
    assert options.version is not None
    if (waiting := _to_come(root, latest, options.version)) is not None:
        return Start(waiting) if options.mode == "from-snapshot" else None
    return _from_version(states, options, options.version)


def _from_version(states: States, options: ReadOptions, version: str) -> Start:
    is_full = options.mode == "from-snapshot-full"
    try:
        resolved = resolve_version(states.files, states.root, version)
    except NotFound as error:
        expired = _expired_id(states, version)
        if expired is None:
            raise
        if options.goes_over_gaps:
            return _earliest(states, lambda state: state.snapshot.id < expired)
        raise NotFound(error.message, what_begins(states)) from error
    if _is_live(states, resolved) and not is_full:
        return Start(_before(states, resolved.snapshot.id))
    if is_full or begins_whole(states):
        return Start(position_of(states.root, resolved.snapshot, is_full=True))
    if options.goes_over_gaps:
        return _earliest(states, lambda state: False)
    raise NotFound(
        f"Snapshot {resolved.snapshot.id} of {states.table_name} has expired, and its rows alone do not tell "
        "its changes",
        what_begins(states),
    )


def _expired_id(states: States, version: str) -> int | None:
    """The id of the snapshot that a version names, if that has expired."""
    number, earliest = _SNAPSHOT.fullmatch(version.strip()), states.lineage.earliest_id()
    if number is None or earliest is None or int(number[1]) >= earliest:
        return None
    return int(number[1])


def _earliest(states: States, is_before: Callable[[State], bool]) -> Start:
    """The start over a gap: the newest state before what was asked for, else the earliest that is left.

    A table whose changes are told later begins with those of the earliest snapshot.
    """
    oldest = states.lineage.oldest()
    assert oldest is not None
    if not begins_whole(states):
        before_oldest = StreamPosition(states.root.branch, oldest.id - 1, "")
        return Start(before_oldest, Gap(0, oldest.id - 1, "nothing"))
    kept = sorted(states.tag_states, key=lambda state: state.snapshot.id)
    before = [state.snapshot for state in kept if is_before(state)]
    if before:
        return Start(position_of(states.root, before[-1], is_full=True))
    first = min([oldest, *(state.snapshot for state in kept)], key=lambda snapshot: snapshot.id)
    gap = Gap(0, first.id - 1, "start") if first.id > 1 else None
    return Start(position_of(states.root, first, is_full=True), gap)


def _before_all(root: Root) -> StreamPosition:
    return StreamPosition(root.branch, 0, "")


def _before(states: States, snapshot_id: int) -> StreamPosition:
    """The position from which the changes of this snapshot come next."""
    previous = states.snapshot(snapshot_id - 1)
    mark = "" if previous is None else mark_of(previous.snapshot)
    return StreamPosition(states.root.branch, snapshot_id - 1, mark)


def _to_come(root: Root, latest: Snapshot | None, version: str) -> StreamPosition | None:
    """The present end, if the version is the next snapshot, which does not exist yet; else None."""
    number = _SNAPSHOT.fullmatch(version.strip())
    if number is None or int(number[1]) != (latest.id if latest else 0) + 1:
        return None
    return _before_all(root) if latest is None else position_of(root, latest)


def _is_live(states: States, resolved: Resolved) -> bool:
    live = states.snapshot(resolved.snapshot.id)
    return live is not None and mark_of(live.snapshot) == mark_of(resolved.snapshot)


def _since(states: States, latest: Snapshot | None, time_ms: int, goes_over_gaps: bool) -> Start:
    """The position before the first snapshot at or after a time. Even if clocks go back, it misses none.

    If the one before it has expired: the whole state of the closest savepoint at or before the time, or of a
    tag from which on nothing is missing. The changes in between are in that, or in the snapshots that are
    left.
    """
    if latest is None:
        return Start(_before_all(states.root))
    first = states.lineage.first_since(time_ms)
    if first is None:
        return Start(position_of(states.root, latest))
    before = states.snapshot(first - 1)
    if before is not None:
        return Start(position_of(states.root, before.snapshot))
    if first == 1:
        return Start(_before_all(states.root))
    kept = [state for state in states.tag_states if state.time <= time_ms] if begins_whole(states) else []
    closest = max(
        (state for state in kept if state.kind == "savepoint" or is_followed(states, state)),
        key=lambda state: state.snapshot.id,
        default=None,
    )
    if closest is not None:
        return Start(position_of(states.root, closest.snapshot, is_full=True))
    if goes_over_gaps:
        return _earliest(states, lambda state: state.time <= time_ms)
    raise NotFound(
        f"Snapshots of {states.table_name} from after {shown_time(time_ms, UTC)} have expired, and no "
        "savepoint of that time or before is left",
        what_begins(states),
    )

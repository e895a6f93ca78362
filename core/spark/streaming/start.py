"""Find the position at which a stream begins, by its options."""

from __future__ import annotations

import re

from paimark.core.errors import NotFound
from paimark.core.spark.streaming.offsets import StreamPosition, mark_of, position_of
from paimark.core.spark.streaming.options import ReadOptions
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.records import Snapshot
from paimark.core.travel.states import States
from paimark.core.travel.version import Resolved, resolve_time, resolve_version

_SNAPSHOT = re.compile(r"(?:snapshot\.)?([0-9]{1,18})", re.IGNORECASE)


def start_position(
    files: Files, root: Root, options: ReadOptions, until: int | None = None
) -> StreamPosition | None:
    """The first position, at snapshot `until` at the latest; None while the table has nothing to begin with.

    Raises `NotFound` if the start is gone for good.
    """
    states = States(files, root)
    latest = states.lineage.latest()
    if until is not None and latest is not None and latest.id > until:
        last = states.snapshot(until)
        # If that snapshot has expired, the newest contains its rows.
        latest = last.snapshot if last else (latest if until else None)
    match options.mode:
        case "latest-full":
            return None if latest is None else position_of(root, latest, is_full=True)
        case "latest":
            return _before_all(root) if latest is None else position_of(root, latest)
        case "from-timestamp":
            assert options.time_ms is not None
            return _since(states, latest, options.time_ms)
    assert options.version is not None
    if (waiting := _to_come(root, latest, options.version)) is not None:
        return waiting if options.mode == "from-snapshot" else None
    try:
        resolved = resolve_version(files, root, options.version)
    except NotFound:
        if not options.goes_over_gaps or (saved := _saved_before(states, options.version)) is None:
            raise
        return position_of(root, saved, is_full=True)
    if options.mode == "from-snapshot-full" or not _is_live(states, resolved):
        return position_of(root, resolved.snapshot, is_full=True)
    return _before(states, resolved.snapshot.id)


def _saved_before(states: States, version: str) -> Snapshot | None:
    """The snapshot of the closest savepoint before an expired snapshot; None if there is none."""
    number, earliest = _SNAPSHOT.fullmatch(version.strip()), states.lineage.earliest_id()
    if number is None or earliest is None or int(number[1]) >= earliest:
        return None
    saved = [state.snapshot for state in states.savepoint_states if state.snapshot.id < int(number[1])]
    return max(saved, key=lambda snapshot: snapshot.id, default=None)


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


def _since(states: States, latest: Snapshot | None, time_ms: int) -> StreamPosition:
    """The position before the first snapshot at or after a time. Even if clocks go back, it misses none.

    If the one before it has expired: the whole state of the closest savepoint at or before the time. The
    changes in between are in that, or in the snapshots that are left.
    """
    if latest is None:
        return _before_all(states.root)
    first = states.lineage.first_since(time_ms)
    if first is None:
        return position_of(states.root, latest)
    before = states.snapshot(first - 1)
    if before is not None:
        return position_of(states.root, before.snapshot)
    if first == 1:
        return _before_all(states.root)
    closest = max(
        (state for state in states.savepoint_states if state.time <= time_ms),
        key=lambda state: state.snapshot.id,
        default=None,
    )
    if closest is not None:
        return position_of(states.root, closest.snapshot, is_full=True)
    # For the hint: the closest state that is left.
    resolved = resolve_time(states.files, states.root, time_ms)
    raise NotFound(
        f"Snapshots of {states.table_name} from after {resolved.requested} have expired, and no savepoint of "
        "that time or before is left",
        f"The closest state before it is {resolved.name}: begin there with scan.mode from-snapshot-full.",
    )

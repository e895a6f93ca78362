"""Find what a stream reads next from its position. It never continues on another lineage."""

from __future__ import annotations

from msgspec.structs import replace

from paimark.core.errors import NotFound, Refused
from paimark.core.spark.streaming.consumers import begin_anew
from paimark.core.spark.streaming.offsets import Offset, StreamPosition, mark_of, position_of
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.forks import Side, find_fork
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots
from paimark.core.table.records import Snapshot
from paimark.core.travel.states import State, States


class Expired(NotFound):
    """Snapshots that a stream has to read next have expired, at least the `missing` ones."""

    def __init__(self, message: str, hint: str, missing: list[int]) -> None:
        super().__init__(message, hint)
        self.missing = missing


def next_end(
    files: Files,
    root: Root,
    position: StreamPosition,
    most: int | None,
    *,
    up_to_gap: bool = False,
    until: int | None = None,
) -> Offset | None:
    """The end of the next micro-batch, at snapshot `until` at the latest; None if there is nothing new.

    Raises `Expired` if the next snapshot has expired: with `up_to_gap` only if nothing is left before it,
    else also before the whole state is read. Raises `Refused` if ids were used again.
    """
    _require_same_commit(files, root, position)
    lineage = Lineage(files, root)
    latest = lineage.latest()
    newest = latest.id if latest else 0
    if newest < position.snapshot:
        raise _went_back(root, position, f"snapshot {newest}, an earlier one" if newest else "none")
    if newest > position.snapshot and not (up_to_gap and position.is_full):
        # Check before the whole state is read, if a stream begins with it.
        changes(files, root, position.snapshot, position.snapshot + 1)
    if position.pieces:
        # The rest of this snapshot is a batch of its own.
        return Offset(position.branch, position.snapshot, position.uuid)
    steps = newest - position.snapshot if most is None else most - position.is_full
    end = min(newest, position.snapshot + steps)
    if until is not None:
        end = min(end, max(until, position.snapshot))
    if up_to_gap:
        end = _before_gap(lineage, position.snapshot, end)
    if end == position.snapshot:
        return Offset(position.branch, position.snapshot, position.uuid) if position.is_full else None
    [last] = changes(files, root, end - 1, end)
    return Offset(root.branch, end, mark_of(last))


def changes(files: Files, root: Root, after: int, last: int) -> list[Snapshot]:
    """The snapshots after `after` up to `last`; an expired one is read from a savepoint or tag.

    Raises `Expired`, which names those that are gone.
    """
    by_id = _readable(files, root, after, last)
    if missing := [each for each in range(after + 1, last + 1) if each not in by_id]:
        raise _expired(States(files, root), after, missing)
    return [by_id[each] for each in range(after + 1, last + 1)]


def _before_gap(lineage: Lineage, after: int, last: int) -> int:
    """The last snapshot after `after`, up to `last`, before the first one that is gone."""
    earliest = lineage.earliest_id()
    if earliest is None or earliest <= after + 1:
        return last
    expired = min(last, earliest - 1)
    by_id = _readable(lineage.files, lineage.root, after, expired)
    return next((each - 1 for each in range(after + 1, expired + 1) if each not in by_id), last)


def _readable(files: Files, root: Root, after: int, last: int) -> dict[int, Snapshot]:
    ids = range(after + 1, last + 1)
    by_id: dict[int, Snapshot] = {}
    for each, data in zip(ids, files.read_many(map(root.snapshot, ids)), strict=True):
        if data is not None:
            by_id[each] = Snapshot.from_json(data, root.snapshot(each))
    if len(by_id) < len(ids):
        states = States(files, root)
        for each in ids:
            if each not in by_id and (saved := states.that_saved(each).same):
                by_id[each] = saved[0].snapshot
    return by_id


def whole_state(files: Files, root: Root, position: StreamPosition) -> Snapshot:
    """The snapshot of a position, from its file or from a tag that keeps it. Raises `NotFound`."""
    snapshot = snapshot_at(files, root, position)
    if snapshot is None:
        raise NotFound(
            f"Snapshot {position.snapshot} of {_named(root)}, where this stream begins, is gone",
            "Begin anew: another checkpoint, and a scan.snapshot-id that is still there.",
        )
    return snapshot


def in_new_main(files: Files, main: Root, position: StreamPosition) -> StreamPosition:
    """The position in the new main of a stream that read another root, the old main: at their fork.

    Raises `Refused` if the fork is unknown.
    """
    if position.snapshot == 0:
        return StreamPosition(main.branch, 0, "", position.is_full)
    if snapshot_at(files, main, position) is not None:
        return replace(position, branch=main.branch)
    if position.is_full and position.pieces:
        raise main_moved(main.table, position, main)
    for root in all_roots(files, main.table):
        if root == main or snapshot_at(files, root, position) is None:
            continue
        fork = find_fork(Side(files, main), Side(files, root))
        if fork.is_proven and fork.snapshot_id is not None:
            [shared] = changes(files, main, fork.snapshot_id - 1, fork.snapshot_id)
            return position_of(main, shared)
    raise Refused(
        f"It is unknown where {_named(main)}, which is main now, parts from what this stream has read: "
        f"{position.root(main.table).label} up to snapshot {position.snapshot}",
        "The previous main was dropped. Begin anew with another checkpoint.",
    )


def main_moved(table: TablePath, position: StreamPosition, main: Root) -> Refused:
    was, now = (_describe_root(table.root(branch)) for branch in (position.branch, main.branch))
    hint = "follow-main=fork goes on from where they part; the option branch stays with one of them."
    if position.is_full and position.pieces:
        hint = "Its whole state was read in part: undo that, or begin anew with another checkpoint."
    return Refused(
        f"Main of {table.full_name} was {was} when this stream read snapshot {position.snapshot}, "
        f"and is {now} now",
        hint,
    )


def _describe_root(root: Root) -> str:
    return "the table directory" if root.branch is None else f"branch {root.branch}"


def _require_same_commit(files: Files, root: Root, position: StreamPosition) -> None:
    """Raises `Refused` if the snapshot with this id is known to be another commit."""
    if not position.uuid:
        return
    states = States(files, root)
    live = states.snapshot(position.snapshot)
    if live is not None:
        if mark_of(live.snapshot) != position.uuid:
            raise _went_back(root, position, f"another commit ({mark_of(live.snapshot)})")
    elif position.is_full:
        # After a savepoint of a lineage that was rolled back there are no changes to read.
        saved = states.that_saved(position.snapshot).same
        if position.uuid not in [mark_of(state.snapshot) for state in saved]:
            raise _went_back(root, position, "another commit")


def _went_back(root: Root, position: StreamPosition, instead: str) -> Refused:
    role = "where this stream begins" if position.is_full else "which this stream has read"
    return Refused(
        f"{_named(root)} went back to before snapshot {position.snapshot} ({position.uuid}), {role}: "
        f"in its place there is {instead}",
        "What was taken back has no changes after it: begin anew with another checkpoint.",
    )


def _expired(states: States, after: int, missing: list[int]) -> Expired:
    first, last = missing[0], missing[-1]
    snapshots = f"Snapshot {first}" if first == last else f"Snapshots {first} to {last}"
    has = "has" if first == last else "have"
    earliest = states.lineage.earliest_id()
    anew = begin_anew(states)
    return Expired(
        f"{snapshots} of {states.table_name} {has} expired before this stream, which stands behind snapshot "
        f"{after}, read {'it' if first == last else 'them'}: "
        + ("nothing is left" if earliest is None else f"snapshot {earliest} is the earliest left"),
        f"{anew.capitalize()}."
        if earliest is None or earliest < last
        else f"scan.gap=earliest goes on with snapshot {earliest} and says what is missing; or {anew}.",
        missing,
    )


def snapshot_at(files: Files, root: Root, position: StreamPosition) -> Snapshot | None:
    """The commit of a position, if a snapshot file or a tag of this root still has it."""
    states = States(files, root)
    live = states.snapshot(position.snapshot)
    with_id: list[State] = [live] if live is not None else []
    if live is None or mark_of(live.snapshot) != position.uuid:
        with_id = [state for state in states.tag_states if state.snapshot.id == position.snapshot]
    return next((state.snapshot for state in with_id if mark_of(state.snapshot) == position.uuid), None)


def _named(root: Root) -> str:
    return f"{root.label} of {root.table.full_name}"

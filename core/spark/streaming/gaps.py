"""Continue a stream after snapshots that expired before it read them: `scan.gap` = `earliest`.

The stream continues with the earliest snapshot that is left, and reads as much of the lost changes as that
one has. For a table with keys it reads the whole state, as upserts. For a table without keys it reads the
rows in files that were added since the last state that it read, if a savepoint or tag keeps that state and
all its files are still in the table; else only the changes from the earliest snapshot on. The log, and the
offset in the query's progress, tell what is missing.
"""

from __future__ import annotations

import msgspec

from paimark.core.spark.datasource.scan import Scan
from paimark.core.spark.streaming.left import tells_changes_later
from paimark.core.spark.streaming.next_changes import Expired, snapshot_at, whole_state
from paimark.core.spark.streaming.offsets import Gap, StreamPosition, mark_of, position_of
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import snapshot_facts
from paimark.core.table.records import Snapshot


def describe_gap(gap: Gap, name: str) -> str:
    """Describe a gap in one sentence; `name` is the table's."""
    one = gap.first == gap.last
    ids = f"Snapshot {gap.first}" if one else f"Snapshots {gap.first} to {gap.last}"
    if not gap.first:
        ids = f"Snapshots up to {gap.last}"
    begin = f"{ids} of {name} expired before this stream read {'it' if one else 'them'}"
    match gap.read:
        case "start":
            return f"{begin}: it begins with all rows of snapshot {gap.last + 1} in place of their changes"
        case "state":
            return (
                f"{begin}: every row of snapshot {gap.last + 1} comes as an upsert, and a key that was "
                "deleted in between stays as it was read before"
            )
        case "rest":
            return (
                f"{begin}: the rows that were added come as they are left in snapshot {gap.last + 1}; those "
                "that were deleted again do not"
            )
    return f"{begin}: what was changed is missing, and the stream goes on with snapshot {gap.last + 1}"


def over_gap(
    files: Files, scan: Scan, position: StreamPosition, expired: Expired
) -> tuple[StreamPosition, Gap]:
    """The position after a gap, and the gap. Raises `expired` if nothing later is left."""
    root, schema = scan.root, scan.table_schema
    earliest = Lineage(files, root).oldest()
    if earliest is None or earliest.id <= expired.missing[0]:
        raise expired
    first, last = expired.missing[0], earliest.id - 1
    if schema.primary_keys and not tells_changes_later(schema):
        return position_of(root, earliest, is_full=True), Gap(first, last, "state")
    if not schema.primary_keys and (last_read := _state_within(files, root, position, earliest)) is not None:
        start = msgspec.structs.replace(
            position_of(root, earliest, is_full=True), since=last_read.id, since_uuid=mark_of(last_read)
        )
        return start, Gap(first, last, "rest")
    return StreamPosition(root.branch, last, ""), Gap(first, last, "nothing")


def _state_within(files: Files, root: Root, position: StreamPosition, later: Snapshot) -> Snapshot | None:
    """The state at a position, if it can be read and all its files are in the later state, too; else None.

    Then every row in the other files was added later: a compacted file would be missing in the later one.
    """
    if position.pieces or (last_read := snapshot_at(files, root, position)) is None:
        return None
    return last_read if file_names(files, root, last_read) <= file_names(files, root, later) else None


def files_before(files: Files, root: Root, position: StreamPosition) -> frozenset[str]:
    """The data files to leave out when the whole state at a position is read.

    Raises `NotFound` if the state that has them is gone.
    """
    if not position.since:
        return frozenset()
    last_read = StreamPosition(position.branch, position.since, position.since_uuid)
    return file_names(files, root, whole_state(files, root, last_read))


def file_names(files: Files, root: Root, snapshot: Snapshot) -> frozenset[str]:
    """The names of the data files in the whole state of a snapshot."""
    facts = snapshot_facts(files, root.table, snapshot)
    return frozenset(each.name for each in facts)

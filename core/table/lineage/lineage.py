"""A branch root: its snapshots, tags and schemas.

LATEST and EARLIEST are hints that any writer may leave missing, stale or wrong. Each is checked against the
snapshot files; if the check fails, a listing decides. Ids may have holes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from paimark.core.errors import Corrupt, FileMissing, NotFound, Unavailable
from paimark.core.storage.files import Files
from paimark.core.table.layout import BARRIER_ID, SCHEMA_PREFIX, SNAPSHOT_PREFIX, TAG_PREFIX, Root, numbered
from paimark.core.table.lineage.commit_times import CommitTimes, read_commit_times
from paimark.core.table.lineage.main_branch import branch_names, root_exists
from paimark.core.table.names import checked_name, is_safe_name, near_or_all_names
from paimark.core.table.records import (
    DECODE_ERRORS,
    UNREADABLE_HINT,
    Snapshot,
    TableSchema,
    Tag,
    misnamed,
    not_whole,
    read_records,
)
from paimark.core.table.rows import SnapshotRow, row_decoder
from paimark.core.table.trash import table_missing
from paimark.core.text import spelled, whole_number

# A writer creates the snapshot before it updates LATEST, so a live table's hint is few commits behind.
_STEPS_AHEAD = 16
# As many files as a remote store reads at once: if more of them are missing, a listing is cheaper.
_MISSES_BEFORE_LISTING = 32
_ATTEMPTS = 3


class Lineage:
    """Reads one root. It remembers nothing between calls except `unreadable`.

    `unreadable` maps the path of each half-written file that a list had to leave out to a sentence about it.
    """

    def __init__(self, files: Files, root: Root) -> None:
        self.files = files
        self.root = root
        self.unreadable: dict[str, str] = {}

    def latest_id(self) -> int | None:
        """The newest snapshot's id; None when there is none. Raises `NotFound` when the table is gone."""
        hint = self._hint(self.root.latest_hint)
        if hint is not None:
            newest = self._walk_ahead(hint)
            if newest is not None:
                return newest
        ids = self.snapshot_ids()
        return ids[-1] if ids else None

    def named_latest(self) -> int | None:
        """The id in LATEST, whether or not its snapshot is there; None for none, and for the barrier."""
        return self._hint(self.root.latest_hint)

    def named_earliest(self) -> int | None:
        """The id in EARLIEST, whether or not its snapshot is there; None for none."""
        return self._hint(self.root.earliest_hint)

    def earliest_id(self) -> int | None:
        """The oldest snapshot's id; None when there is none. Raises `NotFound` when the table is gone."""
        hint = self.named_earliest()
        # A hint that is too high hides snapshots, so the one before it must not exist.
        if hint is not None and self.has_snapshot(hint) and not (hint > 1 and self.has_snapshot(hint - 1)):
            return hint
        ids = self.snapshot_ids()
        return ids[0] if ids else None

    def snapshot_ids(self) -> list[int]:
        """All ids, ascending, from one listing. Raises `NotFound` when the table is gone."""
        ids = numbered(self.files.names(self.root.snapshots), SNAPSHOT_PREFIX)
        if not ids:
            self._require_root()
        return ids

    def has_snapshot(self, snapshot_id: int) -> bool:
        return self.files.exists(self.root.snapshot(snapshot_id))

    def snapshot(self, snapshot_id: int) -> Snapshot:
        """One snapshot, whole. Raises `NotFound` and `Corrupt`."""
        try:
            return Snapshot.from_path(self.files, self.root.snapshot(snapshot_id))
        except FileMissing as error:
            self._require_root()
            raise NotFound(
                f"{self._name} has no snapshot {snapshot_id}",
                "It may have expired: a tag or savepoint may still hold it.",
            ) from error

    def latest(self) -> Snapshot | None:
        """The newest snapshot, whole. Raises `NotFound`, `Corrupt`, `Unavailable`."""
        for _ in range(_ATTEMPTS):
            newest = self.latest_id()
            if newest is None:
                return None
            try:
                return Snapshot.from_path(self.files, self.root.snapshot(newest))
            except FileMissing:
                # It expired, or was rolled back, between the two reads.
                continue
        raise self._moving()

    def newest(self, count: int, before: int | None = None) -> list[SnapshotRow]:
        """The `count` newest snapshots, or those with ids below `before`: newest first, without listing.

        It tries ids downwards, and makes a listing if too many are missing.
        """
        if before is None:
            latest = self.latest_id()
            if latest is None:
                return []
            before = latest + 1
        rows: list[SnapshotRow] = []
        next_id, misses = before - 1, 0
        while (left := count - len(rows)) > 0 and next_id > 0 and misses <= _MISSES_BEFORE_LISTING:
            ids = range(next_id, max(0, next_id - min(left, 2 * _MISSES_BEFORE_LISTING)), -1)
            misses += self._read_rows(ids, rows)
            next_id = ids[-1] - 1
        if left > 0 and next_id > 0:
            below = [each for each in reversed(self.snapshot_ids()) if each <= next_id]
            while below and (left := count - len(rows)) > 0:
                self._read_rows(below[:left], rows)
                del below[:left]
        if not rows:
            self._require_root()
        return rows

    def rows(self) -> list[SnapshotRow]:
        """All snapshots, newest first, as lean rows."""
        rows: list[SnapshotRow] = []
        ids = self.snapshot_ids()
        ids.reverse()
        self._read_rows(ids, rows)
        return rows

    def snapshots(self) -> Iterator[Snapshot]:
        """All snapshots, whole, oldest first."""
        paths = [self.root.snapshot(each) for each in self.snapshot_ids()]
        return (snapshot for _, snapshot in read_records(Snapshot, self.files, paths, self.unreadable))

    def at_or_before(self, time_ms: int) -> Snapshot | None:
        """The snapshot with the latest commit time up to this time (epoch ms); None if all are later.

        Of equal times, the one with the highest id. Raises `Corrupt` if a half-written snapshot could be the
        answer.
        """
        return self._chosen(lambda times: self._readable(times, time_ms).last_at(time_ms))

    def oldest(self) -> Snapshot | None:
        """The snapshot with the earliest commit time; None if none can be read."""
        return self._chosen(lambda times: times.oldest())

    def first_since(self, time_ms: int) -> int | None:
        """The lowest id of those committed at the time (epoch ms) or later; None if all are earlier."""
        return self._commit_times().first_since(time_ms)

    def tags(self) -> list[tuple[str, Tag]]:
        """The tags by name."""
        names = self.tag_names()
        paths = {self.root.tag(name): name for name in names}
        return [
            (paths[path], tag) for path, tag in read_records(Tag, self.files, list(paths), self.unreadable)
        ]

    def tag_names(self) -> list[str]:
        """The names, sorted, including half-written tags. Raises `NotFound` if the table is gone."""
        prefix = len(TAG_PREFIX)
        names = [
            name[prefix:]
            for name in self.files.names(self.root.tags)
            if name.startswith(TAG_PREFIX) and len(name) > prefix
        ]
        if not names:
            self._require_root()
        for name in names:
            if not is_safe_name(name):
                path = self.root.tag(name)
                self.unreadable[path] = f"{spelled(path)} can't be read: no file of a table has such a name"
        return sorted(filter(is_safe_name, names))

    def tag(self, name: str) -> Tag:
        """Raises `NotFound` (the hint is the names with a similar spelling) and `Corrupt`."""
        path = self.root.tag(checked_name(name, "tag"))
        try:
            return Tag.from_path(self.files, path)
        except FileMissing as error:
            raise NotFound(
                f"{self._name} has no tag {name}", near_or_all_names(name, self.tag_names())
            ) from error

    def has_tag(self, name: str) -> bool:
        return self.files.exists(self.root.tag(checked_name(name, "tag")))

    def schema_ids(self) -> list[int]:
        """All ids, ascending. Raises `NotFound` when the table is gone."""
        ids = numbered(self.files.names(self.root.schemas), SCHEMA_PREFIX)
        if not ids:
            self._require_root()
        return ids

    def schema(self, schema_id: int) -> TableSchema:
        """Raises `NotFound` and `Corrupt`."""
        try:
            return TableSchema.from_path(self.files, self.root.schema(schema_id))
        except FileMissing as error:
            self._require_root()
            raise NotFound(f"{self._name} has no schema {schema_id}") from error

    def schemas(self) -> list[TableSchema]:
        """Every version of the table's definition, oldest first."""
        paths = [self.root.schema(each) for each in self.schema_ids()]
        return [schema for _, schema in read_records(TableSchema, self.files, paths, self.unreadable)]

    def latest_schema(self) -> TableSchema | None:
        """The newest schema; None for a branch made without one. Raises `NotFound` and `Corrupt`."""
        ids = self.schema_ids()
        return self.schema(ids[-1]) if ids else None

    def require_schema(self) -> TableSchema:
        """The newest schema. Raises `NotFound`, also for a branch made without one, and `Corrupt`."""
        schema = self.latest_schema()
        if schema is None:
            raise NotFound(f"{self._name} has no schema", "`paimark doctor` looks into it.")
        return schema

    def _read_rows(self, ids: Sequence[int], rows: list[SnapshotRow]) -> int:
        """Append the rows of these ids, and return how many of their files do not exist."""
        decode = row_decoder()
        append, unreadable = rows.append, self.unreadable
        missing = 0
        prefix = f"{self.root.snapshots}/{SNAPSHOT_PREFIX}"
        contents = self.files.read_many(f"{prefix}{each}" for each in ids)
        for snapshot_id, data in zip(ids, contents, strict=True):
            if unreadable:
                unreadable.pop(f"{prefix}{snapshot_id}", None)
            if data is None:
                missing += 1
                continue
            try:
                row = decode(data)
            except DECODE_ERRORS as error:
                path = f"{prefix}{snapshot_id}"
                unreadable[path] = not_whole(path, "snapshot", error)
                continue
            if row.snapshot_id == snapshot_id:
                append(row)
            else:
                path = f"{prefix}{snapshot_id}"
                unreadable[path] = misnamed(path, row.snapshot_id)
        return missing

    def _chosen(self, choose: Callable[[CommitTimes], int | None]) -> Snapshot | None:
        """The snapshot that `choose` selects by the commit times of all."""
        for _ in range(_ATTEMPTS):
            times = self._commit_times()
            chosen = choose(times)
            if chosen is None:
                return None
            try:
                snapshot = Snapshot.from_path(self.files, self.root.snapshot(chosen))
            except FileMissing:
                # It expired after the listing.
                continue
            if snapshot.time_millis == times.times[chosen]:
                return snapshot
        raise self._moving()

    def _readable(self, times: CommitTimes, time_ms: int) -> CommitTimes:
        if (untold := times.untold(time_ms)) is not None:
            raise Corrupt(untold, UNREADABLE_HINT)
        return times

    def _commit_times(self) -> CommitTimes:
        times = read_commit_times(self.files, self.root)
        for path in [each for each in self.unreadable if each.startswith(self.root.snapshots)]:
            del self.unreadable[path]
        self.unreadable.update((self.root.snapshot(each), why) for each, why in times.broken.items())
        if not times.times and not times.broken:
            self._require_root()
        return times

    def _hint(self, path: str) -> int | None:
        """The id in a hint file; None when it is missing or holds no id."""
        try:
            number = whole_number(self.files.read(path))
        except (FileMissing, Corrupt):
            return None
        return None if number == BARRIER_ID else number

    def _walk_ahead(self, hint: int) -> int | None:
        """The last of the consecutive ids from the hint on; None if it is far off, or the hint is wrong."""
        paths = (self.root.snapshot(hint), self.root.snapshot(hint + 1))
        at, after = self.files.read_many(paths)
        if at is None:
            return None
        if after is None:
            return hint
        for ahead in range(hint + 2, hint + _STEPS_AHEAD + 2):
            if not self.has_snapshot(ahead):
                return ahead - 1
        return None

    def _require_root(self) -> None:
        if root_exists(self.files, self.root):
            return
        if self.root.branch is None:
            raise table_missing(self.files, self.root.table)
        if self.root.branch in branch_names(self.files, self.root.table):
            # An empty directory, left by a process that died while it deleted the branch.
            return
        raise NotFound(
            f"{self.root.table.full_name} has no branch {self.root.branch}",
            "It may have been deleted: refresh.",
        )

    def _moving(self) -> Unavailable:
        return Unavailable(
            f"The snapshots of {self._name} are changing faster than they can be read", "Try again."
        )

    @property
    def _name(self) -> str:
        name = self.root.table.full_name
        return name if self.root.branch is None else f"{name} (branch {self.root.branch})"


def said_ids(ids: Sequence[int]) -> str:
    """Which snapshots there are, for whoever named one that is not: `it has 2 to 9`."""
    if not ids:
        return "it has none yet"
    return f"it has {ids[0]} to {ids[-1]}" if len(ids) > 1 else f"it has only {ids[0]}"

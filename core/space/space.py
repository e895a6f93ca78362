"""Count a table's space: read what every version needs, then list the files that exist."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from paimark.core.actions.context import Context, Counting
from paimark.core.actions.roots import guard_tags
from paimark.core.cancelling import check_cancelled
from paimark.core.errors import NotFound, PaimarkError
from paimark.core.figures import counted as so_many
from paimark.core.space.holders import Count, Counts, Holder, counted, holders
from paimark.core.space.report import BucketRow, SpaceKind, SpaceReport, SpaceRow
from paimark.core.storage.files import DirectoryEntry, Files
from paimark.core.storage.paths import Listed
from paimark.core.table.definition.file_sizes import small_below
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.manifests.files import schema_of
from paimark.core.table.manifests.held_files import Runs, minus
from paimark.core.table.manifests.iceberg import IcebergFiles
from paimark.core.table.manifests.manifests import FileKey
from paimark.core.table.manifests.partition_values import PartitionValues
from paimark.core.table.records import TableSchema
from paimark.core.verify.needed_files import TableNeeds, needs_of
from paimark.core.verify.needed_paths import Located, NeededFile, iceberg_files, locate
from paimark.core.verify.orphans import control_directories, data_directories, is_known, left_over
from paimark.core.verify.versions import Versions, versions

DAY_MS = 24 * 3600 * 1000
_TOLD_EVERY = 200
# How often files are counted beside a job whose snapshots expire all the time.
_TRIES = 5
# Files that no version needs, and that are of use all the same.
_KEPT = ("records", "iceberg")


def space(
    context: Context,
    table: TablePath,
    branch: str | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> SpaceReport:
    """Count who holds the bytes of a table. `branch` is the one whose buckets are counted, None for main.

    It reads every list and manifest and lists every directory, again if versions expired meanwhile; it writes
    nothing. It skips unreadable metadata, and `tells_orphans` is False then. Raises `NotFound`, `Corrupt`,
    `Unavailable`.
    """
    for _ in range(_TRIES - 1):
        there = versions(context.files, table)
        report = _counted(context, table, branch, there, progress)
        if not report.missing or not _has_expired(context.files, table, there):
            return report
    return _counted(context, table, branch, versions(context.files, table), progress)


def _has_expired(files: Files, table: TablePath, there: Versions) -> bool:
    """Whether a version has gone since, so that missing files may be its own."""
    return not {each.path for each in there.all} <= {each.path for each in versions(files, table).all}


def _counted(
    context: Context, table: TablePath, branch: str | None, there: Versions, progress: Callable[[str], None]
) -> SpaceReport:
    files = context.files
    root = branch_root(files, table, branch)
    rows = holders(files, table, there)
    powerless = guard_tags.repair_needed(files, table).paths
    needs = needs_of(files, table, there, progress)
    buckets = Buckets(_schema(files, root))
    located = locate(files, needs, count_file=_bucket_counter(needs, root, buckets))
    iceberg, unread = iceberg_files(files, table, located)
    sizes = _Sizes(table, needs, located, context.clock(), iceberg)
    for listed in _with_progress(data_directories(files, table), progress):
        sizes.take(listed)
    for listed in control_directories(files, table, list(there.roots)):
        sizes.take(listed, is_control=True)
    sizes.take_missing()
    counts = counted(rows, needs.states, sizes.by_users, powerless)
    return SpaceReport(
        table=table.full_name,
        branch=branch,
        rows=tuple([*_rows(rows, counts), *sizes.rows()]),
        files=counts.alone.files + counts.shared.files + sum(each.files for each in sizes.others.values()),
        bytes=counts.alone.bytes + counts.shared.bytes + sum(each.bytes for each in sizes.others.values()),
        alone_bytes=counts.alone.bytes,
        shared_bytes=counts.shared.bytes,
        records_bytes=sizes.others["records"].bytes,
        unneeded_bytes=sum(each.bytes for kind, each in sizes.others.items() if kind not in _KEPT),
        buckets=tuple(buckets.worst()),
        bucket_count=len(buckets),
        small_below=buckets.small_below,
        small_files=buckets.small_files,
        level_0_files=buckets.level_0_files,
        missing=sizes.missing,
        unseen=located.unseen,
        tells_orphans=needs.is_whole and not there.damaged and not located.unplaced and not unread,
    )


def _schema(files: Files, root: Root) -> TableSchema:
    newest = Lineage(files, root).latest()
    if newest is not None:
        return schema_of(files, root, newest.schema_id)
    schema = Lineage(files, root).latest_schema()
    if schema is None:
        raise NotFound(f"{root.directory} has no schema")
    return schema


def _bucket_counter(needs: TableNeeds, root: Root, buckets: Buckets) -> Callable[[int, FileKey, Runs], None]:
    """A function that counts the data files whose runs have the state of the root's newest snapshot."""
    numbers = {
        version.path: number
        for number, state in enumerate(needs.states)
        for version in state.versions
        if version.kind == "snapshot" and state.lists and not state.is_optional
    }
    heads = [path for path in numbers if path.rpartition("/")[0] == root.snapshots]
    head = numbers[heads[-1]] if heads else None

    def count(size: int, key: FileKey, users: Runs) -> None:
        if head is not None and bisect_right(users, head) % 2:
            buckets.add(size, key)

    return count


def _with_progress(listings: Iterator[Listed], progress: Callable[[str], None]) -> Iterator[Listed]:
    for number, listed in enumerate(listings):
        check_cancelled()
        if number % _TOLD_EVERY == 0 and number:
            progress(Counting(f"listed {so_many(number, 'directory', 'directories')}"))
        yield listed


@dataclass
class _Sizes:
    """`by_users`: files and bytes by the states that need them, as runs. `others`: files of no version."""

    table: TablePath
    needs: TableNeeds
    located: Located
    now: int
    iceberg: IcebergFiles
    by_users: dict[tuple[int, ...], Count] = field(default_factory=lambda: defaultdict(Count))
    others: dict[SpaceKind, Count] = field(default_factory=lambda: defaultdict(Count))
    missing: int = 0

    def take(self, listed: Listed, *, is_control: bool = False) -> None:
        """Count a directory. `is_control`: it holds snapshots, tags and the like, no version's files."""
        for entry in listed.entries:
            if entry.is_directory:
                continue
            wanted = self.located.take(listed.directory, entry.name)
            if wanted is not None:
                self._need(wanted, entry.size)
            else:
                self.others[self._kind(listed.directory, entry, is_control)].add(1, entry.size)

    def take_missing(self) -> None:
        """Count files that no listing had. A deletion counts them too, if metadata records their size."""
        optional = self.needs.optional
        for needed in (*self.located.files.values(), self.located.anywhere):
            for each in needed.values():
                if not minus(each.users, optional):
                    continue
                self.missing += 1
                if each.size is not None:
                    self._need(each, each.size)

    def _kind(self, directory: str, entry: DirectoryEntry, is_control: bool) -> SpaceKind:
        if left_over(self.table, directory, entry.name) is not None:
            return "leftover"
        if self.iceberg.has(directory, entry.name):
            return "iceberg"
        if is_control and is_known(self.table, directory, entry.name):
            return "records"
        return "orphans" if entry.modified and self.now - entry.modified >= DAY_MS else "young"

    def _need(self, wanted: NeededFile, size: int) -> None:
        self.by_users[tuple(wanted.users)].add(1, size if wanted.size is None else wanted.size)

    def rows(self) -> Iterator[SpaceRow]:
        """The rows of files that no version needs."""
        names = {
            "records": "snapshots, tags, schemas",
            "iceberg": "needed by Iceberg readers alone",
            "orphans": "needed by nothing",
            "young": "needed by nothing yet: younger than a day",
            "leftover": "of changes that run, or did not end",
        }
        for kind in ("records", "iceberg", "orphans", "young", "leftover"):
            if count := self.others.get(kind):
                yield _row(kind, names[kind], None, count, count)


def _rows(rows: Sequence[Holder], counts: Counts) -> Iterator[SpaceRow]:
    for row, held, going in zip(rows, counts.held, counts.going, strict=True):
        plain = _row(row.kind, row.name, row.branch, held, going)
        yield msgspec.structs.replace(plain, is_part=row.is_part, snapshot_id=row.snapshot_id)


def _row(kind: SpaceKind, name: str, branch: str | None, held: Count, alone: Count) -> SpaceRow:
    return SpaceRow(
        kind=kind,
        name=name,
        branch=branch,
        files=held.files,
        bytes=held.bytes,
        alone_files=alone.files,
        alone_bytes=alone.bytes,
    )


# The number of the worst buckets that are listed.
MOST_LISTED = 1000


class Buckets:
    """Counts files one by one; even for a million files it holds only a few numbers for each bucket."""

    def __init__(self, schema: TableSchema) -> None:
        self.small_below = small_below(schema)
        self._schema = schema
        self._has_levels = bool(schema.primary_keys)
        self._counts: dict[tuple[bytes, int], list[int]] = {}

    def add(self, size: int, key: FileKey) -> None:
        counts = self._counts.setdefault((key.partition, key.bucket), [0, 0, 0, 0])
        counts[0] += 1
        counts[1] += size
        counts[2] += size < self.small_below
        counts[3] += key.level == 0

    def __len__(self) -> int:
        return len(self._counts)

    @property
    def small_files(self) -> int:
        return sum(counts[2] for counts in self._counts.values())

    @property
    def level_0_files(self) -> int | None:
        """None if files have no levels."""
        return sum(counts[3] for counts in self._counts.values()) if self._has_levels else None

    def worst(self) -> Iterator[BucketRow]:
        """The buckets with the most files that compaction would take."""
        worst = sorted(self._counts.items(), key=lambda each: (-_badness(each[1]), -each[1][0], each[0]))
        names = _Names(self._schema)
        for (partition, bucket), (files, size, small, level_0) in worst[:MOST_LISTED]:
            yield BucketRow(
                partition=names.of(partition),
                bucket=bucket,
                files=files,
                bytes=size,
                small=small,
                level_0=level_0 if self._has_levels else None,
            )


def _badness(counts: list[int]) -> int:
    return max(counts[2], counts[3])


class _Names:
    def __init__(self, schema: TableSchema) -> None:
        try:
            self._names: PartitionValues | None = PartitionValues(schema)
        except PaimarkError:
            self._names = None

    def of(self, partition: bytes) -> str:
        """The partition's values, times in UTC; its bytes if these can't be read."""
        try:
            return partition.hex() if self._names is None else self._names.text(partition)
        except PaimarkError:
            return partition.hex()

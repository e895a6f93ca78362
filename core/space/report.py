"""The report on a table's space: rows that add up, and the buckets of its newest state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from paimark.core.figures import counted, size
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import data_manifests, size_of

# main: its newest snapshot; older: its other snapshots. past: a branch that was main. guards: copies of
# main's tags in the table directory while a branch is main. records: the files of snapshots, tags and schemas
# themselves. young: nothing needs it now, but a running writer may be about to commit it. leftover: it
# belongs to an unfinished change. iceberg: Iceberg metadata, and data files that only it names.
SpaceKind = Literal[
    "main",
    "older",
    "changelogs",
    "savepoint",
    "tag",
    "branch",
    "past",
    "consumer",
    "guards",
    "records",
    "iceberg",
    "orphans",
    "young",
    "leftover",
]


class SpaceRow(msgspec.Struct, frozen=True, kw_only=True):
    """Files that `name` holds, and those that only it holds (`alone_`): they go when it is deleted.

    Sizes in bytes. `branch` is that of a tag, savepoint or consumer, None for the table directory. `is_part`:
    the row of its branch, or of main's older snapshots, already has its bytes. `snapshot_id` is that of a tag
    or savepoint, and main's newest.
    """

    kind: SpaceKind
    name: str
    branch: str | None = None
    files: int = 0
    bytes: int = 0
    alone_files: int = 0
    alone_bytes: int = 0
    is_part: bool = False
    snapshot_id: int | None = None


class BucketRow(msgspec.Struct, frozen=True, kw_only=True):
    """The data files of one bucket in the newest state. `small` are those under the report's `small_below`;
    `level_0` is None in a table without a primary key, which has no levels."""

    partition: str
    bucket: int
    files: int
    bytes: int
    small: int
    level_0: int | None

    @property
    def name(self) -> str:
        return "/".join(part for part in (self.partition, f"bucket-{self.bucket}") if part)


class SpaceReport(msgspec.Struct, frozen=True, kw_only=True):
    """All files below a table. `alone_bytes` are those that only one row holds, for rows that are not part of
    another; `shared_bytes` those that several rows hold, counted once.

    `buckets` are those of branch `branch` with the most small and level-0 files, the worst first, of
    `bucket_count`; `small_files` and `level_0_files` are of all of them. `missing` files are needed and do
    not exist; `unseen` ones lie outside the table. Without `tells_orphans`, metadata is missing or damaged
    that may name more needed files.
    """

    table: str
    branch: str | None
    rows: tuple[SpaceRow, ...]
    files: int
    bytes: int
    alone_bytes: int
    shared_bytes: int
    records_bytes: int
    unneeded_bytes: int
    buckets: tuple[BucketRow, ...]
    bucket_count: int
    small_below: int
    small_files: int
    level_0_files: int | None
    missing: int
    unseen: int
    tells_orphans: bool


def sentences(report: SpaceReport) -> Iterator[str]:
    """How the rows add up, and what is not in them."""
    parts = [f"{size(report.alone_bytes)} alone", f"{size(report.shared_bytes)} shared"]
    parts.append(f"{size(report.records_bytes)} metadata")
    if report.unneeded_bytes:
        parts.append(f"{size(report.unneeded_bytes)} unneeded")
    yield f"{size(report.bytes)}, {counted(report.files, 'file')} = {' + '.join(parts)}"
    if report.missing:
        yield f"{counted(report.missing, 'file')} of it missing"
    if report.unseen:
        yield f"{counted(report.unseen, 'file')} outside the table's directory: not counted"
    if not report.tells_orphans:
        yield "Files that nothing seems to need may be needed all the same: metadata is missing or damaged"


def bucket_sentence(report: SpaceReport) -> str:
    """How many buckets there are, and how many of their files are small, or not compacted yet."""
    shown = len(report.buckets)
    more = f", the worst {shown:,} shown" if shown < report.bucket_count else ""
    small = f"{counted(report.small_files, 'small file')} (under {size(report.small_below)})"
    level_0 = "" if report.level_0_files is None else f", {report.level_0_files:,} of level 0"
    return f"{counted(report.bucket_count, 'bucket')}{more}: {small}{level_0}"


# Manifests of so many bytes are decoded in a fraction of a second.
_QUICK = 256 << 10


class FirstFigure(NamedTuple):
    """Data files of the newest snapshot, and their bytes; None if counting them would take too long."""

    files: int | None = None
    bytes: int | None = None


def first_figure(files: Files, root: Root) -> FirstFigure:
    """Reads two lists, and manifests only if they are small. Raises `Corrupt`, `FileMissing`."""
    newest = Lineage(files, root).latest()
    if newest is None:
        return FirstFigure(0, 0)
    manifests = data_manifests(files, root.table, newest)
    entries = [each.entries for each in manifests]
    count = sum(each[0] - each[1] for each in entries if each) if None not in entries else None
    is_quick = sum(each.file_size for each in manifests) <= _QUICK
    size = size_of(files, root.table, newest)[1] if is_quick else None
    return FirstFigure(count, size)

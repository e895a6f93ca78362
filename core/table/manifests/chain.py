"""Whether each snapshot of a root carries on the one before: what commits that were overwritten leave behind.

The base of a snapshot holds what the one before held, whatever kind of commit it is: what a commit adds and
takes away is in its delta, and merging manifests changes no file that they tell of. Where it does not, it was
built on another snapshot than the one that is there now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from core.errors import Corrupt, FileMissing
from core.figures import counted
from core.storage.files import Files
from core.table.layout import Root, TablePath
from core.table.manifests.manifests import file_facts, manifest_facts, read_in_batches
from core.table.records import Snapshot

# A data file, by what an entry that deletes has in common with the one that added.
File = tuple[str, bytes, int, int]


class Break(NamedTuple):
    """Of the files of snapshot `snapshot_id` the next one lacks `lacking`, and has `foreign` beside them."""

    snapshot_id: int
    lacking: int
    foreign: int

    def __str__(self) -> str:
        return (
            f"snapshot {self.snapshot_id + 1} was built on another snapshot {self.snapshot_id} than is there "
            f"now, which differs in {counted(self.lacking + self.foreign, 'file')}: one commit overwrote "
            "another"
        )


def break_between(files: Files, table: TablePath, before: Snapshot, after: Snapshot) -> Break | None:
    """Evidence that a snapshot was not built on the one before; None also where it can't be told.

    Reads lists, and manifests only where their names differ.
    """
    try:
        return _break(files, table, before, after)
    except (Corrupt, FileMissing):
        return None


def comes_from(files: Files, table: TablePath, after: Snapshot, before: Snapshot) -> bool | None:
    """Whether a snapshot stands on one with a lower id, by their manifests; None where these don't tell.

    Of neighbours they do, while they are there. Of others only until what the first one added was merged.
    """
    try:
        if after.id == before.id + 1:
            return _break(files, table, before, after) is None
        added = _manifests(files, table, (before.delta_manifest_list,))
        held = _manifests(files, table, (after.base_manifest_list, after.delta_manifest_list))
    except (Corrupt, FileMissing):
        return None
    return True if added and added <= held else None


def breaks(files: Files, root: Root, snapshots: Sequence[Snapshot]) -> list[Break]:
    """The breaks among snapshots of a root, which come by ascending ids."""
    results = (
        break_between(files, root.table, before, after)
        for before, after in pairwise(snapshots)
        if after.id == before.id + 1
    )
    return [each for each in results if each is not None]


def _break(files: Files, table: TablePath, before: Snapshot, after: Snapshot) -> Break | None:
    """Raises `Corrupt` and `FileMissing`."""
    held = _manifests(files, table, (before.base_manifest_list, before.delta_manifest_list))
    base = _manifests(files, table, (after.base_manifest_list,))
    if held == base:
        return None
    # Most manifests are in both: what the others come to decides.
    left, right = _net(files, table, held - base), _net(files, table, base - held)
    if left == right:
        return None
    # A deletion of nothing may have been left out. Then all must be counted.
    common = _net(files, table, held & base)
    then, now = _live(common, left), _live(common, right)
    return None if then == now else Break(before.id, len(then - now), len(now - then))


def _manifests(files: Files, table: TablePath, lists: Iterable[str]) -> set[str]:
    paths = [table.manifest(name) for name in lists]
    names = set()
    for path, data in zip(paths, files.read_many(paths), strict=True):
        if data is None:
            raise FileMissing(path)
        names |= {meta.file_name for meta in manifest_facts(data, path)}
    return names


def _net(files: Files, table: TablePath, manifests: Iterable[str]) -> Counter[File]:
    """How often each file is added, less how often it is deleted; those that come to nothing are left out."""
    counts: Counter[File] = Counter()
    for path, data in read_in_batches(files, {table.manifest(name): 0 for name in sorted(manifests)}):
        if data is None:
            raise FileMissing(path)
        for each in file_facts(data, path):
            key = each.name, each.key.partition, each.key.bucket, each.key.level
            counts[key] += 1 if each.is_added else -1
            if not counts[key]:
                del counts[key]
    return counts


def _live(common: Counter[File], rest: Counter[File]) -> set[File]:
    return {each for each in (*common, *rest) if common[each] + rest[each] > 0}

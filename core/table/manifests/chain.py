"""Whether each snapshot of a root was built on the one before: if not, one commit overwrote another.

The base of a snapshot holds the files of the snapshot before, whatever kind of commit it is: the commit's own
additions and deletions are in its delta, and merging manifests changes none of the files. If they differ, it
was built on another snapshot than the one that exists now.

A tag of a history from which its root was rolled back is marked, as its id does not show that. Another
engine's rollback deletes the tags of the snapshots that it cuts off, and `recover` gives a savepoint its tag
again. New ids continue from before that, so the tag seems to be of an earlier state of the root.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from paimark.core.errors import Corrupt, FileMissing
from paimark.core.figures import counted
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import snapshot_facts
from paimark.core.table.manifests.manifests import file_facts, manifest_facts, read_in_batches
from paimark.core.table.read_tags import is_read_tag
from paimark.core.table.records import APART, Snapshot, Tag, is_apart, is_same_commit

# A data file, by the fields that are the same in the entry that adds it and the one that deletes it.
File = tuple[str, bytes, int, int]
# The advice for a table with such a tag.
INSTEAD = "Expire with Paimark alone, or roll back to the savepoint and delete it"
# How many older tags a warning names.
_NAMED = 5


class Break(NamedTuple):
    """The snapshot after `snapshot_id` lacks `lacking` files of it, and has `foreign` other files."""

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
    """Evidence that a snapshot was not built on the one before; None also if it can't be determined.

    Reads lists, and manifests only if their names differ.
    """
    try:
        return _break(files, table, before, after)
    except (Corrupt, FileMissing):
        return None


def comes_from(files: Files, table: TablePath, after: Snapshot, before: Snapshot) -> bool | None:
    """Whether a snapshot descends from one with a lower id, by their manifests; None if these don't show it.

    For neighbours they do, while they exist. For others, only until the first one's additions were merged.
    """
    try:
        if after.id == before.id + 1:
            return _break(files, table, before, after) is None
        added = _manifests(files, table, (before.delta_manifest_list,))
        manifests = _manifests(files, table, (after.base_manifest_list, after.delta_manifest_list))
    except (Corrupt, FileMissing):
        return None
    return True if added and added <= manifests else None


def breaks(files: Files, root: Root, snapshots: Sequence[Snapshot]) -> list[Break]:
    """The breaks among snapshots of a root, given with ascending ids."""
    results = (
        break_between(files, root.table, before, after)
        for before, after in pairwise(snapshots)
        if after.id == before.id + 1
    )
    return [each for each in results if each is not None]


def _break(files: Files, table: TablePath, before: Snapshot, after: Snapshot) -> Break | None:
    """Raises `Corrupt` and `FileMissing`."""
    manifests = _manifests(files, table, (before.base_manifest_list, before.delta_manifest_list))
    base = _manifests(files, table, (after.base_manifest_list,))
    if manifests == base:
        return None
    # Most manifests are in both: the sum of the others decides.
    left, right = _net(files, table, manifests - base), _net(files, table, base - manifests)
    if left == right:
        return None
    # A deletion of a file that was not added may have been dropped. Then all manifests must be counted.
    common = _net(files, table, manifests & base)
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
    """How often each file is added, less how often it is deleted; without those that come to zero."""
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


def marked_unless_proven(files: Files, root: Root, snapshot: Snapshot) -> Snapshot:
    """The snapshot as a tag of the root has to store it. A needless mark only costs time."""
    lineage = Lineage(files, root)
    ids = lineage.snapshot_ids()
    if snapshot.id in ids and is_same_commit(lineage.snapshot(snapshot.id), snapshot):
        return snapshot
    above = next((each for each in ids if each > snapshot.id), None)
    if above is not None and comes_from(files, root.table, lineage.snapshot(above), snapshot):
        return snapshot
    return msgspec.structs.replace(snapshot, properties={**(snapshot.properties or {}), APART: "true"})


def without_mark(snapshot: Snapshot) -> Snapshot:
    """The snapshot as it was before it was marked."""
    others = {name: value for name, value in (snapshot.properties or {}).items() if name != APART}
    return msgspec.structs.replace(snapshot, properties=others or None)


def endangered(files: Files, root: Root, snapshot: Snapshot) -> str:
    """The root's tags that a tag of the snapshot endangers, as words of a sentence; empty if there are none.

    A stock expiry spares the files of the nearest earlier tag, as if that were of the same history: the next
    older tags are in danger if they have other files. Of two tags with one id it knows only one.
    """
    tags = [(name, tag) for name, tag in Lineage(files, root).tags() if not is_read_tag(name)]
    names = [name for name, tag in tags if tag.id == snapshot.id and not is_same_commit(tag, snapshot)]
    older = [(name, tag) for name, tag in tags if tag.id < snapshot.id]
    if older and not _has_all(files, root, snapshot, max(tag.id for _, tag in older), older):
        names += [name for name, _ in older]
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")


def _has_all(
    files: Files, root: Root, snapshot: Snapshot, nearest: int, older: Iterable[tuple[str, Tag]]
) -> bool:
    """Whether the snapshot has every data file of the nearest older tags; False if that can't be read."""
    try:
        held = _data_files(files, root, snapshot)
        return all(_data_files(files, root, tag) <= held for _, tag in older if tag.id == nearest)
    except (FileMissing, Corrupt):
        return False


def _data_files(files: Files, root: Root, snapshot: Snapshot) -> set[str]:
    return {each.name for each in snapshot_facts(files, root.table, snapshot)}


def warnings(files: Files, root: Root) -> list[str]:
    """Warnings about the danger of a root's marked tags for older ones."""
    tags = Lineage(files, root).tags()
    return [
        f"Tag {name} may be of a history that {root.label} was rolled back from: beside it a stock expiry "
        f"can take files of other tags ({others})"
        for name, tag in tags
        if is_apart(tag) and (others := endangered(files, root, tag))
    ]

"""Commits that another one overwrote: a snapshot was not built on the one before, as that is now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import TablePath
from paimark.core.table.manifests.chain import Break, break_between
from paimark.core.table.manifests.files import manifest_list_paths
from paimark.core.table.records import Snapshot, commit_key
from paimark.core.verify.needs import TableNeeds
from paimark.core.verify.versions import StoredVersion, Versions


class LostCommit(NamedTuple):
    """`path` is that of the snapshot that replaced another."""

    path: str
    detail: str


def lost_commits(files: Files, table: TablePath, there: Versions, needs: TableNeeds) -> Iterator[LostCommit]:
    """Lost commits of every root, each once; without snapshots that expired or changed after the listing."""
    pairs = [pair for pair in _pairs(there) if not _is_same(table, needs, *pair)]
    breaks = each_of(partial(_break, files, table), pairs)
    for (before, _), gap in zip(pairs, breaks, strict=True):
        if gap is not None:
            yield LostCommit(before.path, str(gap))


def _pairs(there: Versions) -> Iterator[tuple[StoredVersion, StoredVersion]]:
    """Neighbours by id; a pair that several roots share comes once."""
    by_root: dict[str, list[StoredVersion]] = defaultdict(list)
    for each in there.all:
        if each.kind == "snapshot":
            by_root[each.path.rpartition("/")[0]].append(each)
    known = set()
    for snapshots in by_root.values():
        for before, after in pairwise(snapshots):
            if _record(after).id == _record(before).id + 1:
                key = commit_key(_record(before)), commit_key(_record(after))
                if key not in known:
                    known.add(key)
                    yield before, after


def _is_same(table: TablePath, needs: TableNeeds, before: StoredVersion, after: StoredVersion) -> bool:
    """Whether the next one's base names exactly the manifests of the one before, as is usual."""
    base, *_ = manifest_list_paths(table, _record(after))
    held = [needs.marks.get(path) for path in manifest_list_paths(table, _record(before))]
    return None not in held and sum(mark or 0 for mark in held) == needs.marks.get(base)


def _break(files: Files, table: TablePath, pair: tuple[StoredVersion, StoredVersion]) -> Break | None:
    gap = break_between(files, table, _record(pair[0]), _record(pair[1]))
    if gap is None:
        return None
    for each, data in zip(pair, files.read_many(each.path for each in pair), strict=True):
        if data is None or Snapshot.from_json(data, each.path) != each.record:
            return None
    return gap


def _record(version: StoredVersion) -> Snapshot:
    assert version.record is not None
    return version.record

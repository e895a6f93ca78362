"""Commits that another one overwrote.

Either a snapshot was not built on the one before, as that is now. Or the operation log has a commit of
Paimark's that nothing holds any more, and another engine's has its place: that shows although nothing was
built on either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from paimark.core.figures import minute
from paimark.core.storage.files import Files, written_at
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.manifests.chain import Break, break_between
from paimark.core.table.manifests.files import manifest_list_paths
from paimark.core.table.operations import Operation
from paimark.core.table.records import COMMIT_USER, Point, Snapshot, commit_key
from paimark.core.text import clean_text
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


def overwritten_commits(
    files: Files, table: TablePath, there: Versions, log: Sequence[Operation]
) -> Iterator[LostCommit]:
    """Commits of the log whose place another engine's commit has, each once.

    The other engine had written its files by the time that ours was logged: so it did not see ours. What came
    later is on a history that somebody rolled back, or fast-forwarded.
    """
    by_path = {each.path: _record(each) for each in there.all if each.kind == "snapshot"}
    roots_of: dict[tuple[int, str], set[str]] = defaultdict(set)
    for path, record in by_path.items():
        roots_of[_name(record)].add(path.rpartition("/")[0])
    for operation, root, point, source in _logged(table, log):
        path = root.snapshot(point.id)
        theirs = by_path.get(path)
        if theirs is None or point.is_of(theirs) or theirs.commit_user.startswith(COMMIT_USER):
            continue
        # Another root that has ours was made of this one's history, or was this one.
        is_elsewhere = roots_of[_name(point)] - {source.snapshots} or roots_of[_name(theirs)] - {
            root.snapshots
        }
        if not is_elsewhere and _was_under_way(files, table, theirs, operation):
            del by_path[path]
            what = clean_text(f"{operation.summary} ({operation.action} by {operation.user}")
            when = minute(operation.time)
            yield LostCommit(path, f"another engine's commit overwrote that of {when}: {what})")


def _name(commit: Snapshot | Point) -> tuple[int, str]:
    return commit.id, commit.delta_manifest_list


def _logged(table: TablePath, log: Sequence[Operation]) -> Iterator[tuple[Operation, Root, Point, Root]]:
    """The commits of the log, with their roots, and the branch that has the same one if it was merged."""
    for operation in log:
        rows = operation.turned.rows
        # The undo of a truncation commits nothing.
        is_commit = rows is not None and (operation.undoes is None or rows.same_as is not None)
        if rows is not None and is_commit and operation.landed is not False:
            yield operation, table.root(rows.root), rows.after, table.root(rows.branch or rows.root)


def _was_under_way(files: Files, table: TablePath, theirs: Snapshot, ours: Operation) -> bool:
    """Whether a commit had its files when ours was logged, by the store's clock. False if that is unknown."""
    name = table.operation if ours.landed is None else table.write_operation
    entry, paths = name(ours.number, ours.token), manifest_list_paths(table, theirs)
    times = written_at(files, [entry, *paths])
    begun = max((times.get(each, 0) for each in paths), default=0)
    return 0 < begun <= times.get(entry, 0)


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

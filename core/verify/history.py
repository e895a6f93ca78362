"""Commits that another one overwrote, and snapshots that are shared with a root that has expired its own.

Either a snapshot was not built on the one before, as that is now. Or the operation log has a commit of
Paimark's that nothing holds any more, and another engine's has its place: that shows although nothing was
built on either.

A fast-forward gives main and a branch the same snapshots, and so does a replacement of main. A stock expiry
of one of the two deletes files of the other's: it looks at no other root. That costs the other the old
versions, and nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple

from paimark.core.figures import minute
from paimark.core.quoting import shell_line
from paimark.core.storage.files import Files, written_at
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.manifests.chain import Break, break_between
from paimark.core.table.manifests.files import manifest_list_paths
from paimark.core.table.operations import Operation
from paimark.core.table.records import COMMIT_USER, Point, Snapshot, commit_key
from paimark.core.text import clean_text
from paimark.core.verify.needed_files import TableNeeds
from paimark.core.verify.report import Expired
from paimark.core.verify.versions import StoredVersion, Versions

# Snapshots, tags or both of one root by id.
_Versions = Mapping[int, StoredVersion]


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


def expired_elsewhere(there: Versions, log: Sequence[Operation]) -> dict[str, Root]:
    """The paths of such snapshots, with the root that expired them. A root's newest is never one of them."""
    copied = _copied(log)
    held, tagged = _held(there, "snapshot"), _held(there, "tag")
    known = {root: {**tagged.get(root, {}), **snapshots} for root, snapshots in held.items()}
    gone = {}
    for root, other in _sharing(held, known):
        began = 0 if other.branch is None else min([*known[other], *copied[other.branch]])
        end = min(min(held[other]), max(_common(held[root], known[other])), max(held[root]))
        for number, each in held[root].items():
            if began <= number < end:
                gone[each.path] = other
    return gone


def _copied(log: Sequence[Operation]) -> Mapping[str | None, list[int]]:
    """Of the snapshots that a branch got from main when it became main: the first of each time."""
    copied: dict[str | None, list[int]] = defaultdict(list)
    for edit in (each.turned.main for each in log):
        if edit is not None and edit.first_copied <= edit.last_copied:
            copied[edit.after].append(edit.first_copied)
    return copied


def summed_up(
    there: Versions, lost: Collection[str], by: Mapping[str, Root], main: Root
) -> Iterator[Expired]:
    """One record for each root that lost files of such snapshots; `lost` are the paths of the snapshots, and
    `by` is what `expired_elsewhere` found.
    """
    if not lost:
        return
    for root, held in _held(there, "snapshot").items():
        if numbers := [number for number, each in held.items() if each.path in lost]:
            last = max(numbers)
            words = [root.table.full_name, *([] if root == main else ["--branch", root.label])]
            kept = str(sum(number > last for number in held))
            yield Expired(
                branch=root.label,
                expired_by=by[held[last].path].label,
                first=min(numbers),
                last=last,
                heal=f"paimark expire-snapshots {shell_line([*words, '--retain-last', kept])}",
            )


def _held(there: Versions, kind: Literal["snapshot", "tag"]) -> dict[Root, dict[int, StoredVersion]]:
    roots = {(root.snapshots if kind == "snapshot" else root.tags): root for root in there.roots}
    held: dict[Root, dict[int, StoredVersion]] = {}
    for each in there.all:
        if each.kind == kind:
            held.setdefault(roots[each.path.rpartition("/")[0]], {})[_record(each).id] = each
    return held


def _sharing(held: Mapping[Root, _Versions], known: Mapping[Root, _Versions]) -> set[tuple[Root, Root]]:
    """The pairs of a root and another that has, or a tag of which holds, one of its snapshots."""
    having: dict[tuple[int, str, str], list[Root]] = {}
    for root, versions in known.items():
        for each in versions.values():
            having.setdefault(commit_key(_record(each)), []).append(root)
    return {
        (root, other)
        for root, snapshots in held.items()
        for each in snapshots.values()
        for other in having[commit_key(_record(each))]
        if other != root
    }


def _common(mine: _Versions, others: _Versions) -> Iterator[int]:
    return (
        number
        for number in mine.keys() & others.keys()
        if commit_key(_record(mine[number])) == commit_key(_record(others[number]))
    )


def missing_lists(
    files: Files, there: Versions, table: TablePath
) -> Iterator[tuple[str, list[StoredVersion]]]:
    """The path of each missing list, and the versions that need it.

    An expiry deletes a version's lists with its data, so a version with all its lists seldom lacks anything.
    """
    listed = {f"{table.manifests}/{name}" for name in files.names(table.manifests)}
    lacking: dict[str, list[StoredVersion]] = {}
    for version in there.all:
        for path in _lists(table, version):
            if path not in listed:
                lacking.setdefault(path, []).append(version)
    for path, needing in sorted(lacking.items()):
        # A version may have expired between the listings.
        if needing := [each for each in needing if files.exists(each.path)]:
            yield path, needing


def _lists(table: TablePath, version: StoredVersion) -> tuple[str, ...]:
    if version.record is None or version.kind == "changelog":
        return ()
    return manifest_list_paths(table, version.record)

"""Snapshots that a root shares with another root, which has expired its own copies.

A fast-forward gives main and a branch the same snapshots. A stock expiry of one of the two deletes files of
the other's: it looks at no other root. That costs the other the old versions, and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Literal

from paimark.core.quoting import shell_line
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.manifests.files import manifest_list_paths
from paimark.core.table.records import Snapshot, commit_key
from paimark.core.verify.report import Expired
from paimark.core.verify.versions import StoredVersion, Versions

# Snapshots, tags or both of one root by id.
_Versions = Mapping[int, StoredVersion]


def expired_elsewhere(there: Versions) -> dict[str, Root]:
    """The paths of such snapshots, with the root that expired them. A root's newest is never one of them."""
    held, tagged = _held(there, "snapshot"), _held(there, "tag")
    known = {root: {**tagged.get(root, {}), **snapshots} for root, snapshots in held.items()}
    gone = {}
    for root, other in _sharing(held, known):
        began = 0 if other.branch is None else min(known[other])
        end = min(min(held[other]), max(_common(held[root], known[other])), max(held[root]))
        for number, each in held[root].items():
            if began <= number < end:
                gone[each.path] = other
    return gone


def summed_up(there: Versions, lost: Collection[str], main: Root) -> Iterator[Expired]:
    """One record for each root that lost files of such snapshots; `lost` are the paths of the snapshots."""
    if not lost:
        return
    by = expired_elsewhere(there)
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


def _record(version: StoredVersion) -> Snapshot:
    assert version.record is not None
    return version.record


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

"""Find the missing manifest lists of a table's versions, with one listing."""

from __future__ import annotations

from collections.abc import Iterator

from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.manifests.files import manifest_list_paths
from paimark.core.verify.versions import StoredVersion, Versions


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

"""A model of stock `remove_orphan_files`: its reads and deletions, in the real order.

It lists the branches once, then all files; then it reads the needed files of each branch, main last. It
ignores a snapshot or tag that was deleted meanwhile. A branch without a schema, or a snapshot or tag that is
not JSON, stops it.
"""

from __future__ import annotations

import json
from typing import Any

from paimark.core.errors import FileMissing
from paimark.core.table.layout import BRANCH_PREFIX, Root
from tests.simulation.actors.actor_files import ActorFiles
from tests.simulation.actors.scheduler import Actor
from tests.simulation.stock.writer import StockError, StockTable
from tests.simulation.world import TABLE, World, list_manifests, manifest_entries


class OrphanCleaning:
    """The clean-up of a table and all of its branches. It takes every file for old enough."""

    def __init__(self, world: World, actor: Actor) -> None:
        self._world = world
        self._actor = actor
        self._files = ActorFiles(world, actor)

    def clean(self) -> list[str]:
        """Delete the orphans; returns their paths. Raises `StockError`."""
        entries = self._files.entries(TABLE.branches)
        names = [each.name for each in entries if each.is_directory and each.name.startswith(BRANCH_PREFIX)]
        roots = [TABLE.root(each.removeprefix(BRANCH_PREFIX)) for each in names]
        for root in (*roots, TABLE.root()):
            StockTable(self._world, self._actor, root)
        candidates = [path for path in self._listed() if not path.rpartition("/")[2].startswith(".")]
        used: set[str] = set()
        for root in (*roots, TABLE.root()):
            # A branch is opened again now; main is not.
            if root.branch is not None:
                StockTable(self._world, self._actor, root)
            for record in self._records(root):
                used |= self._used(record)
        orphans = [path for path in candidates if path.rpartition("/")[2] not in used]
        for path in orphans:
            self._files.delete(path)
        return orphans

    def _listed(self) -> list[str]:
        directories = [TABLE.manifests]
        for each in self._files.entries(TABLE.directory):
            if each.is_directory and each.name.startswith("bucket-"):
                directories.append(f"{TABLE.directory}/{each.name}")
        return [f"{directory}/{name}" for directory in directories for name in self._files.names(directory)]

    def _records(self, root: Root) -> list[dict[str, Any]]:
        found = []
        for directory, prefix in ((root.snapshots, "snapshot-"), (root.tags, "tag-")):
            for name in self._files.names(directory):
                if not name.startswith(prefix):
                    continue
                try:
                    found.append(json.loads(self._files.read(f"{directory}/{name}")))
                except FileMissing:
                    continue
                except ValueError as error:
                    raise StockError(f"{directory}/{name}: {error}") from error
        return found

    def _used(self, record: dict[str, Any]) -> set[str]:
        names = {record["baseManifestList"], record["deltaManifestList"]}
        for each in tuple(names):
            try:
                manifests = list_manifests(self._files.read(TABLE.manifest(each)))
            except FileMissing:
                continue
            for manifest in manifests:
                names.add(manifest.name)
                try:
                    entries = manifest_entries(self._files.read(TABLE.manifest(manifest.name)))
                except FileMissing:
                    continue
                names.update(entry.file.name for entry in entries)
        return names

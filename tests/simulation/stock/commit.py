"""Prepare a commit from data files, as every Paimon writer does: manifests, manifest lists and the snapshot.

The caller does the last step, the write of the snapshot file: stock engines and Paimark do it differently.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.simulation.actors.actor_files import ActorFiles
from tests.simulation.actors.scheduler import Actor
from tests.simulation.formats import (
    ADD,
    Change,
    DataFile,
    Entry,
    Identity,
    Manifest,
    Rows,
    live_files,
    merged_rows,
)
from tests.simulation.world import TABLE, Commit, World, list_manifests, manifest_entries


@dataclass(frozen=True)
class Prepared:
    """The bytes of a snapshot that is not written yet, and the metadata files that only it names."""

    identity: Identity
    data: bytes
    metadata: tuple[str, ...]


class CommitWriter:
    """Writes the files of one actor's commits."""

    def __init__(self, world: World, actor: Actor, files: ActorFiles) -> None:
        self.world = world
        self.actor = actor
        self.files = files

    def data_file(self, changes: Sequence[Change], schema: dict[str, Any], level: int = 0) -> DataFile:
        """Write rows with a schema to a new data file, which no snapshot names yet."""
        world = self.world
        name = f"data-{world.number():05}-0.{world.format.suffix}"
        more = [field["name"] for field in schema["fields"][2:]]
        data = world.format.data(changes, more, keyed=world.keyed)
        self._put(TABLE.data_file("", 0, name), data)
        keys = [each.key for each in changes]
        sequences = [each.sequence for each in changes]
        return DataFile(
            name,
            len(data),
            len(changes),
            min(keys),
            max(keys),
            schema["id"],
            level,
            (min(sequences), max(sequences)),
        )

    def manifests(self, snapshot: dict[str, Any]) -> list[Manifest]:
        """The manifests of a snapshot, base before delta."""
        lists = (snapshot["baseManifestList"], snapshot["deltaManifestList"])
        return [each for name in lists for each in list_manifests(self.files.read(TABLE.manifest(name)))]

    def live(self, snapshot: dict[str, Any]) -> list[DataFile]:
        return live_files(
            entry
            for each in self.manifests(snapshot)
            for entry in manifest_entries(self.files.read(TABLE.manifest(each.name)))
        )

    def changes(self, file: DataFile) -> list[Change]:
        data = self.files.read(TABLE.data_file("", 0, file.name))
        return self.world.format.changes(data, keyed=self.world.keyed)

    def rows(self, snapshot: dict[str, Any]) -> Rows:
        """The rows of a snapshot, read from its files."""
        changes = (change for file in self.live(snapshot) for change in self.changes(file))
        return merged_rows(changes, keyed=self.world.keyed)

    def prepare(
        self,
        base: dict[str, Any] | None,
        delta: Sequence[Entry],
        schema_id: int,
        kind: str,
        user: str,
        number: int,
    ) -> Prepared:
        """Write the metadata of a commit on top of `base`, except the snapshot."""
        world, now = self.world, self.world.scheduler.now_ms(self.actor)
        before = self.manifests(base) if base else []
        if len(before) > 2 and world.random.random() < 0.2:
            live = live_files(
                entry
                for each in before
                for entry in manifest_entries(self.files.read(TABLE.manifest(each.name)))
            )
            before = [self._manifest([Entry(ADD, each) for each in live])] if live else []
            written = [each.name for each in before]
        else:
            written = []
        added = [self._manifest(delta)] if delta else []
        lists = [self._list(before), self._list(added)]
        signed = [(each.file.rows if each.kind == ADD else -each.file.rows) for each in delta]
        number_now = base["id"] + 1 if base else 1
        snapshot = {
            "version": 3,
            "id": number_now,
            "schemaId": schema_id,
            "baseManifestList": lists[0][0],
            "baseManifestListSize": lists[0][1],
            "deltaManifestList": lists[1][0],
            "deltaManifestListSize": lists[1][1],
            "commitUser": user,
            "commitIdentifier": number,
            "commitKind": kind,
            "timeMillis": now,
            "totalRecordCount": (base["totalRecordCount"] if base else 0) + sum(signed),
            "deltaRecordCount": sum(signed),
            "uuid": f"uuid-{world.number()}",
        }
        names = [*written, *(each.name for each in added), lists[0][0], lists[1][0]]
        identity = Identity(number_now, lists[0][0], lists[1][0])
        return Prepared(identity, json.dumps(snapshot, indent=2).encode(), tuple(map(TABLE.manifest, names)))

    def register(
        self, prepared: Prepared, rows: Rows, parent: Identity | None, content: Identity | None = None
    ) -> Commit:
        """Tell the model the rows of the commit, before it is visible."""
        found, content = json.loads(prepared.data), content or parent
        merged = dict(self.world.commits[content].merged) if content else {}
        commit = Commit(prepared.identity, rows, parent, content, self.actor, found["timeMillis"], merged)
        self.world.commits[prepared.identity] = commit
        return commit

    def _manifest(self, entries: Sequence[Entry]) -> Manifest:
        data = self.world.format.manifest(entries, keyed=self.world.keyed)
        name = f"manifest-{self.world.number():05}-0"
        self._put(TABLE.manifest(name), data)
        added = sum(each.kind == ADD for each in entries)
        schema_id = max(each.file.schema_id for each in entries)
        return Manifest(name, len(data), added, len(entries) - added, schema_id)

    def _list(self, manifests: Sequence[Manifest]) -> tuple[str, int]:
        data = self.world.format.manifest_list(manifests, keyed=self.world.keyed)
        name = f"manifest-list-{self.world.number():05}"
        self._put(TABLE.manifest(name), data)
        return name, len(data)

    def _put(self, path: str, data: bytes) -> None:
        self.world.litter.add(path)
        self.files.put(path, data)

"""Lineages as plain files, with any ids and times, and a store that counts. Loads no pypaimon."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from paimark.core.storage.files import DirectoryEntry, Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.storage.wrapped import Wrapped

TABLE = TablePath("shop", "t")
SNAPSHOT = """{{
  "version" : 3,
  "id" : {id},
  "schemaId" : 0,
  "baseManifestList" : "manifest-list-5ec5d4cd-5a37-4a4b-9f5c-0b3c8f5bb8a1-0",
  "baseManifestListSize" : 1420,
  "deltaManifestList" : "manifest-list-5ec5d4cd-5a37-4a4b-9f5c-0b3c8f5bb8a1-1",
  "deltaManifestListSize" : 1338,
  "changelogManifestList" : null,
  "commitUser" : "user-{user}",
  "commitIdentifier" : {id},
  "commitKind" : "APPEND",
  "timeMillis" : {time},
  "totalRecordCount" : {total},
  "deltaRecordCount" : 10,
  "nextRowId" : 0
}}"""
SCHEMA = """{"version": 3, "id": 0, "fields": [{"id": 0, "name": "k", "type": "BIGINT NOT NULL"}],
"highestFieldId": 0, "partitionKeys": [], "primaryKeys": ["k"], "options": {}, "timeMillis": 1700000000000}"""


def snapshot_json(snapshot_id: int, time_ms: int) -> str:
    return SNAPSHOT.format(id=snapshot_id, user=snapshot_id % 50, time=time_ms, total=snapshot_id * 10)


def write_lineage(warehouse: Path, times: Mapping[int, int], root: Root | None = None) -> Lineage:
    """Snapshots with these ids and commit times (epoch ms), and no hints. What was there before goes."""
    root = root or TABLE.root()
    for directory in ("snapshot", "schema"):
        shutil.rmtree(warehouse / root.directory / directory, ignore_errors=True)
        (warehouse / root.directory / directory).mkdir(parents=True)
    (warehouse / root.schema(0)).write_text(SCHEMA)
    prefix = f"{warehouse}/{root.snapshots}/snapshot-"
    for snapshot_id, time_ms in times.items():
        with open(f"{prefix}{snapshot_id}", "w") as file:
            file.write(snapshot_json(snapshot_id, time_ms))
    return Lineage(LocalFiles(str(warehouse)), root)


class CountingFiles(Wrapped):
    """Passes everything on, and counts."""

    def __init__(self, inner: Files) -> None:
        super().__init__(inner)
        self.reads: list[str] = []
        self.listings: list[str] = []

    def entries(self, directory: str) -> list[DirectoryEntry]:
        self.listings.append(directory)
        return super().entries(directory)

    def names(self, directory: str) -> list[str]:
        self.listings.append(directory)
        return super().names(directory)

    def etags(self, directory: str) -> dict[str, str | None]:
        self.listings.append(directory)
        return super().etags(directory)

    def read(self, path: str) -> bytes:
        self.reads.append(path)
        return super().read(path)

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        asked = list(paths)
        self.reads += asked
        return super().read_many(asked)

    def exists(self, path: str) -> bool:
        self.reads.append(path)
        return super().exists(path)

    def size(self, path: str) -> int | None:
        self.reads.append(path)
        return super().size(path)

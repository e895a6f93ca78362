"""Random tables as plain files: lineages that commit, compact, merge manifests, fork, tag and expire.

Loads no pypaimon: what stock engines can leave behind, in milliseconds. The manifests hold the fields that
Paimon's readers need, and every file that is named exists.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots
from paimark.core.table.manifests.files import each_needed_file
from paimark.core.table.manifests.manifests import read_facts, read_manifest_list
from paimark.core.table.records import Snapshot
from paimark.core.table.savepoints import SavepointManager
from tests.table.avro_files import MANIFEST, avro, manifest_record, record

TABLE = TablePath("shop", "t")
_SCHEMA = {
    "version": 3,
    "id": 0,
    "fields": [{"id": 0, "name": "k", "type": "BIGINT"}],
    "highestFieldId": 0,
    "partitionKeys": [],
    "primaryKeys": [],
    "options": {},
}


_FILE = record(
    "file",
    _FILE_NAME="string",
    _FILE_SIZE="long",
    _ROW_COUNT="long",
    _LEVEL="int",
    _SCHEMA_ID="long",
    _MIN_KEY="bytes",
    _MAX_KEY="bytes",
    _MIN_SEQUENCE_NUMBER="long",
    _MAX_SEQUENCE_NUMBER="long",
    _EXTRA_FILES={"type": "array", "items": "string"},
)
_ENTRY = record("entry", _VERSION="int", _KIND="int", _PARTITION="bytes", _BUCKET="int", _FILE=_FILE)
_INDEX = record(
    "index",
    _VERSION="int",
    _KIND="int",
    _PARTITION="bytes",
    _BUCKET="int",
    _INDEX_TYPE="string",
    _FILE_NAME="string",
    _FILE_SIZE="long",
)

Entry = tuple[int, str, int]  # kind (0 adds, 1 deletes), file name, level


@dataclass
class Line:
    """The head of a root: what the next commit is made on."""

    root: Root
    manifests: list[tuple[str, tuple[Entry, ...]]] = field(default_factory=list)
    live: dict[str, int] = field(default_factory=dict)
    next_id: int = 1
    index: tuple[str, ...] = ()
    index_manifest: str | None = None
    statistics: str | None = None

    def copied(self, root: Root) -> Line:
        return replace(self, root=root, manifests=list(self.manifests), live=dict(self.live))


class History:
    """A table on disk, and how it goes on."""

    def __init__(self, warehouse: Path, random: Random) -> None:
        self.warehouse = warehouse
        self.files = LocalFiles(str(warehouse))
        self.random = random
        self.lines: dict[str | None, Line] = {None: Line(TABLE.root())}
        self.heads: dict[tuple[str | None, int], Line] = {}
        self._clock = 1_700_000_000_000
        self._counts: dict[str, tuple[int, int]] = {}
        self._numbers = itertools.count(1)
        self._write(TABLE.root().schema(0), json.dumps(_SCHEMA).encode())

    def commit(self, branch: str | None = None) -> int:
        """One commit on a root: appends, deletes, upgrades or compacts, and may merge manifests first."""
        line, pick = self.lines[branch], self.random
        line.manifests = self._merged(line)
        entries: list[Entry] = []
        gone = [name for name in line.live if pick.random() < 0.25] if pick.random() < 0.5 else []
        for name in gone:
            level = line.live.pop(name)
            entries.append((1, name, level))
            if pick.random() < 0.3:
                entries.append((0, name, level + 1))
                line.live[name] = level + 1
        for _ in range(pick.randint(0, 3)):
            name = f"data-{self._serial()}.parquet"
            entries.append((0, name, 0))
            line.live[name] = 0
            self._write(TABLE.data_file("", 0, name), b"d")
            self._write(TABLE.data_file("", 0, f"{name}.index"), b"i")
        base = self._list([name for name, _ in line.manifests])
        delta = self._manifest(entries) if entries else None
        if delta:
            line.manifests.append((delta, tuple(entries)))
        self._side_files(line)
        self._clock += 1000
        snapshot = {
            "version": 3,
            "id": line.next_id,
            "schemaId": 0,
            "baseManifestList": base,
            "deltaManifestList": self._list([delta] if delta else []),
            "commitUser": "u",
            "commitIdentifier": 1,
            "commitKind": "APPEND",
            "timeMillis": self._clock,
            "totalRecordCount": len(line.live),
            "indexManifest": line.index_manifest,
            "statistics": line.statistics,
            "changelogManifestList": self._changelog() if pick.random() < 0.2 else None,
        }
        self._write(line.root.snapshot(line.next_id), json.dumps(snapshot).encode())
        number = line.next_id
        line.next_id += 1
        self.heads[branch, number] = line.copied(line.root)
        return number

    def tag(self, name: str, snapshot_id: int, branch: str | None = None) -> None:
        root = TABLE.root(branch)
        self._write(root.tag(name), self.files.read(root.snapshot(snapshot_id)))

    def fork(self, branch: str, tag: str) -> None:
        """A branch from a tag of main, as every engine makes one."""
        root = TABLE.root(branch)
        data = self.files.read(TABLE.root().tag(tag))
        number = Snapshot.from_json(data, tag).id
        self._write(root.schema(0), json.dumps(_SCHEMA).encode())
        self._write(root.tag(tag), data)
        self._write(root.snapshot(number), data)
        self.lines[branch] = self.heads[None, number].copied(root)

    def drop_snapshots(self, before: int, branch: str | None = None) -> None:
        """Forget snapshots and leave their files: what they alone kept is nobody's any more."""
        lineage = Lineage(self.files, TABLE.root(branch))
        for number in lineage.snapshot_ids():
            if number < before:
                self.files.delete(lineage.root.snapshot(number))

    def _serial(self) -> str:
        return f"{next(self._numbers):04}"

    def _side_files(self, line: Line) -> None:
        pick = self.random
        if pick.random() < 0.2:
            name = f"index-{self._serial()}"
            self._write(TABLE.index_file(name), b"x")
            line.index = (*(each for each in line.index if pick.random() < 0.7), name)
            line.index_manifest = self._avro(
                f"index-manifest-{self._serial()}",
                _INDEX,
                [
                    {
                        "_VERSION": 1,
                        "_KIND": 0,
                        "_PARTITION": b"",
                        "_BUCKET": 0,
                        "_INDEX_TYPE": "HASH",
                        "_FILE_NAME": each,
                        "_FILE_SIZE": 1,
                    }
                    for each in line.index
                ],
            )
        if pick.random() < 0.1:
            line.statistics = f"stat-{self._serial()}"
            self._write(TABLE.statistics_file(line.statistics), b"s")

    def _changelog(self) -> str:
        name = f"changelog-{self._serial()}.parquet"
        self._write(TABLE.data_file("", 0, name), b"c")
        self._write(TABLE.data_file("", 0, f"{name}.index"), b"i")
        return self._list([self._manifest([(0, name, 0)])])

    def _merged(self, line: Line) -> list[tuple[str, tuple[Entry, ...]]]:
        """What the next base list names: as it is, some merged, or all that a deletion touches rewritten."""
        choice = self.random.random()
        if choice < 0.6 or not line.manifests:
            return list(line.manifests)
        if choice < 0.85:
            start = self.random.randrange(len(line.manifests))
            end = self.random.randint(start + 1, len(line.manifests))
            group = [entry for _, entries in line.manifests[start:end] for entry in entries]
            return [*line.manifests[:start], *self._manifests(_annihilated(group)), *line.manifests[end:]]
        clean = [
            (name, entries)
            for name, entries in line.manifests
            if all(kind == 0 and line.live.get(file) == level for kind, file, level in entries)
        ]
        whole = {file for _, entries in clean for _, file, _ in entries}
        rest: list[Entry] = [(0, file, level) for file, level in line.live.items() if file not in whole]
        return [*clean, *self._manifests(rest)]

    def _manifests(self, entries: list[Entry]) -> Iterator[tuple[str, tuple[Entry, ...]]]:
        middle = self.random.randint(0, len(entries))
        for part in (entries[:middle], entries[middle:]):
            if part:
                yield self._manifest(part), tuple(part)

    def _manifest(self, entries: list[Entry]) -> str:
        records = [
            {
                "_VERSION": 2,
                "_KIND": kind,
                "_PARTITION": b"",
                "_BUCKET": 0,
                "_FILE": {
                    "_FILE_NAME": file,
                    "_FILE_SIZE": 1,
                    "_ROW_COUNT": 1,
                    "_LEVEL": level,
                    "_SCHEMA_ID": 0,
                    "_MIN_KEY": b"",
                    "_MAX_KEY": b"",
                    "_MIN_SEQUENCE_NUMBER": 0,
                    "_MAX_SEQUENCE_NUMBER": 0,
                    "_EXTRA_FILES": [f"{file}.index"],
                },
            }
            for kind, file, level in entries
        ]
        name = self._avro(f"manifest-{self._serial()}", _ENTRY, records)
        deleted = sum(kind for kind, _, _ in entries)
        self._counts[name] = (len(entries) - deleted, deleted)
        return name

    def _list(self, names: list[str]) -> str:
        records = [
            manifest_record(name, self.files.size(TABLE.manifest(name)), *self._counts[name])
            for name in names
        ]
        return self._avro(f"manifest-list-{self._serial()}", MANIFEST, records)

    def _avro(self, name: str, schema: dict[str, Any], records: list[dict[str, Any]]) -> str:
        self._write(TABLE.manifest(name), avro(schema, records))
        return name

    def _write(self, path: str, data: bytes) -> None:
        target = self.warehouse / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def _annihilated(entries: list[Entry]) -> list[Entry]:
    """As Paimon merges manifests: a deletion takes its addition with it, and else stays."""
    left: dict[tuple[str, int], Entry] = {}
    for kind, file, level in entries:
        if kind == 1 and (file, level) in left and left.pop((file, level)):
            continue
        left[file, level] = (kind, file, level)
    return list(left.values())


def reached(files: Files, root: Root, record: Snapshot, *, changelog: bool) -> set[str]:
    """Every file of one reference, the slow way."""
    paths = {each.path for each in each_needed_file(files, root, record)}
    if changelog and record.changelog_manifest_list:
        path = root.table.manifest(record.changelog_manifest_list)
        if not files.exists(path):
            return paths
        paths.add(path)
        for meta in read_manifest_list(files, path):
            paths.add(root.table.manifest(meta.file_name))
            for _, each in read_facts(files, {root.table.manifest(meta.file_name): 0}):
                paths |= {root.table.data_file("", 0, name) for name in (each.name, *each.key.extra_files)}
    return paths


def needed_by_all(files: Files, table: TablePath) -> set[str]:
    """Every file that any reference of any root reaches: everything read, nothing clever."""
    paths: set[str] = set()
    for root in all_roots(files, table):
        lineage = Lineage(files, root)
        for number in lineage.snapshot_ids():
            paths |= reached(files, root, lineage.snapshot(number), changelog=True)
        for _, tag in lineage.tags():
            paths |= reached(files, root, tag, changelog=False)
    for savepoint in SavepointManager(files, table).all():
        path = table.savepoint_file(savepoint.full_manifest_list)
        paths.add(path)
        paths |= {table.manifest(meta.file_name) for meta in read_manifest_list(files, path)}
    return paths

"""Iceberg metadata that is damaged, or names what it should not, is never taken for "needs nothing"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fastavro
import pytest

from paimark.core.errors import Corrupt, FileMissing
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.manifests.iceberg import REMEDY, needed_files, newest_version
from tests.wording import about

TABLE = TablePath("d", "t")
LIST = {"type": "record", "name": "l", "fields": [{"name": "manifest_path", "type": "string"}]}
PARTITION = {"name": "partition", "type": {"type": "record", "name": "r102", "fields": []}}
PATH = {"name": "file_path", "type": "string"}
SIZES = {"name": "sizes", "type": {"type": "map", "values": "long"}}
DATA_FILE = {"type": "record", "name": "r2", "fields": [SIZES, PATH, PARTITION]}
MANIFEST = {
    "type": "record",
    "name": "m",
    "fields": [{"name": "status", "type": "int"}, {"name": "data_file", "type": DATA_FILE}],
}


class Metadata:
    """A directory of Iceberg metadata, written by hand."""

    def __init__(self, warehouse: Path) -> None:
        self.files = LocalFiles(str(warehouse))
        self.directory = warehouse / "d.db/t/metadata"
        self.directory.mkdir(parents=True)

    def avro(self, name: str, schema: dict[str, Any], records: list[dict[str, Any]]) -> None:
        with (self.directory / name).open("wb") as file:
            fastavro.writer(file, schema, records)

    def version(self, number: int, snapshots: dict[int, str], current: int | None = None) -> None:
        listed = [
            {"snapshot-id": each, "manifest-list": self.address(name)} for each, name in snapshots.items()
        ]
        facts = {"current-snapshot-id": current or number, "snapshots": listed}
        (self.directory / f"v{number}.metadata.json").write_text(json.dumps(facts))

    def address(self, name: str) -> str:
        return f"file:{self.directory}/{name}" if "/" not in name else name

    def snapshot(self, number: int, **statuses: int) -> str:
        """A manifest list with one manifest; its name. Files by name with the status of their entries."""
        records = [
            {"status": status, "data_file": {"sizes": {"1": 2}, "file_path": f"x/{name}", "partition": {}}}
            for name, status in statuses.items()
        ]
        self.avro(f"m{number}.avro", MANIFEST, records)
        self.avro(f"l{number}.avro", LIST, [{"manifest_path": self.address(f"m{number}.avro")}])
        return f"l{number}.avro"


@pytest.fixture
def metadata(tmp_path: Path) -> Metadata:
    return Metadata(tmp_path)


def test_all_snapshots_of_all_versions_count(metadata: Metadata) -> None:
    metadata.version(3, {2: metadata.snapshot(2, a=1, gone=2), 3: metadata.snapshot(3, b=0)})
    metadata.version(1, {1: metadata.snapshot(1, old=1)})
    found = needed_files(metadata.files, TABLE)
    assert found.needed == {"a", "b", "old"}
    assert "d.db/t/metadata/m1.avro" in found.own
    assert newest_version(metadata.files, TABLE) == 3
    assert needed_files(metadata.files, TABLE, lambda address: address == "x/b").needed == {"b"}


def test_a_table_without_such_metadata_needs_nothing(tmp_path: Path) -> None:
    files = LocalFiles(str(tmp_path))
    assert newest_version(files, TABLE) is None
    assert needed_files(files, TABLE).needed == needed_files(files, TABLE).own == set()


def test_what_its_writer_deleted_of_older_snapshots_is_no_loss(metadata: Metadata) -> None:
    metadata.version(1, {1: metadata.snapshot(1, old=1)})
    metadata.version(3, {2: metadata.snapshot(2, a=1), 3: metadata.snapshot(3, b=0)})
    for name in ("m1.avro", "l2.avro"):
        (metadata.directory / name).unlink()
    assert needed_files(metadata.files, TABLE).needed == {"b"}


@pytest.mark.parametrize("name", ["l3.avro", "m3.avro"])
def test_the_snapshot_that_readers_get_has_to_be_whole(metadata: Metadata, name: str) -> None:
    metadata.version(3, {3: metadata.snapshot(3, b=0)})
    (metadata.directory / name).unlink()
    with pytest.raises(FileMissing, match=name) as raised:
        needed_files(metadata.files, TABLE)
    assert raised.value.hint == REMEDY


def test_the_hint_says_which_version_readers_get(metadata: Metadata) -> None:
    metadata.version(1, {1: metadata.snapshot(1, old=1)})
    metadata.version(3, {3: metadata.snapshot(3, b=0)})
    (metadata.directory / "l1.avro").unlink()
    assert needed_files(metadata.files, TABLE).needed == {"b"}
    (metadata.directory / "version-hint.text").write_text("1")
    with pytest.raises(FileMissing):
        needed_files(metadata.files, TABLE)


@pytest.mark.parametrize(
    "address", ["file:/elsewhere/metadata/l.avro", "../l.avro", "s3://b/d.db/t/metadata/..", "/l.avro"]
)
def test_metadata_that_lies_elsewhere_is_not_read(metadata: Metadata, address: str) -> None:
    metadata.version(3, {3: address})
    with pytest.raises(Corrupt, match=about(address, "not", "beside")):
        needed_files(metadata.files, TABLE)


@pytest.mark.parametrize("name", ["v3.metadata.json", "l3.avro", "m3.avro"])
def test_damage_is_told(metadata: Metadata, name: str) -> None:
    metadata.version(3, {3: metadata.snapshot(3, b=0)})
    path = metadata.directory / name
    for data in (b"", b"{}x", path.read_bytes()[:-20], b'{"snapshots": [1]}'):
        path.write_bytes(data)
        with pytest.raises(Corrupt, match=name):
            needed_files(metadata.files, TABLE)


def test_a_manifest_without_paths_is_damage(metadata: Metadata) -> None:
    metadata.version(3, {3: metadata.snapshot(3, b=0)})
    metadata.avro("m3.avro", LIST, [{"manifest_path": "x"}])
    with pytest.raises(Corrupt, match="no field"):
        needed_files(metadata.files, TABLE)

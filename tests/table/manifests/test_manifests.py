"""Manifest lists and manifests are read whole, and what is written again lacks nothing."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pypaimon.manifest.schema.manifest_file_meta import MANIFEST_FILE_META_SCHEMA

from paimark.core.errors import Corrupt, FileMissing
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.manifests import (
    read_index_manifest,
    read_manifest_list,
    read_manifests,
    write_manifest_list,
)
from tests.paimon import open_table
from tests.wording import about

ORDERS = TablePath("shop", "orders")


@pytest.fixture
def files(warehouse: Path) -> LocalFiles:
    return LocalFiles(str(warehouse))


def test_a_list_names_the_manifests_that_pypaimon_reads(files: LocalFiles, warehouse: Path) -> None:
    from pypaimon.manifest.manifest_list_manager import ManifestListManager

    table = open_table(warehouse, "shop.orders")
    stock = ManifestListManager(table).read_all(table.snapshot_manager().get_latest_snapshot())
    snapshot = Lineage(files, ORDERS.root()).snapshot(5)
    both = [snapshot.base_manifest_list, snapshot.delta_manifest_list]
    ours = [meta for name in both for meta in read_manifest_list(files, ORDERS.manifest(name))]

    assert [(m.file_name, m.file_size, m.schema_id) for m in ours] == [
        (m.file_name, m.file_size, m.schema_id) for m in stock
    ]
    entries = list(read_manifests(files, [ORDERS.manifest(ours[-1].file_name)]))
    assert sorted((entry.is_added, entry.bucket) for entry in entries) == [(True, 0), (True, 1)]
    for entry in entries:
        path = ORDERS.data_file("", entry.bucket, entry.file["_FILE_NAME"])
        assert files.size(path) == entry.file["_FILE_SIZE"]


def test_joined_lists_hold_every_record_with_schema_and_compression(files: LocalFiles) -> None:
    snapshot = Lineage(files, ORDERS.root()).snapshot(5)
    paths = [ORDERS.manifest(snapshot.base_manifest_list), ORDERS.manifest(snapshot.delta_manifest_list)]
    originals = [_read(files.read(path)) for path in paths]

    schema, codec, records = _read(write_manifest_list(files, paths))

    assert records == originals[0][2] + originals[1][2]
    assert len(records) == 5
    assert (schema, codec) == originals[0][:2]


def test_fields_of_a_newer_paimon_are_kept(files: LocalFiles) -> None:
    newer = {
        "type": "record",
        "name": "org.apache.paimon.avro.generated.record",
        "fields": [
            *MANIFEST_FILE_META_SCHEMA["fields"],
            {
                "name": "_FROM_THE_FUTURE",
                "type": {"type": "map", "values": {"type": "long", "logicalType": "timestamp-millis"}},
            },
        ],
    }
    record = {**_record("manifest-1"), "_FROM_THE_FUTURE": {"a": 1_780_000_000_000}}
    files.create("lists/newer", _avro_bytes(newer, [record], "deflate"))

    schema, codec, [kept, again] = _read(write_manifest_list(files, ["lists/newer", "lists/newer"]))

    assert kept == again
    assert kept == _read(files.read("lists/newer"))[2][0]
    assert kept["_FROM_THE_FUTURE"]["a"].timestamp() == 1_780_000_000
    assert codec == "deflate"
    assert schema == _read(files.read("lists/newer"))[0]


def test_lists_of_two_writers_are_joined_with_the_fields_of_both(files: LocalFiles) -> None:
    fields = MANIFEST_FILE_META_SCHEMA["fields"]
    older = {**MANIFEST_FILE_META_SCHEMA, "fields": fields[:7]}
    mine = {"name": "_MINE", "type": "int"}
    files.create(
        "lists/older", _avro_bytes({**older, "fields": [*fields[:7], mine]}, [{**_record("a"), "_MINE": 7}])
    )
    # Some writers wrap the record into a union.
    files.create("lists/newer", _avro_bytes(["null", MANIFEST_FILE_META_SCHEMA], [_record("b")]))

    for paths in (["lists/older", "lists/newer"], ["lists/newer", "lists/older"]):
        _, _, records = _read(write_manifest_list(files, paths))
        by_name = {record["_FILE_NAME"]: record for record in records}
        assert [record["_FILE_NAME"] for record in records] == ["a" if "older" in p else "b" for p in paths]
        assert (by_name["a"]["_MINE"], by_name["b"]["_MINE"]) == (7, None)
        assert (by_name["a"]["_MIN_BUCKET"], by_name["b"]["_MIN_BUCKET"]) == (None, 3)


def test_lists_that_contradict_each_other_are_not_joined(files: LocalFiles) -> None:
    other = [
        {**field, "type": "int"} if field["name"] == "_SCHEMA_ID" else field
        for field in MANIFEST_FILE_META_SCHEMA["fields"]
    ]
    files.create("lists/a", _avro_bytes(MANIFEST_FILE_META_SCHEMA, [_record("a")]))
    files.create(
        "lists/b",
        _avro_bytes({**MANIFEST_FILE_META_SCHEMA, "fields": other}, [_record("b")]),
    )
    with pytest.raises(Corrupt, match="_SCHEMA_ID has another type"):
        write_manifest_list(files, ["lists/a", "lists/b"])


def test_empty_lists_make_an_empty_list(files: LocalFiles) -> None:
    files.create("lists/empty", _avro_bytes(MANIFEST_FILE_META_SCHEMA, []))
    schema, _, records = _read(write_manifest_list(files, ["lists/empty", "lists/empty"]))
    assert records == []
    assert schema["name"] == "ManifestFileMeta"


def test_what_cant_be_read_is_named(files: LocalFiles) -> None:
    good = _avro_bytes(MANIFEST_FILE_META_SCHEMA, [_record("a")])
    files.create("lists/text", b'[{"kind": 0}]')
    files.create("lists/half", good[: len(good) - 30])
    files.create("lists/future", _avro_bytes(MANIFEST_FILE_META_SCHEMA, [{**_record("a"), "_VERSION": 3}]))
    with pytest.raises(Corrupt, match="lists/text can't be read"):
        read_index_manifest(files, "lists/text")
    with pytest.raises(Corrupt, match="lists/half can't be read"):
        read_manifest_list(files, "lists/half")
    with pytest.raises(Corrupt, match=about("lists/future", "format 3", "2")):
        read_manifest_list(files, "lists/future")
    with pytest.raises(FileMissing):
        list(read_manifests(files, ["lists/missing"]))


def _record(name: str) -> dict[str, Any]:
    return {
        "_VERSION": 2,
        "_FILE_NAME": name,
        "_FILE_SIZE": 1,
        "_NUM_ADDED_FILES": 1,
        "_NUM_DELETED_FILES": 0,
        "_PARTITION_STATS": {"_MIN_VALUES": b"a", "_MAX_VALUES": b"b", "_NULL_COUNTS": [0, None]},
        "_SCHEMA_ID": 0,
        "_MIN_BUCKET": 3,
    }


def _avro_bytes(schema: Any, records: list[dict[str, Any]], codec: str = "null") -> bytes:
    buffer = io.BytesIO()
    fastavro.writer(buffer, schema, records, codec=codec)
    return buffer.getvalue()


def _read(data: bytes) -> tuple[Any, str, list[Any]]:
    reader = fastavro.reader(io.BytesIO(data))
    records = list(reader)
    return reader.writer_schema, reader.codec, records

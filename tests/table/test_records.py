"""Records keep what they do not know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paimark.core.actions.merge.history import MergeEvent
from paimark.core.errors import Corrupt
from paimark.core.spark.streaming.commit_attempts import Attempt
from paimark.core.table.operations import Operation
from paimark.core.table.records import Record, Savepoint, SchemaField, Snapshot, TableSchema, Tag
from tests.table.lineages import SCHEMA, snapshot_json
from tests.wording import about


def test_every_field_of_a_real_snapshot_is_known_and_written_back(warehouse: Path) -> None:
    for path in (warehouse / "shop.db/orders/snapshot").glob("snapshot-*"):
        snapshot = Snapshot.from_json(path.read_bytes(), "x")
        assert snapshot.unknown == {}
        assert json.loads(snapshot.to_json()) == json.loads(path.read_bytes())


def test_every_field_of_a_real_schema_is_known_and_written_back(warehouse: Path) -> None:
    for path in warehouse.glob("shop.db/*/schema/schema-0"):
        schema = TableSchema.from_json(path.read_bytes(), "x")
        assert schema.unknown == {}
        written = {name: value for name, value in json.loads(path.read_bytes()).items() if value is not None}
        assert json.loads(schema.to_json()) == written


def test_fields_of_a_newer_writer_survive() -> None:
    text = snapshot_json(7, 100).replace('"id" : 7', '"id" : 7, "newer" : {"a": [1, null]}')
    tag = Tag.from_json(text.encode(), "x")
    assert tag.unknown == {"newer": {"a": [1, None]}}
    assert json.loads(tag.to_json())["newer"] == {"a": [1, None]}
    assert Tag.from_json(tag.to_json(), "x") == tag


def test_fields_of_a_newer_writer_survive_inside_a_column() -> None:
    column = {"id": 0, "name": "k", "type": "BIGINT", "defaultValue": "7", "mask": {"by": "x"}}
    definition = {**json.loads(SCHEMA), "fields": [column], "newer": True}
    schema = TableSchema.from_json(json.dumps(definition).encode(), "x")
    assert schema.fields == [
        SchemaField(id=0, name="k", type="BIGINT", default_value="7", unknown={"mask": {"by": "x"}})
    ]
    assert json.loads(schema.to_json()) == definition


@pytest.mark.parametrize("kind", [Snapshot, Tag, TableSchema, Savepoint])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b'"x"',
        b"null",
        b"{}",
        b"\xff",
        b'{"id": 1e999}',
        b"[" * 200_000,
        b'{"fields": [3]}',
    ],
)
def test_what_is_no_record_is_corrupt_and_named(
    kind: type[Snapshot | TableSchema | Savepoint], data: bytes
) -> None:
    words = "table schema" if kind is TableSchema else kind.__name__.lower()
    with pytest.raises(Corrupt, match=about("a/path", "not", f"{words} record")):
        kind.from_json(data, "a/path")


def test_a_key_that_looks_like_ours_does_no_harm() -> None:
    text = snapshot_json(7, 100).replace('"id" : 7', '"id" : 7, "_unknown" : {"id": 9}')
    snapshot = Snapshot.from_json(text.encode(), "x")
    assert (snapshot.id, json.loads(snapshot.to_json())["id"]) == (7, 7)


def test_fields_of_a_newer_writer_survive_inside_a_nested_record() -> None:
    written = {
        "version": 1,
        "kind": "merge",
        "main": {"id": 7, "deltaManifestList": "a", "newer": 1},
        "branch": "fix",
        "to": 0,
    }
    event = MergeEvent.from_json(json.dumps(written).encode(), "x")
    assert event.main.unknown == {"newer": 1}
    assert json.loads(event.to_json()) == written


@pytest.mark.parametrize("kind", [Savepoint, Operation, MergeEvent, Attempt])
def test_a_record_of_a_newer_format_is_corrupt_and_not_guessed_at(kind: type[Record]) -> None:
    with pytest.raises(Corrupt, match=about("a/path", "format 2", "1")):
        kind.from_json(b'{"version": 2, "id": 3}', "a/path")

"""Encode and decode Paimon's files: data files, manifests, lists and snapshots; and merge their rows.

The module is written from the format alone, without the product's code, because it judges that code. `Lean`
has JSON data files, and only the manifest fields that Paimark reads; `Stock` has Parquet and all fields.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import fastavro
import msgspec

from tests.table.avro_files import MANIFEST, avro, manifest_record, record

KEY, VALUE = "k", "v"
ADD, DELETE = 0, 1
# Sorted rows, as any reader returns them, with duplicates.
Rows = tuple[tuple[int, int], ...]


class Identity(NamedTuple):
    """The identity of a commit. Its lists have unique names, so copies in tags and branches match."""

    id: int
    base: str
    delta: str


class Change(NamedTuple):
    """A row of a data file; `kind` 0 inserts it, 3 deletes it (keyed tables only)."""

    key: int
    value: int
    sequence: int
    kind: int = 0


@dataclass(frozen=True)
class DataFile:
    """A data file, as a manifest describes it."""

    name: str
    size: int
    rows: int
    first: int
    last: int
    schema_id: int
    level: int
    sequences: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Entry:
    kind: int
    file: DataFile


class Format(Protocol):
    """How the files of a table are written. `more` are columns that are null in every row."""

    suffix: str

    def data(self, changes: Sequence[Change], more: Sequence[str], *, keyed: bool) -> bytes: ...
    def changes(self, data: bytes, *, keyed: bool) -> list[Change]: ...
    def manifest(self, entries: Iterable[Entry], *, keyed: bool) -> bytes: ...
    def manifest_list(self, manifests: Iterable[Manifest], *, keyed: bool) -> bytes: ...


@dataclass(frozen=True)
class Manifest:
    """A manifest as a list names it."""

    name: str
    size: int
    added: int
    deleted: int
    schema_id: int


class Lean:
    """A minimal format, readable by Paimark only."""

    suffix = "json"

    def data(self, changes: Sequence[Change], more: Sequence[str], *, keyed: bool) -> bytes:
        return msgspec.json.encode(list(changes))

    def changes(self, data: bytes, *, keyed: bool) -> list[Change]:
        return [Change(*each) for each in msgspec.json.decode(data)]

    def manifest(self, entries: Iterable[Entry], *, keyed: bool) -> bytes:
        return avro(_LEAN_ENTRY, [_entry(each) for each in entries])

    def manifest_list(self, manifests: Iterable[Manifest], *, keyed: bool) -> bytes:
        return avro(_LEAN_META, [_meta(each) for each in manifests])


def entries_of(data: bytes) -> list[Entry]:
    """The entries of a manifest."""
    return [Entry(each["_KIND"], _file(each["_FILE"])) for each in fastavro.reader(io.BytesIO(data))]


def manifests_of(data: bytes) -> list[Manifest]:
    """The manifests of a manifest list."""
    return [
        Manifest(
            each["_FILE_NAME"],
            each["_FILE_SIZE"],
            each["_NUM_ADDED_FILES"],
            each["_NUM_DELETED_FILES"],
            each["_SCHEMA_ID"],
        )
        for each in fastavro.reader(io.BytesIO(data))
    ]


def live_files(entries: Iterable[Entry]) -> list[DataFile]:
    """The files that are added and not deleted, as every reader of Paimon computes them."""
    folded = list(entries)
    gone = {(each.file.name, each.file.level) for each in folded if each.kind == DELETE}
    return [
        each.file for each in folded if each.kind == ADD and (each.file.name, each.file.level) not in gone
    ]


def merged_rows(changes: Iterable[Change], *, keyed: bool) -> Rows:
    """The merged rows of data files: in a keyed table, the newest row of each key."""
    if not keyed:
        return tuple(sorted((each.key, each.value) for each in changes))
    newest: dict[int, Change] = {}
    for each in changes:
        if each.key not in newest or newest[each.key].sequence < each.sequence:
            newest[each.key] = each
    return tuple(sorted((each.key, each.value) for each in newest.values() if each.kind == 0))


def identity_of(data: bytes) -> Identity:
    """The identity of a snapshot, or of a tag, which is a copy of one. Raises `ValueError` otherwise."""
    try:
        found = msgspec.json.decode(data)
        return Identity(found["id"], found["baseManifestList"], found["deltaManifestList"])
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        raise ValueError("no snapshot") from error


def schema_json(number: int, *, keyed: bool, options: Mapping[str, str], more: Sequence[str] = ()) -> bytes:
    """A schema with the two columns, and one for each name in `more`, which is null in every row."""
    fields = [(KEY, "BIGINT NOT NULL" if keyed else "BIGINT"), (VALUE, "BIGINT"), *((n, "INT") for n in more)]
    return json.dumps(
        {
            "version": 3,
            "id": number,
            "fields": [{"id": i, "name": name, "type": kind} for i, (name, kind) in enumerate(fields)],
            "highestFieldId": len(fields) - 1,
            "partitionKeys": [],
            "primaryKeys": [KEY] if keyed else [],
            "options": dict(options),
            "comment": None,
            "timeMillis": 1,
        },
        indent=2,
    ).encode()


_LEAN_META = fastavro.parse_schema(MANIFEST)
_LEAN_FILE = record(
    "file",
    _FILE_NAME="string",
    _FILE_SIZE="long",
    _ROW_COUNT="long",
    _MIN_KEY="bytes",
    _MAX_KEY="bytes",
    _MIN_SEQUENCE_NUMBER="long",
    _MAX_SEQUENCE_NUMBER="long",
    _LEVEL="int",
    _SCHEMA_ID="long",
)
_LEAN_ENTRY = fastavro.parse_schema(
    record("entry", _VERSION="int", _KIND="int", _PARTITION="bytes", _BUCKET="int", _FILE=_LEAN_FILE)
)


def _entry(entry: Entry) -> dict[str, Any]:
    file = entry.file
    return {
        "_VERSION": 2,
        "_KIND": entry.kind,
        "_PARTITION": bytes(12),
        "_BUCKET": 0,
        "_FILE": {
            "_FILE_NAME": file.name,
            "_FILE_SIZE": file.size,
            "_ROW_COUNT": file.rows,
            "_MIN_KEY": bytes(12),
            "_MAX_KEY": bytes(12),
            "_MIN_SEQUENCE_NUMBER": file.sequences[0],
            "_MAX_SEQUENCE_NUMBER": file.sequences[1],
            "_LEVEL": file.level,
            "_SCHEMA_ID": file.schema_id,
        },
    }


def _meta(each: Manifest) -> dict[str, Any]:
    return manifest_record(each.name, each.size, each.added, each.deleted, each.schema_id)


def _file(found: Mapping[str, Any]) -> DataFile:
    return DataFile(
        name=found["_FILE_NAME"],
        size=found["_FILE_SIZE"],
        rows=found["_ROW_COUNT"],
        first=_key(found.get("_MIN_KEY")),
        last=_key(found.get("_MAX_KEY")),
        schema_id=found["_SCHEMA_ID"],
        level=found["_LEVEL"],
        sequences=(found["_MIN_SEQUENCE_NUMBER"], found["_MAX_SEQUENCE_NUMBER"]),
    )


def _key(row: bytes | None) -> int:
    """The key in a row of a keyed table's manifest; 0 if the manifest has none."""
    return struct.unpack("<q", row[12:])[0] if row is not None and len(row) == 20 else 0

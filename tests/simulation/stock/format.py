"""The format of tables that the real stock library can read: Parquet data files, and full manifests."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA
from pypaimon.manifest.schema.manifest_file_meta import MANIFEST_FILE_META_SCHEMA

from tests.simulation.actors.scheduler import BEGINNING_MS
from tests.simulation.formats import KEY, VALUE, Change, Entry, Manifest
from tests.table.avro_files import avro, manifest_record

_ENTRY = fastavro.parse_schema(MANIFEST_ENTRY_SCHEMA)
_META = fastavro.parse_schema(MANIFEST_FILE_META_SCHEMA)
_NO_ROW = bytes(12)


class Stock:
    """Files as pypaimon writes them."""

    suffix = "parquet"

    def data(self, changes: Sequence[Change], more: Sequence[str], *, keyed: bool) -> bytes:
        if keyed:
            changes = sorted(changes)
        keys = pa.array([each.key for each in changes], pa.int64())
        columns: dict[str, pa.Array] = {}
        if keyed:
            columns["_KEY_k"] = keys
            columns["_SEQUENCE_NUMBER"] = pa.array([each.sequence for each in changes], pa.int64())
            columns["_VALUE_KIND"] = pa.array([each.kind for each in changes], pa.int8())
        columns[KEY] = keys
        columns[VALUE] = pa.array([each.value for each in changes], pa.int64())
        columns |= {name: pa.nulls(len(changes), pa.int32()) for name in more}
        required = ("_KEY_k", "_SEQUENCE_NUMBER", "_VALUE_KIND", *([KEY] if keyed else []))
        schema = pa.schema(
            [pa.field(name, column.type, name not in required) for name, column in columns.items()]
        )
        sink = io.BytesIO()
        pq.write_table(pa.table(columns, schema=schema), sink, compression="zstd")
        return sink.getvalue()

    def changes(self, data: bytes, *, keyed: bool) -> list[Change]:
        rows = pq.read_table(io.BytesIO(data)).to_pylist()
        return [
            Change(row[KEY], row[VALUE], row.get("_SEQUENCE_NUMBER", 0), row.get("_VALUE_KIND", 0))
            for row in rows
        ]

    def manifest(self, entries: Iterable[Entry], *, keyed: bool) -> bytes:
        return avro(_ENTRY, [_entry(each, keyed=keyed) for each in entries])

    def manifest_list(self, manifests: Iterable[Manifest], *, keyed: bool) -> bytes:
        return avro(_META, [_meta(each, keyed=keyed) for each in manifests])


def _entry(entry: Entry, *, keyed: bool) -> dict[str, Any]:
    file = entry.file
    first, last = (_key_row(file.first), _key_row(file.last)) if keyed else (_NO_ROW, _NO_ROW)
    return {
        "_VERSION": 2,
        "_KIND": entry.kind,
        "_PARTITION": _NO_ROW,
        "_BUCKET": 0,
        "_TOTAL_BUCKETS": 1 if keyed else -1,
        "_FILE": {
            "_FILE_NAME": file.name,
            "_FILE_SIZE": file.size,
            "_ROW_COUNT": file.rows,
            "_MIN_KEY": first,
            "_MAX_KEY": last,
            "_KEY_STATS": _stats(first, last, [0] if keyed else []),
            "_VALUE_STATS": _stats(_NO_ROW, _NO_ROW, []),
            "_MIN_SEQUENCE_NUMBER": file.sequences[0],
            "_MAX_SEQUENCE_NUMBER": file.sequences[1],
            "_SCHEMA_ID": file.schema_id,
            "_LEVEL": file.level,
            "_EXTRA_FILES": [],
            "_CREATION_TIME": BEGINNING_MS,
            "_DELETE_ROW_COUNT": 0,
            "_FILE_SOURCE": 0,
            "_VALUE_STATS_COLS": [],
        },
    }


def _meta(manifest: Manifest, *, keyed: bool) -> dict[str, Any]:
    lean = manifest_record(manifest.name, manifest.size, manifest.added, manifest.deleted, manifest.schema_id)
    return lean | {
        "_PARTITION_STATS": _stats(_NO_ROW, _NO_ROW, []),
        "_MIN_BUCKET": 0,
        "_MAX_BUCKET": 0,
        "_MIN_LEVEL": 0,
        "_MAX_LEVEL": 5,
        "_TOTAL_BUCKETS": 1 if keyed else None,
    }


def _stats(first: bytes, last: bytes, nulls: list[int]) -> dict[str, Any]:
    return {"_MIN_VALUES": first, "_MAX_VALUES": last, "_NULL_COUNTS": nulls}


def _key_row(key: int) -> bytes:
    """A row of one BIGINT as Paimon serialises it: its arity, a header of null bits, the value."""
    return struct.pack(">i", 1) + bytes(8) + struct.pack("<q", key)

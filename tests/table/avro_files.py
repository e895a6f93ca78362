"""Manifests and their lists as bytes, for tables that are laid out by hand. Loads no pypaimon."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

import fastavro


def record(name: str, **fields: Any) -> dict[str, Any]:
    columns = [{"name": key, "type": kind} for key, kind in fields.items()]
    return {"type": "record", "name": name, "fields": columns}


# A manifest as a list names it: what readers of this project need.
MANIFEST = record(
    "meta",
    _VERSION="int",
    _FILE_NAME="string",
    _FILE_SIZE="long",
    _NUM_ADDED_FILES="long",
    _NUM_DELETED_FILES="long",
    _SCHEMA_ID="long",
)


def manifest_record(
    name: str, size: int | None, added: int, deleted: int, schema_id: int = 0
) -> dict[str, Any]:
    return {
        "_VERSION": 2,
        "_FILE_NAME": name,
        "_FILE_SIZE": size,
        "_NUM_ADDED_FILES": added,
        "_NUM_DELETED_FILES": deleted,
        "_SCHEMA_ID": schema_id,
    }


def avro(schema: Any, records: Iterable[Mapping[str, Any]], codec: str = "null") -> bytes:
    buffer = io.BytesIO()
    fastavro.writer(buffer, schema, records, codec=codec)
    return buffer.getvalue()

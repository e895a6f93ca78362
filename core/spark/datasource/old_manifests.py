"""Manifests of Paimon 0.9 and older, as pypaimon reads them: it takes fields for granted that came later."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import fastavro
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA

# The last of those fields.
_LATER = b'"_VALUE_STATS_COLS"'
_DIRECTORY, _PREFIX = "manifest", "manifest-"
_LIST = "manifest-list-"


def with_later_fields(opened: Any) -> Any:
    """The file system, which gives old manifests the fields that they lack: null each."""
    plain = opened.new_input_stream

    def new_input_stream(path: str) -> Any:
        stream = plain(path)
        if not _is_manifest(path):
            return stream
        with stream:
            data: bytes = stream.read()
        return BytesIO(data if _LATER in data[: 16 << 10] else _extended(data))

    opened.new_input_stream = new_input_stream
    return opened


def _is_manifest(path: str) -> bool:
    *_, directory, name = ["", "", *str(path).split("/")]
    return directory == _DIRECTORY and name.startswith(_PREFIX) and not name.startswith(_LIST)


def _extended(data: bytes) -> bytes:
    extended = BytesIO()
    fields = [each["name"] for each in MANIFEST_ENTRY_SCHEMA["fields"][-1]["type"]["fields"]]
    lacking = dict.fromkeys(fields)
    records = [{**each, "_FILE": lacking | each["_FILE"]} for each in fastavro.reader(BytesIO(data))]
    fastavro.writer(extended, MANIFEST_ENTRY_SCHEMA, records)
    return extended.getvalue()

"""Whether two roots define the table alike: a schema of one id may have another content in each."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from paimark.core.storage.files import Files
from paimark.core.table.definition.retention import RETENTION_OFF
from paimark.core.table.layout import Root
from paimark.core.table.records import TableSchema


def definition(schema: TableSchema) -> dict[str, Any]:
    """A schema without its time, id, and the options that disable stock expiry on branches."""
    written = schema.as_written()
    options = {name: value for name, value in schema.options.items() if name not in RETENTION_OFF}
    return {**written, "options": options, "timeMillis": None, "id": None}


def schemas_digest(files: Files, root: Root, newest: int) -> str | None:
    """SHA-256 of a root's definitions up to schema `newest`; None if one is missing. Raises `Corrupt`."""
    digest = hashlib.sha256()
    # Read one after the other: the number may be a damaged one, of schemas that nobody could count.
    for number, data in enumerate(files.read_many(map(root.schema, range(newest + 1)))):
        if data is None:
            return None
        schema = TableSchema.from_json(data, root.schema(number))
        digest.update(msgspec.json.encode(definition(schema), order="sorted"))
    return digest.hexdigest()

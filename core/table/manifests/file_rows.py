"""The rows of `t$files`: the data files of one snapshot, as stock Paimon prints them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from paimark.core.errors import Corrupt, Refused
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.manifests.files import FileLocations, data_manifests, live_entries, schema_of
from paimark.core.table.manifests.partitions import RowTexts
from paimark.core.table.records import Snapshot, TableSchema

_SOURCES = {0: "APPEND", 1: "COMPACT"}


def file_rows(files: Files, root: Root, snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    """A row for each live file. Raises `FileMissing`, `Corrupt`, and `Refused` if a path is unknown."""
    schema = schema_of(files, root, snapshot.schema_id)
    keys = schema.trimmed_primary_keys
    # Java casts the values of partitions to text, and prints the internal values of keys.
    partition_texts = _texts(schema, schema.partition_keys, legacy=False)
    key_texts = _texts(schema, keys, legacy=True) if keys else None
    places = FileLocations(files, root, snapshot.schema_id)
    for entry in live_entries(files, root.table, data_manifests(files, root.table, snapshot)):
        record, facts = entry.file, entry.facts
        yield (
            _joined(partition_texts, entry.partition, "{}"),
            entry.bucket,
            places.address(facts),
            facts.name.rpartition(".")[2],
            facts.schema_id,
            facts.key.level,
            facts.rows,
            facts.size,
            _joined(key_texts, record["_MIN_KEY"], "[]"),
            _joined(key_texts, record["_MAX_KEY"], "[]"),
            record["_MIN_SEQUENCE_NUMBER"],
            record["_MAX_SEQUENCE_NUMBER"],
            _epoch_ms(record.get("_CREATION_TIME")),
            record.get("_DELETE_ROW_COUNT"),
            _SOURCES.get(record.get("_FILE_SOURCE", -1)),
            record.get("_FIRST_ROW_ID"),
        )


def _texts(schema: TableSchema, columns: Sequence[str], *, legacy: bool) -> RowTexts | None:
    """None if a column has a type that Java prints in its own way."""
    try:
        return RowTexts(schema, columns, legacy=legacy)
    except Refused:
        return None


def _joined(texts: RowTexts | None, serialised: bytes, brackets: str) -> str | None:
    if texts is None:
        return None
    try:
        values = texts.of(serialised)
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        raise Corrupt(f"The values {serialised.hex()} of a manifest can't be read ({error})") from error
    return f"{brackets[0]}{', '.join('null' if each is None else each for each in values)}{brackets[1]}"


def _epoch_ms(creation: datetime | None) -> int | None:
    """A file's time is its writer's local clock without a zone; this machine's zone is assumed."""
    return None if creation is None else round(creation.replace(tzinfo=None).timestamp() * 1000)

"""Manifest lists, manifests and index manifests, in Avro. Only this module and `avro` import fastavro.

Records stay as they were read, with the schema that their writer embedded, so that a file that Paimark writes
from them has every field of the original, even those of a newer Paimon. Browsing never imports this module.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import fastavro

from paimark.core.cancelling import check_cancelled
from paimark.core.errors import Corrupt, FileMissing
from paimark.core.storage.files import Files
from paimark.core.table.manifests.avro import AvroFile, read_avro
from paimark.core.table.manifests.manifest_fields import (
    ENTRIES,
    INDEX,
    LIST,
    Layout,
    Path,
    nullable_fields,
    require_values,
)

_ADD, _DELETE = 0, 1
# The level in the key of index files, which have none.
_INDEX_LEVEL = -1
_VECTORS = "DELETION_VECTORS"
# The amount that is read ahead of the decoder: enough for every connection, little enough to hold twice.
_BATCH_BYTES, _BATCH_FILES = 32 << 20, 256


@dataclass(frozen=True, slots=True)
class ManifestMeta:
    """One record of a manifest list. Sizes in bytes."""

    record: Mapping[str, Any]

    @property
    def file_name(self) -> str:
        return str(self.record["_FILE_NAME"])

    @property
    def file_size(self) -> int:
        return int(self.record["_FILE_SIZE"])

    @property
    def schema_id(self) -> int:
        return int(self.record["_SCHEMA_ID"])

    @property
    def entries(self) -> tuple[int, int] | None:
        """How many files it adds and deletes; None if its writer did not record it."""
        added, deleted = self.record.get("_NUM_ADDED_FILES"), self.record.get("_NUM_DELETED_FILES")
        return None if added is None or deleted is None else (int(added), int(deleted))

    @property
    def extra_files(self) -> tuple[str, ...]:
        """Side files of the manifest, in the same directory."""
        return tuple(self.record.get("_EXTRA_FILES") or ())


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One record of a manifest: a data file added to, or deleted from, a bucket of a partition."""

    record: Mapping[str, Any]

    @property
    def is_added(self) -> bool:
        return bool(self.record["_KIND"] == _ADD)

    @property
    def partition(self) -> bytes:
        """The partition's values as Paimon serialises a row; `partitions.PartitionNames` reads them."""
        return bytes(self.record["_PARTITION"])

    @property
    def bucket(self) -> int:
        return int(self.record["_BUCKET"])

    @property
    def file(self) -> Mapping[str, Any]:
        """The file's own record: `_FILE_NAME`, `_FILE_SIZE`, `_ROW_COUNT`, `_SCHEMA_ID`, `_LEVEL`, ..."""
        record: Mapping[str, Any] = self.record["_FILE"]
        return record

    @property
    def facts(self) -> FileFacts:
        return _facts_of(self.record)


class FileKey(NamedTuple):
    """With the name, the fields by which an entry that deletes a data file matches the one that added it.

    For an index file, `extra_files` has the type of the index: `DELETION_VECTORS`, `HASH`, or the name of a
    global index.
    """

    partition: bytes
    bucket: int
    level: int
    extra_files: tuple[str, ...]
    external_path: str | None
    embedded_index: bytes | None


class FileFacts(NamedTuple):
    """The fields of an entry that counting needs: a tenth of the memory of a whole one. `size` in bytes."""

    is_added: bool
    name: str
    size: int
    rows: int
    schema_id: int
    key: FileKey

    @property
    def identity(self) -> tuple[str, FileKey]:
        """Equal for an entry that deletes a file and the one that added it."""
        return self.name, self.key


class DeletionVector(NamedTuple):
    """The numbers of a data file's deleted rows: they are in the index file `held_by`, from `offset`.

    In bytes; `length` is as its writer counts: of the bitmap, or of the whole vector.
    """

    held_by: FileFacts
    offset: int
    length: int


def read_manifest_list(files: Files, path: str) -> list[ManifestMeta]:
    """The manifests that a list names, in its order. Raises `FileMissing` and `Corrupt`."""
    return list(manifest_facts(files.read(path), path))


def read_manifests(files: Files, paths: Sequence[str]) -> Iterator[ManifestEntry]:
    """All entries of manifests, additions and deletions, in the order of `paths`; many reads are in flight.

    Raises `FileMissing` and `Corrupt`.
    """
    for path, data in zip(paths, files.read_many(paths), strict=True):
        check_cancelled()
        if data is None:
            raise FileMissing(path)
        yield from manifest_entries(data, path)


def manifest_entries(data: bytes, path: str) -> Iterator[ManifestEntry]:
    """All entries of a manifest, one decoded at a time. Raises `Corrupt`."""
    return map(ManifestEntry, _entries(data, path))


def file_facts(data: bytes, path: str) -> Iterator[FileFacts]:
    """The facts of each entry of a manifest, one decoded at a time. Raises `Corrupt`."""
    return map(_facts_of, _entries(data, path))


def manifest_facts(data: bytes, path: str) -> Iterator[ManifestMeta]:
    """The records of a manifest list, one decoded at a time. Raises `Corrupt`."""
    return map(ManifestMeta, _decode(data, path, LIST).records)


def read_in_batches(files: Files, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes | None]]:
    """Each path with the bytes of the file, None if it is missing; `sizes` are the expected sizes in bytes.

    Many reads are in flight, but few megabytes; the next batch is read while the caller works on one.
    """
    batches = list(_batches(sizes))
    if len(batches) == 1:
        yield from zip(batches[0], list(files.read_many(batches[0])), strict=True)
        return
    with ThreadPoolExecutor(1) as reader:
        ahead: Future[list[bytes | None]] | None = None
        batch: list[str] = []
        for following in (*batches, []):
            reading = reader.submit(lambda paths: list(files.read_many(paths)), following)
            if ahead is not None:
                yield from zip(batch, ahead.result(), strict=True)
            ahead, batch = reading, following


def read_facts(files: Files, sizes: Mapping[str, int]) -> Iterator[tuple[str, FileFacts]]:
    """The facts of each entry of these manifests, with the path of its manifest; `sizes` as above.

    Raises `FileMissing` and `Corrupt`.
    """
    for path, data in read_in_batches(files, sizes):
        check_cancelled()
        if data is None:
            raise FileMissing(path)
        for each in file_facts(data, path):
            yield path, each


def _batches(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    batch, batch_bytes = list[str](), 0
    for path, size in sizes.items():
        if batch and (batch_bytes + size > _BATCH_BYTES or len(batch) == _BATCH_FILES):
            yield batch
            batch, batch_bytes = [], 0
        batch.append(path)
        batch_bytes += size
    if batch:
        yield batch


def read_index_manifest(files: Files, path: str) -> list[FileFacts]:
    """The index files in use that an index manifest names. Raises `FileMissing` and `Corrupt`."""
    return list(index_facts(files.read(path), path))


def index_facts(data: bytes, path: str) -> Iterator[FileFacts]:
    """As `read_index_manifest`, for bytes already read; one decoded at a time. Raises `Corrupt`."""
    for each in _decode(data, path, INDEX).records:
        if each["_KIND"] == _ADD:
            yield _index_facts(each)


def _index_facts(record: Mapping[str, Any]) -> FileFacts:
    key = FileKey(
        record["_PARTITION"],
        record["_BUCKET"],
        _INDEX_LEVEL,
        (record["_INDEX_TYPE"],),
        record.get("_EXTERNAL_PATH"),
        None,
    )
    return FileFacts(True, record["_FILE_NAME"], record["_FILE_SIZE"], 0, 0, key)


def read_deletion_vectors(files: Files, path: str) -> dict[str, DeletionVector]:
    """The deletion vectors by the names of their data files. Raises `FileMissing` and `Corrupt`."""
    vectors: dict[str, DeletionVector] = {}
    for each in _decode(files.read(path), path, INDEX).records:
        if each["_KIND"] == _ADD and each["_INDEX_TYPE"] == _VECTORS:
            held_by = _index_facts(each)
            for vector in each.get("_DELETIONS_VECTORS_RANGES") or ():
                try:
                    vectors[vector["f0"]] = DeletionVector(held_by, vector["f1"], vector["f2"])
                except (KeyError, TypeError) as error:
                    raise _corrupt(path, "a deletion vector that is not told of as one") from error
    return vectors


def write_manifest_list(files: Files, sources: Sequence[str]) -> bytes:
    """One manifest list with all records of the lists at `sources`, in their order and with all their fields.

    It keeps the schema and compression of the writer. Raises `FileMissing` and `Corrupt`.
    """
    lists = [_decode(files.read(path), path, LIST) for path in sources]
    schema = lists[0].schema
    for path, other in zip(sources[1:], lists[1:], strict=True):
        if other.schema != schema:
            schema = _union(schema, other.schema, path)
    buffer = io.BytesIO()
    records = (record for each in lists for record in each.records)
    fastavro.writer(buffer, schema, records, codec=lists[0].codec)
    return buffer.getvalue()


def _facts_of(record: Mapping[str, Any]) -> FileFacts:
    file = record["_FILE"]
    key = FileKey(
        record["_PARTITION"],
        record["_BUCKET"],
        file["_LEVEL"],
        tuple(file.get("_EXTRA_FILES") or ()),
        file.get("_EXTERNAL_PATH"),
        file.get("_EMBEDDED_FILE_INDEX"),
    )
    return FileFacts(
        record["_KIND"] == _ADD,
        file["_FILE_NAME"],
        file["_FILE_SIZE"],
        file["_ROW_COUNT"],
        file["_SCHEMA_ID"],
        key,
    )


def _entries(data: bytes, path: str) -> Iterator[dict[str, Any]]:
    for record in _decode(data, path, ENTRIES).records:
        if record["_KIND"] not in (_ADD, _DELETE):
            raise _corrupt(path, f"an entry of kind {record['_KIND']}")
        yield record


def _decode(data: bytes, path: str, layout: Layout) -> AvroFile:
    """Records are decoded and checked lazily. The function, and each record, raises `Corrupt`."""
    try:
        file = read_avro(data)
        nullable = nullable_fields(file.schema, layout)
    # Bytes from outside: the decoder and its codecs fail in more ways than they document.
    except Exception as error:
        raise _corrupt(path, str(error) or type(error).__name__) from error
    return replace(file, records=_checked(file.records, nullable, path, layout))


def _checked(
    records: Iterator[dict[str, Any]], nullable: list[Path], path: str, layout: Layout
) -> Iterator[dict[str, Any]]:
    while True:
        try:
            record = next(records)
            require_values(record, nullable)
        except StopIteration:
            return
        # As in `_decode`.
        except Exception as error:
            raise _corrupt(path, str(error) or type(error).__name__) from error
        if record["_VERSION"] != layout.version:
            raise _corrupt(path, f"format {record['_VERSION']}, and this version knows {layout.version}")
        yield record


def _corrupt(path: str, why: str) -> Corrupt:
    return Corrupt(f"{path} can't be read ({why})", "A newer Paimon may have written it, or it is damaged.")


def _union(first: Any, second: Any, path: str) -> dict[str, Any]:
    """The first record schema with the fields that only the second has, which become nullable."""
    left, right = _record_schema(first, path), _record_schema(second, path)
    types = {field["name"]: field["type"] for field in left["fields"]}
    for field in right["fields"]:
        if field["name"] in types and field["type"] != types[field["name"]]:
            raise _corrupt(path, f"{field['name']} has another type than in the snapshot's other list")
    names = {field["name"] for field in right["fields"]}
    shared = [field if field["name"] in names else _optional(field) for field in left["fields"]]
    added = [_optional(field) for field in right["fields"] if field["name"] not in types]
    return {**left, "fields": [*shared, *added]}


def _record_schema(schema: Any, path: str) -> dict[str, Any]:
    """The record of a schema; some writers wrap it in a union with null."""
    choices = schema if isinstance(schema, list) else [schema]
    records = [each for each in choices if isinstance(each, dict) and each.get("type") == "record"]
    if len(records) != 1:
        raise _corrupt(path, "its schema is not that of a manifest list")
    return records[0]


def _optional(field: Mapping[str, Any]) -> dict[str, Any]:
    kind = field["type"]
    nullable = isinstance(kind, list) and "null" in kind
    rest = [each for each in kind if each != "null"] if isinstance(kind, list) else [kind]
    return {**field, "type": kind if nullable and kind[0] == "null" else ["null", *rest], "default": None}

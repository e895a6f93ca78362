"""Manifest lists, manifests and index manifests: Avro, and fastavro is imported only here and in `avro`.

Records are kept as they were read, with the schema their writer embedded, so that what we write again holds
every field of the original: also those of a newer Paimon. Browsing commands never import this module.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import fastavro

from core.cancelling import check_cancelled
from core.errors import Corrupt, FileMissing
from core.storage.files import Files
from core.table.avro import read_avro

_LIST_VERSION = 2
_ENTRY_VERSION = 2
_INDEX_VERSION = 1
_ADD, _DELETE = 0, 1
# What is read ahead of the one who decodes: enough for every connection, little enough to hold twice.
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
        """How many files it adds and deletes; None where its writer did not say."""
        added, deleted = self.record.get("_NUM_ADDED_FILES"), self.record.get("_NUM_DELETED_FILES")
        return None if added is None or deleted is None else (int(added), int(deleted))

    @property
    def extra_files(self) -> tuple[str, ...]:
        """Side files of the manifest, beside it."""
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
        found: Mapping[str, Any] = self.record["_FILE"]
        return found

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes an entry that deletes speak of the one that added."""
        file = self.file
        return (
            self.record["_PARTITION"],
            self.record["_BUCKET"],
            file["_LEVEL"],
            file["_FILE_NAME"],
            tuple(file.get("_EXTRA_FILES") or ()),
            file.get("_EMBEDDED_FILE_INDEX"),
            file.get("_EXTERNAL_PATH"),
        )


class FileKey(NamedTuple):
    """What, with its name, makes an entry that deletes a data file speak of the one that added it."""

    partition: bytes
    bucket: int
    level: int
    extra_files: tuple[str, ...]
    external_path: str | None
    embedded_index: bytes | None


class FileFacts(NamedTuple):
    """What counting needs of an entry: a tenth of what a whole one takes. `size` in bytes."""

    is_added: bool
    name: str
    size: int
    rows: int
    schema_id: int
    key: FileKey


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One record of an index manifest: a deletion vector, hash or global index file in use."""

    record: Mapping[str, Any]

    @property
    def partition(self) -> bytes:
        return bytes(self.record["_PARTITION"])

    @property
    def bucket(self) -> int:
        return int(self.record["_BUCKET"])

    @property
    def file_name(self) -> str:
        return str(self.record["_FILE_NAME"])

    @property
    def file_size(self) -> int:
        return int(self.record["_FILE_SIZE"])

    @property
    def index_type(self) -> str:
        """`DELETION_VECTORS`, `HASH`, or the name of a global index."""
        return str(self.record["_INDEX_TYPE"])

    @property
    def external_path(self) -> str | None:
        path: str | None = self.record.get("_EXTERNAL_PATH")
        return path


def read_manifest_list(files: Files, path: str) -> list[ManifestMeta]:
    """The manifests a list names, in its order. Raises `FileMissing` and `Corrupt`."""
    return [ManifestMeta(record) for record in _decode(files.read(path), path, _LIST_VERSION).records]


def read_manifest(files: Files, path: str) -> list[ManifestEntry]:
    """All entries of a manifest, additions and deletions. Raises `FileMissing` and `Corrupt`."""
    return _entries(files.read(path), path)


def read_manifests(files: Files, paths: Sequence[str]) -> Iterator[list[ManifestEntry]]:
    """The entries of each manifest in the order asked, many reads in flight. Raises as `read_manifest`."""
    for path, data in zip(paths, files.read_many(paths), strict=True):
        check_cancelled()
        if data is None:
            raise FileMissing(path)
        yield _entries(data, path)


def file_facts(data: bytes, path: str) -> Iterator[FileFacts]:
    """What each entry of a manifest says, one decoded at a time. Raises `Corrupt`."""
    for record in _each_record(data, path, _ENTRY_VERSION):
        try:
            facts = _facts_of(record)
        except (KeyError, TypeError, ValueError) as error:
            raise _corrupt(path, f"an entry without {error}") from error
        yield facts


def manifest_facts(data: bytes, path: str) -> Iterator[ManifestMeta]:
    """The records of a manifest list, one decoded at a time. Raises `Corrupt`."""
    for record in _each_record(data, path, _LIST_VERSION):
        meta = ManifestMeta(record)
        try:
            meta.file_name, meta.file_size, meta.entries  # noqa: B018
        except (KeyError, TypeError, ValueError) as error:
            raise _corrupt(path, f"a manifest without {error}") from error
        yield meta


def read_in_batches(files: Files, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes | None]]:
    """Each path with the bytes of the file, None where it is missing; `sizes` are what they should take.

    Many are in flight, and few megabytes at a time; the next batch is read while one is worked on.
    """
    with ThreadPoolExecutor(1) as reader:
        ahead: Future[list[bytes | None]] | None = None
        batch: list[str] = []
        for following in (*_batches(sizes), []):
            reading = reader.submit(lambda paths: list(files.read_many(paths)), following)
            if ahead is not None:
                yield from zip(batch, ahead.result(), strict=True)
            ahead, batch = reading, following


def _batches(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    batch, held = list[str](), 0
    for path, size in sizes.items():
        if batch and (held + size > _BATCH_BYTES or len(batch) == _BATCH_FILES):
            yield batch
            batch, held = [], 0
        batch.append(path)
        held += size
    if batch:
        yield batch


def read_index_manifest(files: Files, path: str) -> list[IndexEntry]:
    """The index files that an index manifest names. Raises `FileMissing` and `Corrupt`."""
    return index_entries(files.read(path), path)


def index_entries(data: bytes, path: str) -> list[IndexEntry]:
    """As `read_index_manifest`, of what was read already. Raises `Corrupt`."""
    records = _decode(data, path, _INDEX_VERSION).records
    try:
        return [IndexEntry(record) for record in records if record["_KIND"] == _ADD]
    except KeyError as error:
        raise _corrupt(path, f"an index file without {error}") from error


def write_manifest_list(files: Files, sources: Sequence[str]) -> bytes:
    """One manifest list with all records of the lists at `sources`, in their order and with all their fields.

    The writer's own schema and compression are used again. Raises `FileMissing` and `Corrupt`.
    """
    lists = [_decode(files.read(path), path, _LIST_VERSION) for path in sources]
    schema = lists[0].schema
    for path, other in zip(sources[1:], lists[1:], strict=True):
        if other.schema != schema:
            schema = _union(schema, other.schema, path)
    buffer = io.BytesIO()
    records = (record for each in lists for record in each.records)
    fastavro.writer(buffer, schema, records, codec=lists[0].codec)
    return buffer.getvalue()


def _facts_of(record: Mapping[str, Any]) -> FileFacts:
    file, kind = record["_FILE"], record["_KIND"]
    if kind not in (_ADD, _DELETE):
        raise ValueError(f"a known kind ({kind})")
    key = FileKey(
        record["_PARTITION"],
        record["_BUCKET"],
        file["_LEVEL"],
        tuple(file.get("_EXTRA_FILES") or ()),
        file.get("_EXTERNAL_PATH"),
        file.get("_EMBEDDED_FILE_INDEX"),
    )
    return FileFacts(
        kind == _ADD, file["_FILE_NAME"], file["_FILE_SIZE"], file["_ROW_COUNT"], file["_SCHEMA_ID"], key
    )


@dataclass(frozen=True, slots=True)
class _Avro:
    schema: Any
    codec: str
    records: list[dict[str, Any]]


def _entries(data: bytes, path: str) -> list[ManifestEntry]:
    entries = []
    for record in _decode(data, path, _ENTRY_VERSION).records:
        if record["_KIND"] not in (_ADD, _DELETE):
            raise _corrupt(path, f"an entry of kind {record['_KIND']}")
        entries.append(ManifestEntry(record))
    return entries


def _decode(data: bytes, path: str, version: int) -> _Avro:
    try:
        file = read_avro(data)
        found = _Avro(file.schema, file.codec, list(file.records))
        versions = {record["_VERSION"] for record in found.records}
    # Bytes from outside: the decoder and its codecs fail in more ways than they document.
    except Exception as error:
        raise _corrupt(path, str(error) or type(error).__name__) from error
    if versions - {version}:
        raise _corrupt(path, f"format {max(versions)}, and this version knows {version}")
    return found


def _each_record(data: bytes, path: str, version: int) -> Iterator[dict[str, Any]]:
    try:
        records = read_avro(data).records
    # Bytes from outside, as in `_decode`.
    except Exception as error:
        raise _corrupt(path, str(error) or type(error).__name__) from error
    while True:
        try:
            record = next(records)
            found = record["_VERSION"]
        except StopIteration:
            return
        except Exception as error:
            raise _corrupt(path, str(error) or type(error).__name__) from error
        if found != version:
            raise _corrupt(path, f"format {found}, and this version knows {version}")
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
    """The record of a schema; some writers wrap it into a union with null."""
    choices = schema if isinstance(schema, list) else [schema]
    found = [each for each in choices if isinstance(each, dict) and each.get("type") == "record"]
    if len(found) != 1:
        raise _corrupt(path, "its schema is not that of a manifest list")
    return found[0]


def _optional(field: Mapping[str, Any]) -> dict[str, Any]:
    kind = field["type"]
    nullable = isinstance(kind, list) and "null" in kind
    rest = [each for each in kind if each != "null"] if isinstance(kind, list) else [kind]
    return {**field, "type": kind if nullable and kind[0] == "null" else ["null", *rest], "default": None}

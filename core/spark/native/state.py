"""The files of one table at one snapshot, for Spark's own readers. They never change, so they are cached."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pyspark.sql.types import StructField, StructType

from paimark.core.errors import Corrupt, PaimarkError, Unavailable
from paimark.core.spark.datasource.field_types import fields_of
from paimark.core.spark.datasource.table_options import Use, judged
from paimark.core.spark.incremental.live_files import KeptFiles, LiveFiles, ManifestId
from paimark.core.spark.merging.model import (
    Bits,
    MergeColumns,
    MergeGroup,
    MergeRules,
    Unmergeable,
    Vector,
)
from paimark.core.spark.merging.rules import merge_file, merge_rules
from paimark.core.spark.native.columns import FileColumns, NotNative, file_columns, table_types
from paimark.core.spark.native.conditions import ValueReader, value_reader
from paimark.core.storage.files import Files
from paimark.core.table.definition.kind_signs import is_on, leaves_out_new_files, merge_engine
from paimark.core.table.layout import Root
from paimark.core.table.manifests.files import FileLocations, data_manifests, schema_of
from paimark.core.table.manifests.manifests import DeletionVector, ManifestEntry, read_deletion_vectors
from paimark.core.table.manifests.partitions import starts
from paimark.core.table.records import Snapshot, TableSchema

# Constant columns of files. A table with columns of such names is not read natively.
PARTITION_PREFIX = "__paimon_partition_"
# The last one is Spark's own.
_OWN_PREFIXES = ("__paimon_", "__paimark_", "_tmp_metadata_")
_POSTPONED_BUCKET = -2


@dataclass(frozen=True, slots=True)
class TableFile:
    """A data file. `partition` has the values of the partition columns as texts; `size` is in bytes."""

    address: str
    file_format: str
    size: int
    row_count: int
    schema_id: int
    partition: tuple[str | None, ...]
    entry: ManifestEntry


def alive_rows(file: TableFile, bits: Mapping[str, Bits]) -> int:
    """The number of a file's rows in the snapshot, given the bits of files by address."""
    return bits[file.address].popcount() if file.address in bits else file.row_count


@dataclass(frozen=True, slots=True)
class TableState:
    """`merged` has the groups of files whose rows replace one another, and the files with deletion vectors.

    All other files are read whole. `columns` is by schema id and format; its `made` has the order of `names`.
    """

    names: tuple[str, ...]
    columns: Mapping[tuple[int, str], FileColumns]
    constants: StructType
    files: tuple[TableFile, ...]
    merged: tuple[MergeGroup, ...]
    schemas: Mapping[int, TableSchema]


def table_state(
    files: Files,
    root: Root,
    snapshot: Snapshot | None,
    schema: TableSchema,
    only: Sequence[str] | None = None,
    file_cache: KeptFiles[TableFile] | None = None,
) -> TableState:
    """The table at the snapshot, in the columns of `schema`. Raises `NotNative` if Spark can't read it.

    `only` are the names of the data files to read, None for all. Files of other snapshots of the table are
    reused from `file_cache`.
    """
    try:
        return _table_state(files, root, snapshot, schema, only, file_cache or KeptFiles())
    except Unmergeable as reason:
        raise NotNative(str(reason)) from reason
    except Unavailable:
        raise
    except PaimarkError as error:
        # pypaimon may be able to read this metadata; otherwise it reports the error itself.
        raise NotNative(error.message) from error


def _table_state(
    files: Files,
    root: Root,
    snapshot: Snapshot | None,
    schema: TableSchema,
    only: Sequence[str] | None,
    file_cache: KeptFiles[TableFile],
) -> TableState:
    _check_options(schema, root)
    fields = _fields(schema)
    types = table_types(fields)
    constants = {name: PARTITION_PREFIX + name for name in schema.partition_keys}
    columns = StructType(
        [StructField(constant, types[name].dataType) for name, constant in constants.items()]
    )
    if snapshot is None:
        return TableState((), {}, columns, (), (), {})
    locations = FileLocations(files, root, snapshot.schema_id)
    vectors = _vectors(files, root, snapshot, schema)
    only_names = None if only is None else frozenset(only)
    live = _live_files(files, root, snapshot, schema, locations, only_names, file_cache)
    schemas = {number: _schema(files, root, number) for number in {number for number, _ in live.kinds}}
    visible, merged = _visible_files(live, schema, schemas, vectors, locations)
    return TableState(
        names=tuple(field.name for field in fields),
        columns={
            (number, file_format): file_columns(fields, _fields(schemas[number]), constants, file_format)
            for number, file_format in live.kinds
        },
        constants=columns,
        files=visible,
        merged=merged,
        schemas=schemas,
    )


def _schema(files: Files, root: Root, number: int) -> TableSchema:
    schema = schema_of(files, root, number)
    if schema.id != number:
        raise NotNative(f"schema {number}, which files were written with, is missing")
    return schema


def _check_options(schema: TableSchema, root: Root) -> None:
    engine = merge_engine(schema.options)
    match = judged(schema.options, Use(root.branch, engine, "root"))
    if match is not None:
        raise NotNative(f"{match.option} is {match.value}")


def _fields(schema: TableSchema) -> list[Any]:
    for field in schema.fields:
        # Spark would read Paimark's column instead of the table's, even if only the case differs.
        if field.name.lower().startswith(_OWN_PREFIXES):
            raise NotNative(f"column {field.name} is called like those that Spark's readers are given here")
    return fields_of(schema.to_json().decode())


def _live_files(
    files: Files,
    root: Root,
    snapshot: Snapshot,
    schema: TableSchema,
    locations: FileLocations,
    only: frozenset[str] | None,
    file_cache: KeptFiles[TableFile],
) -> LiveFiles[TableFile]:
    located_by = schema_of(files, root, snapshot.schema_id)
    # Everything but the entry on which a `TableFile` depends.
    key = files.uri, root.directory, schema.to_json(), located_by.to_json()
    manifests = map(ManifestId.of, data_manifests(files, root.table, snapshot))
    make = _file_maker(locations, _PartitionTexts(schema))
    return file_cache.at(key, files, root.table, manifests, make, only)


def _file_maker(
    locations: FileLocations, partitions: _PartitionTexts
) -> Callable[[ManifestEntry], TableFile]:
    def make(entry: ManifestEntry) -> TableFile:
        facts = entry.facts
        _check_file(entry, facts.name)
        return TableFile(
            address=locations.address(facts),
            file_format=facts.name.rpartition(".")[2].lower(),
            size=facts.size,
            row_count=facts.rows,
            schema_id=facts.schema_id,
            partition=partitions.of(entry.partition),
            entry=entry,
        )

    return make


def _check_file(entry: ManifestEntry, name: str) -> None:
    file_format = name.rpartition(".")[2].lower()
    if file_format not in ("parquet", "orc", "avro"):
        raise NotNative(f"Spark has no reader here for {file_format} files")
    if name.startswith(("_", ".")):
        raise NotNative(f"Spark passes over files that are called like {name}")
    if entry.bucket == _POSTPONED_BUCKET:
        raise NotNative("postponed buckets")
    if entry.file.get("_WRITE_COLS") is not None:
        raise NotNative("files that hold some of the columns")


class _PartitionTexts:
    """Converts serialised partitions to the texts that `Scans.java` parses."""

    def __init__(self, schema: TableSchema) -> None:
        types = {field.name: field.type for field in schema.fields}
        self._readers: list[ValueReader] = []
        for name in schema.partition_keys:
            reader = value_reader(types.get(name))
            if reader is None:
                raise NotNative(f"partition column {name} of type {types.get(name)}")
            self._readers.append(reader)
        self._known: dict[bytes, tuple[str | None, ...]] = {}

    def of(self, partition: bytes) -> tuple[str | None, ...]:
        texts = self._known.get(partition)
        if texts is None:
            try:
                texts = self._known[partition] = self._texts(partition)
            except (struct.error, ValueError, IndexError) as error:
                raise Corrupt(f"The partition values {partition.hex()} can't be read ({error})") from error
        return texts

    def _texts(self, partition: bytes) -> tuple[str | None, ...]:
        row = partition[4:]
        fields = zip(self._readers, starts(partition, len(self._readers)), strict=True)
        return tuple(None if at is None else str(read(row, at)) for read, at in fields)


def _vectors(
    files: Files, root: Root, snapshot: Snapshot, schema: TableSchema
) -> Mapping[str, DeletionVector]:
    """The deletion vectors by the name of their data file. Raises `NotNative`."""
    if not snapshot.index_manifest:
        return {}
    vectors = read_deletion_vectors(files, root.table.manifest(snapshot.index_manifest))
    if vectors and not is_on(schema.options, "deletion-vectors.enabled"):
        raise NotNative("deletion vectors that no option tells of")
    return vectors


def _visible_files(
    live: LiveFiles[TableFile],
    schema: TableSchema,
    schemas: Mapping[int, TableSchema],
    vectors: Mapping[str, DeletionVector],
    locations: FileLocations,
) -> tuple[tuple[TableFile, ...], tuple[MergeGroup, ...]]:
    """The files that readers see, and the groups of those that are not read whole."""
    if leaves_out_new_files(schema.options, schema.primary_keys):
        compacted = tuple(file for file in live.files if file.entry.file["_LEVEL"] > 0)
        if "rowkind.field" in schema.options or not all(map(_has_no_deletes, compacted)):
            raise NotNative("deletions among the rows of files that a compaction made")
        return compacted, tuple(_with_vectors(compacted, vectors, locations))
    files = live.files
    if schema.primary_keys:
        return files, _merged(live, schema, schemas)
    return files, tuple(_with_vectors(files, vectors, locations))


def _has_no_deletes(file: TableFile) -> bool:
    return bool(file.entry.file.get("_DELETE_ROW_COUNT") == 0)


def _with_vectors(
    files: Iterable[TableFile], vectors: Mapping[str, DeletionVector], locations: FileLocations
) -> Iterator[MergeGroup]:
    """A group for each file that has a deletion vector."""
    # Most tables have no vectors, and some have very many files.
    for file in files if vectors else ():
        entry = file.entry
        vector_entry = vectors.get(entry.file["_FILE_NAME"])
        # A vector applies only to the bucket of its index file.
        if vector_entry is None or vector_entry.held_by.key[:2] != (entry.partition, entry.bucket):
            continue
        merged = merge_file(None, file.address, file.file_format, entry.file)
        if not merged.has_row_numbers:
            raise NotNative(f"deletion vectors of {file.file_format} files")
        vector = Vector(
            locations.index_address(vector_entry.held_by), vector_entry.offset, vector_entry.length
        )
        yield MergeGroup(_unmerged(file.schema_id), (replace(merged, vector=vector),))


@cache
def _unmerged(schema_id: int) -> MergeRules:
    """Rules for files that are not merged with others."""
    return MergeRules((), (), False, False, {schema_id: MergeColumns((), ())})


def _merged(
    live: LiveFiles[TableFile], schema: TableSchema, schemas: Mapping[int, TableSchema]
) -> tuple[MergeGroup, ...]:
    merged = live.merged(merge_rules(schema, schemas))
    if all(file_format == "parquet" for _, file_format in live.kinds):
        return merged
    for file in (file for group in merged for file in group.files if not file.has_row_numbers):
        if file.format == "avro":
            raise NotNative("rows of avro files that replace others")
        if file.is_sparse:
            raise NotNative(f"few rows are left of the many that an {file.format} file was made of")
    return merged

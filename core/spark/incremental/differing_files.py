"""Narrow two scans of a table, the sides of a difference, to the files that differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_in
from functools import cache
from typing import Any

from msgspec.structs import replace

from paimark.core.errors import Corrupt, FileMissing, PaimarkError, Unavailable
from paimark.core.figures import counted
from paimark.core.spark.datasource.scan import Beside, Scan
from paimark.core.spark.merging.model import Unmergeable
from paimark.core.spark.merging.rules import KeyReader
from paimark.core.storage.files import Files
from paimark.core.table.definition.column_types import type_text
from paimark.core.table.definition.kind_signs import is_on
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import data_manifests, live_entries
from paimark.core.table.manifests.manifests import ManifestEntry, read_deletion_vectors
from paimark.core.table.records import SchemaField, Snapshot, TableSchema

# The names of the files are sent with every task.
_MOST_FILES = 20_000


@dataclass(frozen=True, slots=True)
class Side:
    """`note` tells how many of its files are read, or why all are read."""

    scan: Scan
    note: str


def narrowed_to_differences(files: Files, old: Scan, new: Scan) -> tuple[Side, Side]:
    """The scans without the files that cancel out: rows that are equal in both may be missing.

    Raises `Unavailable`. If metadata can't be read, all files are read, and the readers report the error.
    """
    try:
        if old.root.table != new.root.table:
            raise ReadWhole("they are two tables")
        left, right = _state(files, old), _state(files, new)
        names = differing_files(left, right)
        if max(len(names.old), len(names.new)) > _MOST_FILES:
            raise ReadWhole(f"more than {_MOST_FILES:,} of them differ")
    except ReadWhole as why:
        return Side(old, f"All files are read: {why}."), Side(new, f"All files are read: {why}.")
    except Unavailable:
        raise
    except PaimarkError as error:
        note = f"All files are read: {error.message}."
        return Side(old, note), Side(new, note)
    before, after = _side(old, left, names.old), _side(new, right, names.new)
    return _beside(before, after.scan, names), _beside(after, before.scan, names)


def _beside(side: Side, other: Scan, names: Differing) -> Side:
    """Add the other state to the scan, so that readers can leave out rows of a file that are in both."""
    if not names.alike:
        return side
    told = Beside(other.branch, other.snapshot, other.schema, other.only, tuple(sorted(names.alike)))
    return replace_in(side, scan=replace(side.scan, beside=told))


def _side(scan: Scan, state: State, names: frozenset[str]) -> Side:
    count = counted(len(state.entries), "file")
    is_whole = len(names) == len(state.entries)
    note = f"Reads {len(names):,} of {count}" + (": the others are in both." if not is_whole else ".")
    return Side(replace(scan, only=None if is_whole else tuple(sorted(names))), note)


def _state(files: Files, scan: Scan) -> State:
    schema = scan.table_schema
    if not scan.snapshot:
        return State(schema, (), {}, {})
    root = scan.root
    snapshot = Snapshot.from_json(scan.snapshot.encode(), root.snapshots)
    entries = live_entries(files, root.table, data_manifests(files, root.table, snapshot))
    written = _schemas(files, scan, {entry.facts.schema_id for entry in entries})
    path = snapshot.index_manifest
    vectors = read_deletion_vectors(files, root.table.manifest(path)) if path else {}
    return State(schema, entries, written, vectors)


def _schemas(files: Files, scan: Scan, numbers: set[int]) -> dict[int, TableSchema]:
    lineage, found = Lineage(files, scan.root), dict[int, TableSchema]()
    for number in numbers:
        try:
            found[number] = TableSchema.from_path(files, lineage.root.schema(number))
        except FileMissing:
            # Files of a missing schema never cancel out.
            continue
    return found


# Options of retention and of writing, which do not change the result of a read.
_NOT_OF_READS = (
    *("snapshot.", "tag.", "consumer.", "changelog.", "savepoint.", "compaction.", "num-sorted-run."),
    *("write-", "target-file-size", "full-compaction.", "sink.", "manifest.", "commit.", "owner", "path"),
)
# Fields of a file's record that decide how its rows merge, in addition to the file's identity.
_MERGED_BY = ("_MIN_SEQUENCE_NUMBER", "_MAX_SEQUENCE_NUMBER", "_DELETE_ROW_COUNT", "_FIRST_ROW_ID")


# A file that both states hold cancels out if both read the same rows from it. In a table with a key, the rows
# of a file depend on the files of its bucket that share keys with it, so only such a group as a whole cancels
# out. The rows that are read are therefore always true rows of the state, and the rows that are left out are
# the same in both. Pure: this module reads nothing.
class ReadWhole(Exception):
    """No file can be left out. The text is the reason, for the note."""


@dataclass(frozen=True, slots=True)
class State:
    """One of the two states: its files, and the schema that they are read with.

    `written` are the existing schemas of its root that files were written with. `vectors` maps a data file's
    name to its deletion vector.
    """

    schema: TableSchema
    entries: Sequence[ManifestEntry]
    written: Mapping[int, TableSchema]
    vectors: Mapping[str, Hashable]


@dataclass(frozen=True, slots=True)
class _File:
    """A file of one or both states."""

    identity: Hashable
    entry: ManifestEntry
    differs: bool


@dataclass(frozen=True, slots=True)
class Differing:
    """The names of the files that must be read of each state.

    `alike` are those of them that both states hold: a row of such a file that is in both states is the same
    in both.
    """

    old: frozenset[str]
    new: frozenset[str]
    alike: frozenset[str]


def differing_files(old: State, new: State) -> Differing:
    """Raises `ReadWhole` if the files can't be compared."""
    _require_comparable(old, new)
    left, right = _by_identity(old), _by_identity(new)
    is_same = _reads_alike(old, new)
    files = [
        _File(identity, entry, not (identity in left and identity in right and is_same(entry)))
        for identity, entry in {**left, **right}.items()
    ]
    groups = [*_groups(old.schema, new.schema, files)]
    kept = {file.identity for group in groups for file in group}
    alike = {file.identity for group in groups for file in group if not file.differs}
    return Differing(_names(left, kept), _names(right, kept), _names(left, alike))


def _names(side: Mapping[Hashable, ManifestEntry], kept: set[Hashable]) -> frozenset[str]:
    return frozenset(entry.facts.name for identity, entry in side.items() if identity in kept)


def _require_comparable(old: State, new: State) -> None:
    first, second = old.schema, new.schema
    if _read_by(first) != _read_by(second):
        raise ReadWhole("the options by which rows are read differ")
    if first.partition_keys != second.partition_keys or _key_types(first) != _key_types(second):
        raise ReadWhole("the keys or the partition columns differ")
    has_parts = any(each.file.get("_WRITE_COLS") is not None for side in (old, new) for each in side.entries)
    if has_parts or is_on(first.options, "data-evolution.enabled"):
        raise ReadWhole("its rows are put together from several files")


def _read_by(schema: TableSchema) -> dict[str, str]:
    return {name: value for name, value in schema.options.items() if not name.startswith(_NOT_OF_READS)}


def _key_types(schema: TableSchema) -> list[tuple[int, str]]:
    fields = {field.name: field for field in schema.fields}
    if not fields.keys() >= {*schema.primary_keys}:
        raise ReadWhole("the schema lacks a column of the key")
    return [(fields[name].id, _plain_type(fields[name])) for name in schema.primary_keys]


def _by_identity(side: State) -> dict[Hashable, ManifestEntry]:
    found: dict[Hashable, ManifestEntry] = {}
    for entry in side.entries:
        facts = entry.facts
        merged_by = tuple(entry.file.get(name) for name in _MERGED_BY)
        found[facts, merged_by, side.vectors.get(facts.name)] = entry
    if len({entry.facts.name for entry in side.entries}) < len(side.entries):
        raise ReadWhole("files of one name are in it twice")
    return found


def _reads_alike(old: State, new: State) -> Callable[[ManifestEntry], bool]:
    """A function that tells if both states read the same values, in compared columns, from a shared file."""

    @cache
    def same(schema_id: int) -> bool:
        first, second = old.written.get(schema_id), new.written.get(schema_id)
        if first is None or second is None or _columns(first) != _columns(second):
            return False
        return all(_same_column(field.id, old.schema, new.schema) for field in first.fields)

    return lambda entry: same(entry.facts.schema_id)


def _same_column(number: int, old: TableSchema, new: TableSchema) -> bool:
    """Whether both states read the column with this id alike, or do not compare it."""
    before = next((field for field in old.fields if field.id == number), None)
    after = next((field for field in new.fields if field.id == number), None)
    if before is None or after is None:
        # A dropped column is not compared, unless a new column has its name.
        return after is None and (
            before is None or all(field.name.lower() != before.name.lower() for field in new.fields)
        )
    return _plain_type(before) == _plain_type(after)


def _columns(schema: TableSchema) -> list[tuple[int, str, str]]:
    return [(field.id, field.name, _plain_type(field)) for field in schema.fields]


def _plain_type(field: SchemaField) -> str:
    return type_text(field.type).removesuffix(" NOT NULL")


def _groups(old: TableSchema, new: TableSchema, files: Iterable[_File]) -> Iterator[Sequence[_File]]:
    """The groups with at least one file that differs; files of different groups have no key in common."""
    if not new.primary_keys:
        yield from ((file,) for file in files if file.differs)
        return
    buckets: defaultdict[Hashable, list[_File]] = defaultdict(list)
    for file in files:
        buckets[file.entry.partition, file.entry.bucket].append(file)
    keys = zip(old.primary_keys, _key_types(old), strict=True)
    # Key ranges omit the partition columns, which are constant within a bucket.
    types = [kind for name, (_, kind) in keys if name not in old.partition_keys]
    for bucket in buckets.values():
        # Most buckets are the same in both states.
        if any(file.differs for file in bucket):
            yield from (group for group in _connected(types, bucket) if any(file.differs for file in group))


def _connected(types: Sequence[str], bucket: Sequence[_File]) -> Iterator[list[_File]]:
    """The files of a bucket, grouped by overlapping key ranges; one group if the ranges can't be read."""
    try:
        keys = KeyReader(types)
        ranges = [(_range(keys, file.entry), file) for file in bucket]
    except (Unmergeable, Corrupt):
        yield list(bucket)
        return
    group: list[_File] = []
    reach: tuple[Any, ...] = ()
    for (first, last), file in sorted(ranges, key=lambda each: each[0]):
        if group and first > reach:
            yield group
            group, reach = [], ()
        reach = max(reach, last)
        group.append(file)
    yield group


def _range(keys: KeyReader, entry: ManifestEntry) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return keys.read(entry.file["_MIN_KEY"]), keys.read(entry.file["_MAX_KEY"])

"""Paimon's metadata records as frozen structs, JSON in and out.

Field names on disk are Paimon's (`savedSnapshotId`); here they are Python's. `unknown` keeps the fields that
this version does not know, and they are written back, so that data of a newer writer is not lost. Times are
epoch milliseconds, sizes bytes, counts records: rows before those of a key are merged. Source: Apache Paimon
1.x/2.x file formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Self, TypeVar, get_args

import msgspec

from paimark.core.errors import Corrupt
from paimark.core.storage.files import Files
from paimark.core.table.layout import (
    CHANGELOG_PREFIX,
    SAVEPOINT_PREFIX,
    SCHEMA_PREFIX,
    SNAPSHOT_PREFIX,
    number_in,
)

# The errors of the decoder for bytes that are no record; deep nesting makes it recurse.
DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

# A number of Java's `long`: JSON can hold others, which no engine wrote and few libraries take.
_LEAST, _MOST = -(2**63), 2**63 - 1
Long = Annotated[int, msgspec.Meta(ge=_LEAST, le=_MOST)]
_SO_LONG = rb"[0-9]{19}"

# The list is deleted with its savepoint, so the name must not be that of another kind of file.
ListName = Annotated[str, msgspec.Meta(pattern=r"^manifest-list-[\w.-]+\Z")]

# How the commit users of all commits of Paimark begin, and of its streams: then comes the query's id.
COMMIT_USER = "paimark-"
STREAM_USER = f"{COMMIT_USER}stream-"
# Commits of these kinds leave the rows as they are.
ROWLESS = ("COMPACT", "ANALYZE")


def query_of(commit_user: str) -> str:
    """The id of a stream's query; the user itself of another commit."""
    return commit_user.removeprefix(STREAM_USER)


UNREADABLE_HINT = "It may be half-written: refresh in a moment, or run `paimark doctor`."


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A JSON object on disk, including the fields that this version does not know.

    If a file name is a prefix in `numbered` and a number, the record's `id` must be that number.
    `newest` is the newest format that this version reads; None for Paimon's own files.
    """

    numbered: ClassVar[tuple[str, ...]] = ()
    newest: ClassVar[int | None] = None
    unknown: dict[str, Any] = msgspec.field(default_factory=dict, name="_unknown")

    @classmethod
    def from_json(cls, data: bytes, source: str) -> Self:
        """Decode. The error names `source` (a path) if the bytes are not a whole record, or another's."""
        return decode_record(cls, data, source)

    @classmethod
    def from_path(cls, files: Files, path: str) -> Self:
        """Read and decode. Raises `FileMissing` and `Corrupt`."""
        return cls.from_json(files.read(path), path)

    def to_json(self) -> bytes:
        """Encode, with the unknown fields after the known ones."""
        return msgspec.json.format(msgspec.json.encode(self.as_written()), indent=2)

    def as_written(self) -> dict[str, Any]:
        """The record as a JSON object, without empty fields."""
        known = {
            name: value
            for name, value in msgspec.to_builtins(self).items()
            if value is not None and name != "_unknown"
        }
        for name, (attribute, _) in _nested(type(self)).items():
            value = getattr(self, attribute)
            if isinstance(value, Record):
                known[name] = value.as_written()
            elif value is not None:
                known[name] = [each.as_written() for each in value]
        return {**known, **self.unknown}

    @classmethod
    def with_unknown_apart(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """A decoded JSON object with the fields that this record does not have moved to `_unknown`."""
        unknown = {name: value for name, value in fields.items() if name not in _names_on_disk(cls)}
        nested = {
            name: _with_unknown_apart_in(kind, fields[name])
            for name, (_, kind) in _nested(cls).items()
            if name in fields
        }
        return {**fields, **nested, "_unknown": unknown}


R = TypeVar("R", bound=Record)


@cache
def _names_on_disk(kind: type[Record]) -> frozenset[str]:
    return frozenset(field.encode_name for field in msgspec.structs.fields(kind))


@cache
def _nested(kind: type[Record]) -> Mapping[str, tuple[str, type[Record]]]:
    """The fields that hold records, by name on disk: the attribute, and the kind of record."""
    return {
        field.encode_name: (field.name, each)
        for field in msgspec.structs.fields(kind)
        for each in (field.type, *get_args(field.type))
        if isinstance(each, type) and issubclass(each, Record)
    }


def _with_unknown_apart_in(kind: type[Record], value: object) -> object:
    if isinstance(value, dict):
        return kind.with_unknown_apart(value)
    if isinstance(value, list):
        return [_with_unknown_apart_in(kind, each) for each in value]
    return value


def decode_record(kind: type[R], data: bytes, source: str) -> R:
    """One record from JSON bytes.

    Raises `Corrupt` naming `source`, also if the file's name has another id, and for a newer format.
    """
    try:
        fields = json_object(data)
        _require_version(kind, fields, source)
        record = msgspec.convert(kind.with_unknown_apart(fields), kind)
    except DECODE_ERRORS as error:
        raise Corrupt(not_whole(source, _type_name(kind), error), UNREADABLE_HINT) from error
    name, recorded = source.rpartition("/")[2], getattr(record, "id", None)
    if any(number_in(name, prefix) not in (None, recorded) for prefix in kind.numbered):
        raise Corrupt(misnamed(source, recorded), "Somebody copied or edited it: put it right by hand.")
    return record


def json_object(data: bytes) -> dict[str, Any]:
    """The fields of a JSON object. Raises `DECODE_ERRORS`, also for a number of more than 64 bits."""
    fields = msgspec.json.decode(data, type=dict[str, Any])
    if re.search(_SO_LONG, data):
        _require_longs(fields)
    return fields


def _require_longs(value: object) -> None:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            _require_longs(each)
    elif isinstance(value, int) and not _LEAST <= value <= _MOST:
        raise msgspec.ValidationError("it holds a number of more than 64 bits")


def _require_version(kind: type[Record], fields: dict[str, Any], source: str) -> None:
    version = fields.get("version")
    if kind.newest is not None and isinstance(version, int) and version > kind.newest:
        raise Corrupt(
            f"{source} has format {version}, and this version knows {kind.newest}",
            "Use the version of Paimark that wrote it.",
        )


def _type_name(kind: type[Record]) -> str:
    """`table schema` for TableSchema."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).lower()


def not_whole(path: str, kind: str, error: Exception) -> str:
    """The error for a file that is no record of its kind."""
    return f"{path} is not a whole {kind} record ({error})"


def misnamed(path: str, recorded_id: int | None) -> str:
    """The error for a file whose record has another id than its name."""
    return f"{path} holds the record of another: its id is {recorded_id}"


class Snapshot(Record, frozen=True, kw_only=True):
    """One commit. `version` 3 is Paimon 1.x/2.x. Only 2.x tells the `operation`: MERGE, DELETE."""

    numbered: ClassVar[tuple[str, ...]] = (SNAPSHOT_PREFIX, CHANGELOG_PREFIX)

    version: int | None = None
    id: int
    schema_id: int
    base_manifest_list: str
    base_manifest_list_size: int | None = None
    delta_manifest_list: str
    delta_manifest_list_size: int | None = None
    changelog_manifest_list: str | None = None
    changelog_manifest_list_size: int | None = None
    index_manifest: str | None = None
    commit_user: str
    commit_identifier: int
    commit_kind: str
    time_millis: int
    log_offsets: dict[str, int] | None = None
    total_record_count: int | None = None
    delta_record_count: int | None = None
    changelog_record_count: int | None = None
    watermark: int | None = None
    statistics: str | None = None
    properties: dict[str, str] | None = None
    next_row_id: int | None = None
    operation: str | None = None
    uuid: str | None = None
    writer_version: str | None = None


# Properties of snapshots: see `paimark.core.table.lineage.notes`.
MESSAGE, AUTHOR = "paimark.message", "paimark.author"
# A property of tags: see `paimark.core.table.manifests.chain`.
APART = "paimark.apart"


def is_apart(snapshot: Snapshot) -> bool:
    """Whether it is marked: its history was rolled back, or is not proven to be that of its root."""
    return APART in (snapshot.properties or {})


def commit_key(snapshot: Snapshot) -> tuple[int, str, str]:
    """Equal for a snapshot and its copies in tags and branches: each commit has new names for its lists."""
    return snapshot.id, snapshot.base_manifest_list, snapshot.delta_manifest_list


def is_same_commit(left: Snapshot, right: Snapshot) -> bool:
    """Whether two records are of one commit, for example a snapshot and its copy in a tag or branch."""
    return commit_key(left) == commit_key(right)


class Point(Record, frozen=True, kw_only=True):
    """A snapshot of a root. The delta manifest list tells it from a later snapshot with the same id."""

    id: int  # the snapshot's id
    # its `deltaManifestList`; empty where nothing is known of the snapshot but its id, as it expired
    # before a change was recovered
    delta_manifest_list: str

    @property
    def is_lost(self) -> bool:
        return not self.delta_manifest_list

    def is_of(self, snapshot: Snapshot) -> bool:
        return (self.id, self.delta_manifest_list) == (snapshot.id, snapshot.delta_manifest_list)


def point_of(snapshot: Snapshot) -> Point:
    return Point(id=snapshot.id, delta_manifest_list=snapshot.delta_manifest_list)


class Tag(Snapshot, frozen=True, kw_only=True):
    """A tag is its snapshot's JSON; the two further fields are present if it has a time to live."""

    tag_create_time: list[int] | None = None
    tag_time_retained: float | None = None


class Consumer(Record, frozen=True, kw_only=True):
    """A registered reader of a root, and the first snapshot that it still has to read."""

    # the first snapshot that is still needed: expiry keeps it and later ones
    next_snapshot: int


class SchemaField(Record, frozen=True, kw_only=True):
    """A column: `type` is Paimon's text (`BIGINT NOT NULL`) or an object for nested types."""

    id: int
    name: str
    type: Any
    description: str | None = None
    default_value: Any = None


# Versions of schemas; one without a version is Paimon 0.7's.
_PAIMON_07, _PAIMON_08 = 1, 2
# Up to which version an option that is left out has another value than now.
_OLD_DEFAULTS = ((_PAIMON_07, "bucket", "1"), (_PAIMON_08, "file.format", "orc"))


class TableSchema(Record, frozen=True, kw_only=True):
    """One version of a table's definition."""

    numbered: ClassVar[tuple[str, ...]] = (SCHEMA_PREFIX,)

    version: int = _PAIMON_07
    id: int
    fields: list[SchemaField]
    highest_field_id: int
    partition_keys: list[str]
    primary_keys: list[str]
    options: dict[str, str]
    comment: str | None = None
    time_millis: int | None = None

    @classmethod
    def with_unknown_apart(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """The same. Options that an old writer left out have the defaults of its time, as in stock Paimon."""
        apart = super().with_unknown_apart(fields)
        version, options = apart.get("version", _PAIMON_07), apart.get("options")
        if not (isinstance(version, int) and isinstance(options, dict)):
            return apart
        meant = {name: value for newest, name, value in _OLD_DEFAULTS if version <= newest}
        return {**apart, "options": {**meant, **options}}

    @property
    def trimmed_primary_keys(self) -> list[str]:
        """Paimon's term: the primary keys that identify a row within its partition."""
        return [name for name in self.primary_keys if name not in self.partition_keys]


class Savepoint(Record, frozen=True, kw_only=True):
    """The full state of a table at one snapshot, kept even after that snapshot expired."""

    numbered: ClassVar[tuple[str, ...]] = (SAVEPOINT_PREFIX,)
    newest: ClassVar[int | None] = 1

    version: int = 1  # format
    id: int  # the savepoint's id
    saved_snapshot_id: int  # the snapshot
    schema_id: int  # the snapshot's schema
    full_manifest_list: ListName  # file name in `savepoint/`
    # `totalRecordCount` of the snapshot: records, of which those of one key are merged when they are
    # read
    record_count: int
    save_time: int  # when it was saved
    snapshot_time: int  # `timeMillis` of the snapshot: what time travel compares
    branch: str = "main"  # where it was made, `main` for main
    verified_at: int | None = None  # when it was proved that the tag came in time
    comment: str | None = None  # the user's
    # `manual`, `interval` (by `savepoint.create-interval`) or `safety` (before main gets other rows)
    created_by: str = "manual"
    # the snapshot as it was written: the tag is made of it again, should it be lost
    snapshot: dict[str, Any] | None = None
    # SHA-256 of schemas 0 to `schemaId` of its root, one after the other: each as JSON without blanks,
    # keys sorted, `id` and `timeMillis` null, without the [options of branches](#branch-roots). A root
    # whose schemas have another digest does not get the tag
    schema_digest: str | None = None

    def is_of(self, snapshot: Snapshot) -> bool:
        """Whether it saved this snapshot, of which a tag is a copy."""
        return (self.saved_snapshot_id, self.snapshot_time) == (snapshot.id, snapshot.time_millis)


def read_records(
    kind: type[R], files: Files, paths: Sequence[str], unreadable: dict[str, str]
) -> Iterator[tuple[str, R]]:
    """Path and record of each whole file that exists; `unreadable` gets the error of each broken one."""
    for path, data in zip(paths, files.read_many(paths), strict=True):
        unreadable.pop(path, None)
        if data is None:
            continue
        try:
            record = kind.from_json(data, path)
        except Corrupt as error:
            unreadable[path] = error.message
        else:
            yield path, record

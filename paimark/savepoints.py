"""A savepoint: as the system table `t$savepoints` lists it, and as its file has it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

import msgspec

from paimark.arguments import text, texts
from paimark.core.config import full_address
from paimark.core.errors import Corrupt, UsageError
from paimark.core.figures import size
from paimark.core.storage.files import MOST_BYTES, Files
from paimark.core.storage.open import open_files
from paimark.core.table.records import Savepoint as SavepointRecord

# The fields by their names in the file; `rest` has all others.
_IN_FILE = {
    "savepoint_id": "id",
    "saved_snapshot_id": "savedSnapshotId",
    "schema_id": "schemaId",
    "save_time": "saveTime",
    "record_count": "recordCount",
    "snapshot_time": "snapshotTime",
    "branch": "branch",
    "comment": "comment",
    "created_by": "createdBy",
    "full_manifest_list": "fullManifestList",
}
_LEAST = {"savepoint_id": 1, "saved_snapshot_id": 1}
_MOST = 2**63 - 1
_HINT = "It is the content of a file savepoint/savepoint-N of a table."


class ManifestFile(msgspec.Struct, frozen=True):
    """A manifest, in the directory `manifest` of its table.

    `added_files` and `deleted_files` count its entries; they are None if its writer did not.
    """

    file_name: str
    file_size: int
    schema_id: int
    added_files: int | None
    deleted_files: int | None


class Savepoint(msgspec.Struct, frozen=True, dict=True):
    """The full state of a table at one snapshot, kept even after that snapshot has expired.

    `save_time` is the time of its creation, `snapshot_time` that of the saved snapshot's commit, `branch` the
    branch that it was made on; `created_by` is `manual` or `interval`. `health` is `ok`, `unprotected` (its
    tag is gone: the next expiry may delete its files) or `unverified` (no proof that its tag came in time);
    it is None if the savepoint was read from its file alone. `protected` is the reason why no action may
    delete it, None if one may, or in a file alone. `full_manifest_list` is the name of a file
    beside that of the savepoint; `rest` are the file's further fields, also those of a later version.
    """

    savepoint_id: int
    saved_snapshot_id: int
    schema_id: int
    save_time: int
    record_count: int
    snapshot_time: int
    branch: str
    comment: str | None
    created_by: str
    health: str | None
    protected: str | None
    full_manifest_list: str
    rest: dict[str, Any]

    @property
    def id(self) -> int:
        return self.savepoint_id

    @classmethod
    def from_json(cls, content: str | bytes) -> Self:
        """Read the content of a savepoint's file. Raises `Corrupt` and `UsageError`."""
        if not isinstance(content, str | bytes):
            raise UsageError(f"A savepoint's content is a text, not {type(content).__name__}", _HINT)
        return cls._decoded(content, "The given text")

    @classmethod
    def from_path(cls, path: str | os.PathLike[str], *, options: Mapping[str, str] | None = None) -> Self:
        """Read a savepoint's file: a path or a URI, with the catalog options of its store.

        Raises `FileMissing`, `Corrupt`, `Unavailable` and `UsageError`.
        """
        where = text("A path", os.fspath(path) if isinstance(path, os.PathLike) else path, _HINT)
        directory, _, name = full_address(where).rpartition("/") if where.strip() else ("", "", "")
        if not name or "\0" in where:
            raise UsageError(f"{where!r} is no path of a savepoint", _HINT)
        files = open_files(directory or "/", texts("options", {} if options is None else options))
        return cls._decoded(files.read(name), name)._found_in(files, "")

    @classmethod
    def _decoded(cls, content: str | bytes, source: str) -> Self:
        try:
            data = content.encode() if isinstance(content, str) else content
            if len(data) > MOST_BYTES:
                raise Corrupt(f"{source} has {size(len(data))}: no savepoint is as large")
            saved = cls._of(SavepointRecord.from_json(data, source), None)
        except (Corrupt, UnicodeEncodeError) as error:
            raise Corrupt(f"{source} is no savepoint: {error}", _HINT) from error
        for name, value in msgspec.structs.asdict(saved).items():
            if isinstance(value, int) and not _LEAST.get(name, 0) <= value <= _MOST:
                raise Corrupt(f"{source} is no savepoint: its {_IN_FILE[name]} can't be as it is", _HINT)
        return saved

    @classmethod
    def _of(cls, record: SavepointRecord, health: str | None, protected: str | None = None) -> Self:
        fields = record.as_written()
        own = {name: fields.pop(in_file, None) for name, in_file in _IN_FILE.items()}
        return cls(**own, health=health, protected=protected, rest=fields)

    def _found_in(self, files: Files, directory: str) -> Self:
        """The same savepoint, that knows where its manifests are listed. A copy or pickle does not."""
        self.__dict__["_place"] = files, directory
        return self

    def to_json(self) -> str:
        """The content of its file, with the fields that this version does not know."""
        own = {in_file: getattr(self, name) for name, in_file in _IN_FILE.items()}
        fields = {name: value for name, value in own.items() if value is not None} | self.rest
        record = msgspec.convert(SavepointRecord.with_unknown_apart(fields), SavepointRecord)
        return record.to_json().decode()

    def data_manifests(self) -> list[ManifestFile]:
        """The manifests of the saved state: one read, of its full manifest list.

        Raises `FileMissing`, `Corrupt`, `Unavailable`, and `UsageError` for a savepoint from JSON alone.
        """
        # Imported late: looking around needs no Avro.
        from paimark.core.table.manifests.manifests import read_manifest_list

        if (place := self.__dict__.get("_place")) is None:
            raise UsageError(
                f"Savepoint {self.id} was read from JSON alone, so its manifests can't be found",
                "Take it from Savepoint.from_path, or from SavepointManager(table).",
            )
        files, directory = place
        path = f"{directory}/{self.full_manifest_list}".removeprefix("/")
        return [
            ManifestFile(each.file_name, each.file_size, each.schema_id, *(each.entries or (None, None)))
            for each in read_manifest_list(files, path)
        ]

    def __hash__(self) -> int:
        return hash((self.savepoint_id, self.full_manifest_list))

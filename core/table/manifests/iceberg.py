"""The Iceberg metadata of a table: which of its files Iceberg readers still need.

With `metadata.iceberg.storage` a stock commit also writes Iceberg metadata, whose manifests name Paimon's own
data files. One file `vN.metadata.json` belongs to snapshot N, and the newest lists several snapshots. The
option may be set for one job alone, and taken out again: so the directories tell, not the table's options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from paimark.core.errors import Corrupt, FileMissing
from paimark.core.storage.files import Files, read_if_there
from paimark.core.storage.paths import is_inside
from paimark.core.table.layout import TablePath
from paimark.core.table.manifests.avro import read_avro, schema_and_count
from paimark.core.table.manifests.manifests import read_in_batches
from paimark.core.text import whole_number

REMEDY = (
    "It is Iceberg metadata. If it can't be restored, delete all of it: a stock commit then writes it anew."
)
HINT, _PENDING = "version-hint.text", "retire-pending"
_VERSION = re.compile(r"v(\d{1,18})\.metadata\.json")
# The status of an entry for a file that is no longer in the table.
_DELETED = 2


class _Snapshot(msgspec.Struct):
    number: int = msgspec.field(name="snapshot-id")
    manifest_list: str = msgspec.field(name="manifest-list")


class _Metadata(msgspec.Struct):
    current: int | None = msgspec.field(name="current-snapshot-id", default=None)
    snapshots: list[_Snapshot] = []


@dataclass
class IcebergFiles:
    """`own` are the paths of the metadata files in use. `needed` are the names of data and index files."""

    own: set[str] = field(default_factory=set)
    needed: set[str] = field(default_factory=set)

    def has(self, directory: str, name: str) -> bool:
        """Whether a file with this name there is one of them."""
        return name in self.needed or f"{directory}/{name}" in self.own


def newest_version(files: Files, table: TablePath) -> int | None:
    """The highest snapshot id that Iceberg metadata knows; None without such metadata."""
    known = (each for directory in table.iceberg_metadata for each in _versions(files, directory))
    return max(known, default=None)


def in_use(files: Files, table: TablePath) -> list[str]:
    """The directories with metadata of the table."""
    return [each for each in table.iceberg_metadata if _versions(files, each)]


def needed_files(
    files: Files, table: TablePath, wanted: Callable[[str], bool] = lambda address: True
) -> IcebergFiles:
    """What the metadata needs, in all its snapshots: of data files only those whose address is `wanted`.

    Raises `Corrupt` if the snapshot that readers get can't be read, and `FileMissing` if it has lost a file.
    """
    found = IcebergFiles()
    for directory in table.iceberg_metadata:
        if versions := _versions(files, directory):
            _add(files, directory, versions, found, wanted)
    return found


def _versions(files: Files, directory: str) -> list[int]:
    matches = map(_VERSION.fullmatch, files.names(directory))
    return sorted(int(match[1]) for match in matches if match is not None)


def _add(
    files: Files, directory: str, versions: list[int], found: IcebergFiles, wanted: Callable[[str], bool]
) -> None:
    hint = whole_number(read_if_there(files, f"{directory}/{HINT}") or b"")
    found.own |= {f"{directory}/{HINT}", f"{directory}/{_PENDING}"}
    # Each with whether it may not be missing.
    lists: dict[str, bool] = {}
    for version in versions:
        path = f"{directory}/v{version}.metadata.json"
        found.own.add(path)
        # Those before the newest may have lost what only they named: their writer deletes that first.
        is_read = version in (versions[-1], hint)
        for named, is_current in _lists(files, directory, path):
            lists[named] = lists.get(named, False) or (is_current and is_read)
    manifests: dict[str, bool] = {}
    for path, is_needed in lists.items():
        found.own.add(path)
        for each in _read(files, path, is_needed):
            manifest = _inside(directory, str(each["manifest_path"]), path)
            manifests[manifest] = manifests.get(manifest, False) or is_needed
    found.own |= manifests.keys()
    for path, data in read_in_batches(files, dict.fromkeys(manifests, 0)):
        if data is None and manifests[path]:
            raise _missing(path)
        for entry in _records(data, path, ("status", "data_file.file_path")) if data is not None else ():
            address = str(entry["data_file"]["file_path"])
            if entry["status"] != _DELETED and wanted(address):
                found.needed.add(address.rpartition("/")[2])


def _lists(files: Files, directory: str, path: str) -> Iterator[tuple[str, bool]]:
    """The manifest lists of a metadata file, each with whether it is that of its current snapshot."""
    try:
        metadata = msgspec.json.decode(files.read(path), type=_Metadata)
    except msgspec.MsgspecError as error:
        raise _corrupt(path, str(error)) from error
    for each in metadata.snapshots:
        yield _inside(directory, each.manifest_list, path), each.number == metadata.current


def _inside(directory: str, address: str, source: str) -> str:
    """The path of a file that metadata names: it lies beside the metadata, whatever the store is called."""
    parent, _, name = address.rpartition("/")
    if not is_inside(name) or not f"{parent}/".endswith(f"/{directory}/"):
        raise _corrupt(source, f"it names {address}, which does not lie beside it")
    return f"{directory}/{name}"


def _read(files: Files, path: str, is_needed: bool) -> Iterator[Mapping[str, Any]]:
    """The records of a manifest list."""
    data = read_if_there(files, path)
    if data is None and is_needed:
        raise _missing(path)
    return _records(data, path, ("manifest_path",)) if data is not None else iter(())


def _records(data: bytes, path: str, fields: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    """The records of an Avro file, with these fields only: statistics would take most of the memory."""
    try:
        schema = _without_empty(schema_and_count(data)[0])
        yield from read_avro(data, writer_schema=schema, reader_schema=_only(schema, fields)).records
    # Bytes from outside: the decoder and its codecs fail in more ways than they document.
    except Exception as error:
        raise _corrupt(path, str(error) or type(error).__name__) from error


def _without_empty(schema: Any) -> Any:
    """A record's schema without fields that take no bytes: the partition of a table that has none."""
    if not isinstance(schema, dict) or schema.get("type") != "record":
        return schema
    fields = [{**each, "type": _without_empty(each["type"])} for each in schema["fields"]]
    return {**schema, "fields": [each for each in fields if _takes_bytes(each["type"])]}


def _takes_bytes(kind: Any) -> bool:
    return not (isinstance(kind, dict) and kind.get("type") == "record" and not kind["fields"])


def _only(schema: Any, fields: tuple[str, ...]) -> dict[str, Any]:
    """A record's schema with these fields alone; `a.b` is a field of the record in field `a`."""
    inner = {name.partition(".")[0]: name.partition(".")[2] for name in fields}
    kept = [
        {**each, "type": _only(each["type"], (below,))} if (below := inner[each["name"]]) else each
        for each in schema["fields"]
        if each["name"] in inner
    ]
    if len(kept) < len(inner):
        raise ValueError(f"it has no field {' and '.join(sorted(inner))}")
    return {**schema, "fields": kept}


def _corrupt(path: str, why: str) -> Corrupt:
    return Corrupt(f"{path} can't be read ({why})", REMEDY)


def _missing(path: str) -> FileMissing:
    error = FileMissing(path)
    error.hint = REMEDY
    return error

"""The files that a snapshot needs: lists, manifests, index files, statistics and data.

Files that only a changelog needs are left out: a tag does not keep them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from paimark.core.cancelling import check_cancelled
from paimark.core.errors import Corrupt, FileMissing, Refused
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.storage.paths import is_inside
from paimark.core.table.definition.kind_signs import is_on, leaves_out_new_files, postpones_buckets
from paimark.core.table.definition.kinds import POSTPONED, unseen_rows
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.joined_changelogs import file_name, file_path, is_joined
from paimark.core.table.manifests.manifests import (
    FileFacts,
    FileKey,
    ManifestEntry,
    ManifestMeta,
    read_facts,
    read_index_manifest,
    read_manifest_list,
    read_manifests,
)
from paimark.core.table.manifests.partitions import PartitionNames
from paimark.core.table.records import Snapshot, TableSchema

# Below a table: the file of a bucket, and of its index directory.
_IN_BUCKET = re.compile(
    r"(?!(?:branch|changelog|consumer|manifest|savepoint|schema|snapshot|statistics|tag)/)"
    r"(?:[^/]+/)*bucket-(?:\d+|postpone)/[^/]+",
    re.DOTALL,
)
_INDEX = re.compile(r"index/[^/]+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that a snapshot needs.

    `path` is relative to the warehouse, or an address if `is_outside`; `size` is bytes, None if no metadata
    records it. `kind`: manifest-list, manifest, manifest-extra, index-manifest, index, statistics, data,
    data-extra. `is_own`: it lies where the table stores such files; a manifest may name any file.
    """

    kind: str
    path: str
    size: int | None
    is_outside: bool = False
    is_own: bool = True


def data_manifests(files: Files, table: TablePath, snapshot: Snapshot) -> list[ManifestMeta]:
    """The manifests of a snapshot's data files, base before delta. Raises `FileMissing` and `Corrupt`."""
    return [meta for path in manifest_list_paths(table, snapshot) for meta in read_manifest_list(files, path)]


def manifest_list_paths(table: TablePath, snapshot: Snapshot) -> tuple[str, str]:
    """The base and the delta manifest list: together they hold the whole state."""
    return table.manifest(snapshot.base_manifest_list), table.manifest(snapshot.delta_manifest_list)


def delta_entries(files: Files, table: TablePath, snapshot: Snapshot) -> Iterator[ManifestEntry]:
    """The entries that the commit itself added. Raises `FileMissing` and `Corrupt`."""
    lists = read_manifest_list(files, table.manifest(snapshot.delta_manifest_list))
    return read_manifests(files, [table.manifest(each.file_name) for each in lists])


def delta_facts(files: Files, table: TablePath, snapshot: Snapshot) -> Iterator[FileFacts]:
    """The same as facts. Raises as `delta_entries`."""
    lists = read_manifest_list(files, table.manifest(snapshot.delta_manifest_list))
    sizes = {table.manifest(each.file_name): each.file_size for each in lists}
    return (each for _, each in read_facts(files, sizes))


def has_lists(files: Files, table: TablePath, snapshot: Snapshot) -> bool:
    """Whether its manifest lists exist. Every expiry deletes data before the lists, and the snapshot last.

    So if they outlive the snapshot, an expiry knew a tag of it, and spared all of its files.
    """
    return all(map(files.exists, manifest_list_paths(table, snapshot)))


def names_any(files: Files, table: TablePath, snapshot: Snapshot, names: Collection[str]) -> bool:
    """Whether its manifests name one of these data files, also in an entry that deletes it."""
    manifests = data_manifests(files, table, snapshot)
    sizes = {table.manifest(each.file_name): each.file_size for each in manifests}
    return any(each.name in names for _, each in read_facts(files, sizes))


def snapshot_facts(files: Files, table: TablePath, snapshot: Snapshot) -> Iterator[FileFacts]:
    """`live_facts` of a snapshot's data files. Raises as it does, and at once if a manifest list is gone."""
    return live_facts(files, table, data_manifests(files, table, snapshot))


def unseen_files(
    files: Files, table: TablePath, schema: TableSchema, snapshot: Snapshot
) -> Iterator[FileFacts]:
    """The files with rows that wait for a bucket, or for a level that readers look at."""
    postpones = postpones_buckets(schema)
    leaves_out = leaves_out_new_files(schema.options, schema.primary_keys)
    if not postpones and not leaves_out:
        return
    for each in snapshot_facts(files, table, snapshot):
        if (postpones and each.key.bucket == POSTPONED) or (leaves_out and each.key.level == 0):
            yield each


def require_seen(files: Files, table: TablePath, schema: TableSchema, snapshot: Snapshot) -> None:
    """Raises `Refused` if rows that readers do not see would be lost as others are written again."""
    if any(unseen_files(files, table, schema, snapshot)):
        raise Refused(*unseen_rows(table.full_name))


def live_entries(files: Files, table: TablePath, manifests: Iterable[ManifestMeta]) -> list[ManifestEntry]:
    """The entries that the manifests add and none of them deletes, as every reader of Paimon folds them."""
    added: list[ManifestEntry] = []
    deleted: set[tuple[str, FileKey]] = set()
    for entry in read_manifests(files, [table.manifest(meta.file_name) for meta in manifests]):
        if entry.is_added:
            added.append(entry)
        else:
            deleted.add(entry.facts.identity)
    if not deleted:
        return added
    return [entry for entry in added if entry.facts.identity not in deleted]


def live_facts(files: Files, table: TablePath, manifests: Iterable[ManifestMeta]) -> Iterator[FileFacts]:
    """As `live_entries`, but lazily and only the facts that counting needs: few of a million are in memory.

    It reads manifests with deletions twice. Raises `FileMissing` and `Corrupt`.
    """
    sizes: dict[str, int] = {}
    deleting: dict[str, int] = {}
    for meta in manifests:
        path = table.manifest(meta.file_name)
        sizes[path] = meta.file_size
        if meta.entries is None or meta.entries[1]:
            deleting[path] = meta.file_size
    deleted = {each.identity for _, each in read_facts(files, deleting) if not each.is_added}
    for path, each in read_facts(files, sizes):
        if not each.is_added and path not in deleting:
            raise Corrupt(f"{path} deletes {each.name}, and is said to delete nothing")
        if each.is_added and each.identity not in deleted:
            yield each


def size_of(files: Files, table: TablePath, snapshot: Snapshot) -> tuple[int, int]:
    """Records and bytes of a snapshot's data files. Raises `FileMissing` and `Corrupt`."""
    rows = size = 0
    for each in snapshot_facts(files, table, snapshot):
        rows, size = rows + each.rows, size + each.size
    return rows, size


@dataclass
class NeededNames:
    """Files by directory and name, to check that they exist: a tenth of the memory of `StoredFile`s.

    `outside` counts those outside the warehouse, which are not checked.
    """

    names: dict[str, set[str]]
    outside: int

    @property
    def count(self) -> int:
        return sum(map(len, self.names.values())) + self.outside


def needed_names(needed: Iterable[StoredFile]) -> NeededNames:
    """Group files by directory. Raises any error of the iterable."""
    counted = NeededNames(defaultdict(set), 0)
    for each in needed:
        if each.is_outside:
            counted.outside += 1
        else:
            directory, _, name = each.path.rpartition("/")
            counted.names[directory].add(name)
    return counted


def missing_files(files: Files, needed: Iterable[StoredFile]) -> list[str]:
    """The paths of missing files, sorted; one listing for each directory. Files outside are skipped."""
    return missing_names(files, needed_names(needed))


def missing_of(files: Files, root: Root, snapshot: Snapshot) -> list[str]:
    """The paths of a snapshot's missing files; if metadata is missing, only the first such file.

    Raises `Corrupt`, `NotFound` and `Refused` if the metadata doesn't determine its files.
    """
    try:
        return missing_files(files, each_needed_file(files, root, snapshot))
    except FileMissing as error:
        return [error.path]


def missing_names(files: Files, needed: NeededNames) -> list[str]:
    """As `missing_files`."""
    listings = each_of(files.names, needed.names)
    return sorted(
        f"{directory}/{name}"
        for (directory, names), present in zip(needed.names.items(), listings, strict=True)
        for name in names.difference(present)
    )


def each_needed_file(files: Files, root: Root, snapshot: Snapshot) -> Iterator[StoredFile]:
    """Every file that reading the snapshot can touch, lazily.

    Raises `FileMissing` and `Corrupt`; `Refused` if the metadata doesn't determine the directories.
    """
    table = root.table
    base, delta = manifest_list_paths(table, snapshot)
    yield StoredFile("manifest-list", base, snapshot.base_manifest_list_size)
    yield StoredFile("manifest-list", delta, snapshot.delta_manifest_list_size)
    manifests = data_manifests(files, table, snapshot)
    for meta in manifests:
        yield StoredFile("manifest", table.manifest(meta.file_name), meta.file_size)
        for extra in meta.extra_files:
            yield StoredFile("manifest-extra", table.manifest(extra), None)
    if snapshot.statistics:
        yield StoredFile("statistics", table.statistics_file(snapshot.statistics), None)
    places = FileLocations(files, root, snapshot.schema_id)
    if snapshot.index_manifest:
        path = table.manifest(snapshot.index_manifest)
        yield StoredFile("index-manifest", path, None)
        for index in read_index_manifest(files, path):
            yield places.index_at(index.name, index.size, index.key)
    for each in live_facts(files, table, manifests):
        yield from places.stored_at(each.name, each.size, each.key)


class FileLocations:
    """The paths of the files in a table's buckets. Raises `Refused` if the metadata can't determine them."""

    def __init__(self, files: Files, root: Root, schema_id: int) -> None:
        self._table = root.table
        self._warehouse = files.uri.rstrip("/")
        schema = schema_of(files, root, schema_id)
        self._names = PartitionNames(schema)
        self._index_beside_data = is_on(schema.options, "index-file-in-data-file-dir")
        self._subdirectory = schema.options.get("data-file.path-directory", "").strip("/")
        if ":" in self._subdirectory or ".." in self._subdirectory.split("/"):
            raise Refused(
                f"{root.table.full_name} keeps its data files outside its own directory",
                f"Its option data-file.path-directory is {self._subdirectory!r}, which is not supported.",
            )

    def address(self, facts: FileFacts) -> str:
        """The address of a data file, as engines take it. Raises `Corrupt`."""
        check_cancelled()
        key = facts.key
        path = self._in_bucket(self._names.path(key.partition), key.bucket, facts.name)
        return key.external_path or f"{self._warehouse}/{path}"

    def stored_at(self, name: str, size: int, key: FileKey) -> Iterator[StoredFile]:
        """The data file with this key and its side files, which lie beside it. Raises `Corrupt`."""
        if key.external_path:
            path, is_outside = self._located(key.external_path)
        else:
            path, is_outside = self._in_bucket(self._names.path(key.partition), key.bucket, name), False
        data = self._stored("data", path, None if is_joined(name) else size, is_outside)
        # Other references are found by a file's name, so a path with another name does not count as own.
        is_named_so = path.rpartition("/")[2] == file_name(name)
        yield data if is_named_so else replace(data, is_own=False)
        directory = path.rpartition("/")[0]
        for extra in key.extra_files:
            yield self._stored("data-extra", f"{directory}/{extra}", None, is_outside)

    def index_at(self, name: str, size: int, key: FileKey) -> StoredFile:
        """The index file with this key. Raises `Corrupt`."""
        if key.external_path:
            path, is_outside = self._located(key.external_path)
            return self._stored("index", path, size, is_outside)
        path = self._table.index_file(name)
        # Global indexes belong to no bucket and stay in the table's own index directory.
        if self._index_beside_data and key.extra_files[0] in ("DELETION_VECTORS", "HASH"):
            path = self._in_bucket(self._names.path(key.partition), key.bucket, name)
        return self._stored("index", path, size)

    def index_address(self, facts: FileFacts) -> str:
        """The address of an index file, as engines take it. Raises `Corrupt`."""
        stored = self.index_at(facts.name, facts.size, facts.key)
        return stored.path if stored.is_outside else f"{self._warehouse}/{stored.path}"

    def _stored(self, kind: str, path: str, size: int | None, is_outside: bool = False) -> StoredFile:
        return StoredFile(kind, path, size, is_outside, not is_outside and self._is_own(kind, path))

    def _is_own(self, kind: str, path: str) -> bool:
        """Whether a writer of this table would give a file of this kind such a path."""
        table, separator, below = path.partition(f"{self._table.directory}/")
        if table or not separator or not is_inside(path):
            return False
        is_index = kind == "index" and _INDEX.fullmatch(below) is not None
        return is_index or _IN_BUCKET.fullmatch(below) is not None

    def _in_bucket(self, partition: str, bucket: int, name: str) -> str:
        directory = "/".join(part for part in (self._subdirectory, partition) if part)
        return file_path(self._table.data_file(directory, bucket, name))

    def _located(self, address: str) -> tuple[str, bool]:
        """An address as a path relative to the warehouse; if it lies outside, the address itself and True."""
        for warehouse in (self._warehouse, f"file:{self._warehouse}", f"file://{self._warehouse}"):
            if address.startswith(warehouse + "/"):
                return file_path(address[len(warehouse) + 1 :]), False
        return file_path(address), True


def schema_of(files: Files, root: Root, schema_id: int) -> TableSchema:
    """The schema, or the root's newest if that one is missing. Raises `Corrupt`."""
    try:
        return TableSchema.from_path(files, root.schema(schema_id))
    except FileMissing as error:
        # Partition columns are the same in every schema, and stock engines copy too few to some branches.
        latest = Lineage(files, root).latest_schema()
        if latest is None:
            raise Corrupt(f"{root.directory} has no schema", "`paimark doctor` looks into it.") from error
        return latest

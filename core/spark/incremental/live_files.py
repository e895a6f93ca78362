"""The data files of a table, moved from one snapshot to another: files that both have are not built again.

A state is a set of manifests: it holds the files that these add and none of them deletes. To move between
two states, in either direction, only the manifests that are not in both are read.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from paimark.core.cancelling import check_cancelled
from paimark.core.errors import Corrupt, FileMissing
from paimark.core.spark.merging.model import MergeFile, MergeGroup, MergeRules
from paimark.core.spark.merging.rules import KeyReader, merge_file
from paimark.core.spark.merging.single_versions import overlap_groups
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.manifests.manifests import (
    FileKey,
    ManifestEntry,
    ManifestMeta,
    manifest_entries,
    read_in_batches,
)

_KEPT_TABLES = 8
_KEPT_FILES = 200_000
_KEPT_MANIFEST_BYTES = 128 << 20

Identity = tuple[str, FileKey]
Bucket = tuple[bytes, int]


class DataFile(Protocol):
    """A reader's own object for an entry. Equal entries must give equal objects."""

    @property
    def address(self) -> str: ...
    @property
    def file_format(self) -> str: ...
    @property
    def schema_id(self) -> int: ...
    @property
    def entry(self) -> ManifestEntry: ...


F = TypeVar("F", bound=DataFile)


class LiveFiles(Generic[F]):
    """The files of one state at a time. If `move` raised, the object is invalid and must be discarded."""

    def __init__(self) -> None:
        # By manifest: the files that it adds and those that it deletes.
        self._manifests: dict[ManifestId, tuple[list[Identity], list[Identity]]] = {}
        self._added: dict[Identity, tuple[int, ManifestEntry]] = {}
        self._deleted: Counter[Identity] = Counter()
        self._files: dict[Identity, F] = {}
        self._kinds: Counter[tuple[int, str]] = Counter()
        self._buckets: defaultdict[Bucket, dict[Identity, F]] = defaultdict(dict)
        self._merge_files: dict[Identity, MergeFile] = {}
        self._groups: dict[Bucket, tuple[MergeGroup, ...]] = {}
        self._rules: MergeRules | None = None
        self._changed: set[Bucket] = set()

    def __len__(self) -> int:
        return len(self._files)

    @property
    def files(self) -> tuple[F, ...]:
        return tuple(self._files.values())

    @property
    def kinds(self) -> set[tuple[int, str]]:
        """The schema id and the format of each file."""
        return set(self._kinds)

    def move(
        self,
        manifests: Iterable[ManifestId],
        read: Callable[[list[ManifestId]], Iterable[tuple[ManifestId, Entries]]],
        make: Callable[[ManifestEntry], F],
        only: Container[str] | None = None,
    ) -> None:
        """Move to the state of these manifests. With `only`, files of other names are left out.

        Raises what `read` and `make` raise, and `Corrupt` for a file that is added twice.
        """
        wanted = dict.fromkeys(manifests)
        touched: dict[Identity, None] = {}
        for manifest in [each for each in self._manifests if each not in wanted]:
            self._leave(manifest, touched)
        for manifest, entries in read([each for each in wanted if each not in self._manifests]):
            self._enter(manifest, entries, touched)
        for identity in touched:
            if only is None or identity[0] in only:
                self._settle(identity, make)

    def merged(self, rules: MergeRules) -> tuple[MergeGroup, ...]:
        """The groups of files that must be merged. Unchanged buckets keep their group objects.

        Raises `Corrupt` for a file whose keys can't be read.
        """
        keys = KeyReader(rules.key_types)
        if self._rules is not None and rules != self._rules:
            self._groups = {
                bucket: tuple(MergeGroup(rules, group.files) for group in groups)
                for bucket, groups in self._groups.items()
            }
        self._rules = rules
        while self._changed:
            bucket = next(iter(self._changed))
            files = [self._merge_file(keys, *each) for each in self._buckets.get(bucket, {}).items()]
            kept = {group.files: group for group in self._groups.pop(bucket, ())}
            groups = [kept.get(group.files, group) for group in overlap_groups(rules, files)]
            if must_merge := tuple(group for group in groups if group.must_merge):
                self._groups[bucket] = must_merge
            self._changed.discard(bucket)
        return tuple(group for groups in self._groups.values() for group in groups)

    def _leave(self, manifest: ManifestId, touched: dict[Identity, None]) -> None:
        added, deleted = self._manifests.pop(manifest)
        for identity in added:
            count, entry = self._added.pop(identity)
            if count > 1:
                self._added[identity] = count - 1, entry
        for identity in deleted:
            self._deleted[identity] -= 1
            if not self._deleted[identity]:
                del self._deleted[identity]
        touched.update(dict.fromkeys([*added, *deleted]))

    def _enter(self, manifest: ManifestId, entries: Entries, touched: dict[Identity, None]) -> None:
        added: list[Identity] = []
        deleted: list[Identity] = []
        for entry in entries:
            identity = entry.facts.identity
            if entry.is_added:
                self._added[identity] = self._added.get(identity, (0, entry))[0] + 1, entry
                added.append(identity)
            else:
                self._deleted[identity] += 1
                deleted.append(identity)
        self._manifests[manifest] = added, deleted
        touched.update(dict.fromkeys([*added, *deleted]))

    def _settle(self, identity: Identity, make: Callable[[ManifestEntry], F]) -> None:
        """Add, replace or remove the file, so that it matches its entries now."""
        check_cancelled()
        count, entry = self._added.get(identity, (0, None))
        if identity in self._deleted:
            entry = None
        elif count > 1:
            raise Corrupt(f"Data file {identity[0]} is added twice")
        before = self._files.get(identity)
        if before is not None and entry is not None and before.entry == entry:
            return
        bucket = identity[1].partition, identity[1].bucket
        if before is not None:
            del self._files[identity]
            del self._buckets[bucket][identity]
            self._merge_files.pop(identity, None)
            self._count(before, -1)
            self._changed.add(bucket)
        if not self._buckets[bucket]:
            del self._buckets[bucket]
        if entry is not None:
            self._files[identity] = self._buckets[bucket][identity] = made = make(entry)
            self._count(made, 1)
            self._changed.add(bucket)

    def _count(self, file: F, by: int) -> None:
        kind = file.schema_id, file.file_format
        self._kinds[kind] += by
        if not self._kinds[kind]:
            del self._kinds[kind]

    def _merge_file(self, keys: KeyReader, identity: Identity, file: F) -> MergeFile:
        made = self._merge_files.get(identity)
        if made is None:
            made = merge_file(keys, file.address, file.file_format, file.entry.file)
            self._merge_files[identity] = made
        return made


class KeptFiles(Generic[F]):
    """The files of the tables that were read last, and their manifests. For one thread.

    Besides the entries, files are built from a location, schemas and rules: the key of a table holds these.
    """

    def __init__(self) -> None:
        self._manifests = DecodedManifests(_KEPT_MANIFEST_BYTES)
        self._tables: OrderedDict[Hashable, LiveFiles[F]] = OrderedDict()

    def at(
        self,
        key: Hashable,
        files: Files,
        table: TablePath,
        manifests: Iterable[ManifestId],
        make: Callable[[ManifestEntry], F],
        only: Container[str] | None = None,
    ) -> LiveFiles[F]:
        """The table's files at a state, valid until the next call for the table. Raises as `LiveFiles.move`.

        With `only`, the result is not cached or shared.
        """
        # Removed while it moves, so that it is not used again if `move` raises.
        before = self._tables.pop(key, None) if only is None else None
        live = LiveFiles[F]() if before is None else before
        live.move(manifests, lambda wanted: self._manifests.read(files, table, wanted), make, only)
        if only is None:
            self._tables[key] = live
            while len(self._tables) > 1 and (
                len(self._tables) > _KEPT_TABLES or sum(map(len, self._tables.values())) > _KEPT_FILES
            ):
                self._tables.popitem(last=False)
        return live


# The measured size of an entry in memory, without the values of its statistics.
_ENTRY_BYTES = 1_800
# Fields of a file's record that no caller needs.
_UNUSED = ("_KEY_STATS", "_CREATION_TIME", "_FIRST_ROW_ID")

Entries = tuple[ManifestEntry, ...]


class ManifestId(NamedTuple):
    """A manifest of one table: two of these are equal only if the manifests have the same bytes.

    Writers give each manifest a unique name; the other fields come from its manifest list.
    """

    name: str
    size: int
    entries: tuple[int, int] | None
    schema_id: int

    @classmethod
    def of(cls, meta: ManifestMeta) -> ManifestId:
        return cls(meta.file_name, meta.file_size, meta.entries, meta.schema_id)


class DecodedManifests:
    """A least-recently-used cache of about `most_bytes` bytes at most. For one thread."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[tuple[str, str, ManifestId], tuple[Entries, int]] = OrderedDict()

    def read(
        self, files: Files, table: TablePath, manifests: Sequence[ManifestId]
    ) -> Iterator[tuple[ManifestId, Entries]]:
        """Each manifest with its entries, in any order. Raises `FileMissing` and `Corrupt`."""
        missing = {}
        for each in manifests:
            key = files.uri, table.directory, each
            if key in self._kept:
                self._kept.move_to_end(key)
                yield each, self._kept[key][0]
            else:
                missing[table.manifest(each.name)] = each
        for path, data in read_in_batches(files, {path: each.size for path, each in missing.items()}):
            check_cancelled()
            if data is None:
                raise FileMissing(path)
            entries = tuple(map(_without_unused, manifest_entries(data, path)))
            self._keep((files.uri, table.directory, missing[path]), entries)
            yield missing[path], entries

    def _keep(self, key: tuple[str, str, ManifestId], entries: Entries) -> None:
        weight = sum(map(_weight, entries))
        self._kept[key] = entries, weight
        self._bytes += weight
        while self._bytes > self._most:
            self._bytes -= self._kept.popitem(last=False)[1][1]


def _without_unused(entry: ManifestEntry) -> ManifestEntry:
    file = dict(entry.file)
    for name in _UNUSED:
        file.pop(name, None)
    return ManifestEntry({**entry.record, "_FILE": file})


def _weight(entry: ManifestEntry) -> int:
    statistics = entry.file.get("_VALUE_STATS") or {}
    return _ENTRY_BYTES + sum(map(len, filter(None, statistics.values())))

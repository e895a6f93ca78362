"""What references reach: their lists, manifests, index files and statistics, each read once.

Leaving references may have lost files already, and those that stay may not, unless they say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from core.actions.references import Leaving, Reference
from core.errors import FileMissing
from core.storage.files import Files
from core.table.files import Places, StoredFile, manifest_list_paths
from core.table.layout import TablePath
from core.table.manifests import (
    IndexEntry,
    ManifestEntry,
    ManifestMeta,
    read_index_manifest,
    read_manifest_list,
    read_manifests,
)
from core.table.records import Snapshot


@dataclass(frozen=True)
class State:
    """The manifests that together say what one reference holds. `total_rows` is before key merging."""

    name: str
    manifests: frozenset[str]
    total_rows: int | None


class Reader:
    """Lists and manifests, each read once. Every call raises `Corrupt`."""

    def __init__(self, files: Files, table: TablePath) -> None:
        self.files = files
        self.table = table
        self._lists: dict[str, list[ManifestMeta]] = {}
        self._manifests: dict[str, list[ManifestEntry]] = {}
        self._indexes: dict[str, list[IndexEntry]] = {}

    def metas(self, path: str) -> list[ManifestMeta]:
        """Raises `FileMissing`."""
        if path not in self._lists:
            self._lists[path] = read_manifest_list(self.files, path)
        return self._lists[path]

    def metas_there(self, path: str) -> list[ManifestMeta] | None:
        """None when the list is missing."""
        try:
            return self.metas(path)
        except FileMissing:
            return None

    def load(self, names: Iterable[str]) -> None:
        """Read many manifests at once. Raises `FileMissing`."""
        wanted = sorted(set(names) - self._manifests.keys())
        paths = [self.table.manifest(name) for name in wanted]
        for name, entries in zip(wanted, read_manifests(self.files, paths), strict=True):
            self._manifests[name] = entries

    def load_there(self, names: Iterable[str]) -> bool:
        """Read those that exist; whether all do."""
        wanted = sorted(names)
        try:
            self.load(wanted)
        except FileMissing:
            for name in wanted:
                with suppress(FileMissing):
                    self.load([name])
            return False
        return True

    def entries(self, names: Iterable[str]) -> Iterator[ManifestEntry]:
        """The entries of those that were read, one after the other."""
        return (entry for name in sorted(names) for entry in self._manifests.get(name, ()))

    def index_entries(self, name: str) -> list[IndexEntry]:
        """Raises `FileMissing`."""
        if name not in self._indexes:
            self._indexes[name] = read_index_manifest(self.files, self.table.manifest(name))
        return self._indexes[name]

    def index_entries_there(self, name: str) -> list[IndexEntry]:
        """None of a manifest that is missing."""
        try:
            return self.index_entries(name)
        except FileMissing:
            return []


class Reached:
    """What the leaving references reach.

    `starts` are whole states, one for each unbroken run of snapshots; `deltas` the manifests of what later
    snapshots of the runs added. `is_incomplete` when a list is missing.
    """

    def __init__(self, reader: Reader, leaving: Leaving) -> None:
        self._reader = reader
        self._leaving = leaving
        self._metas: dict[str, ManifestMeta] = {}
        self._changelog_metas: dict[str, ManifestMeta] = {}
        self.starts: list[State] = []
        self.deltas: set[str] = set()
        self.is_incomplete = False
        previous: int | None = None
        for record in leaving.records:
            self._add(record, is_start=previous is None or record.id != previous + 1)
            previous = record.id
        if not leaving.records and leaving.full_list:
            self.starts.append(State("", self._reach([leaving.full_list]), None))

    @property
    def manifests(self) -> set[str]:
        return {*self._metas, *self._changelog_metas}

    def places(self) -> Places:
        """Where the files lie."""
        return Places(self._reader.files, self._leaving.roots[0], self._leaving.schema_id)

    def manifest_files(self) -> Iterator[StoredFile]:
        """Manifests and their side files, index manifests and statistics."""
        table = self._reader.table
        for name, meta in {**self._metas, **self._changelog_metas}.items():
            yield StoredFile("manifest", table.manifest(name), meta.file_size)
            for extra in meta.extra_files:
                yield StoredFile("manifest-extra", table.manifest(extra), None)
        for name in self._index_manifests():
            yield StoredFile("index-manifest", table.manifest(name), None)
        for name in sorted({each.statistics for each in self._leaving.records if each.statistics}):
            yield StoredFile("statistics", table.statistics_file(name), None)

    def list_files(self) -> Iterator[StoredFile]:
        """Manifest lists, a savepoint's own last."""
        table = self._reader.table
        for record in self._leaving.records:
            base, delta = manifest_list_paths(table, record)
            yield StoredFile("manifest-list", base, record.base_manifest_list_size)
            yield StoredFile("manifest-list", delta, record.delta_manifest_list_size)
            if self._leaving.is_expiry and record.changelog_manifest_list:
                path = table.manifest(record.changelog_manifest_list)
                yield StoredFile("manifest-list", path, record.changelog_manifest_list_size)
        if self._leaving.full_list:
            yield StoredFile("manifest-list", self._leaving.full_list, None)

    def index_files(self, places: Places) -> Iterator[StoredFile]:
        for name in self._index_manifests():
            for entry in self._reader.index_entries_there(name):
                yield places.index(entry)

    def changelog_entries(self, kept: set[str]) -> Iterator[ManifestEntry]:
        """The files of the leaving changelogs, but for those in the manifests at the paths that are kept."""
        path = self._reader.table.manifest
        names = [name for name in self._changelog_metas if path(name) not in kept]
        self._reader.load_there(names)
        return (entry for entry in self._reader.entries(names) if entry.is_added)

    def _add(self, record: Snapshot, *, is_start: bool) -> None:
        table = self._reader.table
        base, delta = manifest_list_paths(table, record)
        state = self._reach([base, delta])
        if is_start:
            self.starts.append(State("", state, record.total_record_count))
        else:
            self.deltas |= self._reach([delta])
        if self._leaving.is_expiry and record.changelog_manifest_list:
            for meta in self._reader.metas_there(table.manifest(record.changelog_manifest_list)) or ():
                self._changelog_metas[meta.file_name] = meta

    def _reach(self, lists: Sequence[str]) -> frozenset[str]:
        found: set[str] = set()
        for path in lists:
            metas = self._reader.metas_there(path)
            if metas is None and self._leaving.full_list:
                # A savepoint's own list has them all.
                metas = self._reader.metas_there(self._leaving.full_list)
            self.is_incomplete |= metas is None
            for meta in metas or ():
                self._metas[meta.file_name] = meta
                found.add(meta.file_name)
        return frozenset(found)

    def _index_manifests(self) -> list[str]:
        return sorted({each.index_manifest for each in self._leaving.records if each.index_manifest})


class Kept:
    """What the references that stay reach. Raises `FileMissing` for one that has lost a file.

    `paths` are those of lists, manifests, index manifests and statistics; `index_names` of index files;
    `partial` the manifests of references that may have lost some.
    """

    def __init__(self, reader: Reader, references: Iterable[Reference]) -> None:
        self._reader = reader
        self.states: list[State] = []
        self.partial: dict[str, str] = {}
        self.paths: set[str] = set()
        self.index_names: set[str] = set()
        for each in references:
            if each.full_list is not None:
                self._hold_partial(each.name, each.full_list)
            elif each.record is not None:
                self._hold(each, each.record)

    def _hold(self, reference: Reference, record: Snapshot) -> None:
        table = self._reader.table
        lists = manifest_list_paths(table, record)
        if record.changelog_manifest_list and reference.keeps_changelog:
            path = table.manifest(record.changelog_manifest_list)
            # It may be missing where a branch began with a tag, which does not keep it.
            self._hold_list(path, self._reader.metas_there(path) or [])
        if reference.is_partial:
            for path in lists:
                self._hold_partial(reference.name, path)
        else:
            metas = [meta for path in lists for meta in self._hold_list(path, self._reader.metas(path))]
            names = frozenset(meta.file_name for meta in metas)
            self.states.append(State(reference.name, names, record.total_record_count))
        if record.statistics:
            self.paths.add(table.statistics_file(record.statistics))
        if record.index_manifest:
            self.paths.add(table.manifest(record.index_manifest))
            read = self._reader.index_entries_there if reference.is_partial else self._reader.index_entries
            self.index_names.update(entry.file_name for entry in read(record.index_manifest))

    def _hold_partial(self, name: str, path: str) -> None:
        for meta in self._hold_list(path, self._reader.metas_there(path) or []):
            self.partial[meta.file_name] = name

    def _hold_list(self, path: str, metas: list[ManifestMeta]) -> list[ManifestMeta]:
        manifest = self._reader.table.manifest
        self.paths.add(path)
        for meta in metas:
            self.paths.update((manifest(meta.file_name), *map(manifest, meta.extra_files)))
        return metas

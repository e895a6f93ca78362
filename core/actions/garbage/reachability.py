"""The metadata reachable from references: which references use each list, manifest and side file.

References are numbered states. The leaving ones come first: state 0 for everything that the later snapshots
of their runs added, and one state per unbroken run of snapshots for what its first snapshot holds. The
staying references follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from paimark.core.actions.context import with_progress
from paimark.core.actions.garbage.references import Reference, ToDelete
from paimark.core.errors import FileMissing
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.manifests.files import StoredFile, manifest_list_paths
from paimark.core.table.manifests.held_files import Runs, Uses
from paimark.core.table.manifests.manifests import ManifestMeta, manifest_facts
from paimark.core.table.records import Snapshot

Progress = Callable[[str], None]

ADDED_LATER = 0


class ManifestFacts(NamedTuple):
    """`size` in bytes. `may_delete`: the manifest deletes files, or no metadata says that it does not."""

    size: int
    may_delete: bool


class _List(NamedTuple):
    """A manifest list to read. `state`, if any, uses its manifests; `instead` contains them too."""

    path: str
    state: int | None
    may_lack: bool
    instead: str | None = None


class Metadata:
    """Metadata files that references use. `names` are the references' by state; those to delete have none.

    `manifests` are those of all references; `to_delete` the files to delete unless another reference uses
    them; `is_incomplete` is true when a list to delete is missing.
    """

    def __init__(self, files: Files, table: TablePath, to_delete: ToDelete, progress: Progress) -> None:
        """Raises `Corrupt` for a list that can't be read."""
        self._files = files
        self._table = table
        self._progress = progress
        self.uses = Uses()
        self.manifests: dict[str, ManifestFacts] = {}
        self.index_manifests: dict[str, None] = {}
        self.names: list[str] = []
        self.to_delete = _LeavingFiles()
        self.is_incomplete = False
        self._new_state("", keeps_deleted=True)
        self._add_to_delete(to_delete)
        self.first_staying = self.uses.count

    @property
    def runs(self) -> Runs:
        """The states of whole snapshots to delete: the first of each run."""
        return (ADDED_LATER + 1, self.first_staying)

    @property
    def going(self) -> Runs:
        """All states of the references to delete."""
        return (ADDED_LATER, self.first_staying)

    def add_staying(self, references: Sequence[Reference]) -> list[int]:
        """The numbers of their states. Raises `Corrupt`, and `FileMissing` for one that has lost a list."""
        numbers = [self._new_state(each.name, keeps_deleted=each.is_partial) for each in references]
        lists = [
            listed
            for number, each in zip(numbers, references, strict=True)
            for listed in self._lists_of(each, number)
        ]
        for manifest_list, metas in self._read(lists):
            assert manifest_list.state is not None
            for meta in metas or ():
                for path in self._noted(meta):
                    self.uses.use(manifest_list.state, path)
        for number, each in zip(numbers, references, strict=True):
            self._add_others(number, each.record)
        return numbers

    def _add_to_delete(self, to_delete: ToDelete) -> None:
        lists: list[_List] = []
        previous: int | None = None
        for record in to_delete.records:
            base, delta = manifest_list_paths(self._table, record)
            if previous is None or record.id != previous + 1:
                run = self._new_state("")
                lists += [_List(each, run, True, to_delete.full_list) for each in (base, delta)]
            else:
                lists += [
                    _List(base, None, True, to_delete.full_list),
                    _List(delta, ADDED_LATER, True, to_delete.full_list),
                ]
            previous = record.id
            self.to_delete.lists[base] = record.base_manifest_list_size
            self.to_delete.lists[delta] = record.delta_manifest_list_size
            if to_delete.is_expiry and record.changelog_manifest_list:
                path = self._table.manifest(record.changelog_manifest_list)
                lists.append(_List(path, ADDED_LATER, True))
                self.to_delete.lists[path] = record.changelog_manifest_list_size
            self.to_delete.others |= self._others_of(record)
        if to_delete.full_list:
            if not to_delete.records:
                lists.append(_List(to_delete.full_list, self._new_state(""), True))
            self.to_delete.lists[to_delete.full_list] = None
        for each, metas in self._read(lists):
            is_changelog = each.state == ADDED_LATER and each.instead is None
            self.is_incomplete |= metas is None and not is_changelog
            for meta in metas or ():
                path, *extras = self._noted(meta)
                self.to_delete.manifests[path] = meta.file_size
                if is_changelog:
                    self.to_delete.changelogs.add(path)
                self.to_delete.extras.update(dict.fromkeys(extras))
                if each.state is not None:
                    self.uses.use(each.state, path)
        for path, kind in self.to_delete.others.items():
            if kind == "index-manifest":
                self.index_manifests[path] = None
                self.uses.use(ADDED_LATER, path)

    def _lists_of(self, reference: Reference, number: int) -> Iterator[_List]:
        if reference.full_list is not None:
            yield self._used(_List(reference.full_list, number, True))
        elif reference.record is not None:
            for path in manifest_list_paths(self._table, reference.record):
                yield self._used(_List(path, number, reference.is_partial))
            changelog = reference.record.changelog_manifest_list
            if changelog and reference.keeps_changelog:
                # It may be missing if a branch began with a tag, which does not keep it.
                yield self._used(_List(self._table.manifest(changelog), number, True))

    def _used(self, manifest_list: _List) -> _List:
        assert manifest_list.state is not None
        self.uses.use(manifest_list.state, manifest_list.path)
        return manifest_list

    def _add_others(self, number: int, record: Snapshot | None) -> None:
        for path, kind in self._others_of(record).items() if record is not None else ():
            self.uses.use(number, path)
            if kind == "index-manifest":
                self.index_manifests[path] = None

    def _others_of(self, record: Snapshot) -> dict[str, str]:
        others = {}
        if record.index_manifest:
            others[self._table.manifest(record.index_manifest)] = "index-manifest"
        if record.statistics:
            others[self._table.statistics_file(record.statistics)] = "statistics"
        return others

    def _read(self, lists: Sequence[_List]) -> Iterator[tuple[_List, Iterable[ManifestMeta] | None]]:
        contents = self._files.read_many(each.path for each in lists)
        reading = with_progress(
            zip(lists, contents, strict=True), len(lists), "manifest lists", self._progress
        )
        for each, data in reading:
            path = each.path
            if data is None and each.instead is not None:
                path = each.instead
                [data] = self._files.read_many([path])
            if data is None and not each.may_lack:
                raise FileMissing(each.path)
            yield each, None if data is None else manifest_facts(data, path)

    def _noted(self, meta: ManifestMeta) -> list[str]:
        """The path of a manifest, and those of its side files."""
        path, *extras = (self._table.manifest(name) for name in (meta.file_name, *meta.extra_files))
        if path not in self.manifests:
            entries = meta.entries
            self.manifests[path] = ManifestFacts(meta.file_size, entries is None or entries[1] > 0)
        return [path, *extras]

    def _new_state(self, name: str, *, keeps_deleted: bool = False) -> int:
        self.names.append(name)
        return self.uses.new_state(keeps_deleted=keeps_deleted)


class _LeavingFiles:
    """The files of the references to delete, by path: sizes in bytes, None if unknown; in `others` the kind.

    `changelogs` are the manifests that name changelog files.
    """

    def __init__(self) -> None:
        self.lists: dict[str, int | None] = {}
        self.manifests: dict[str, int] = {}
        self.changelogs: set[str] = set()
        self.extras: dict[str, None] = {}
        self.others: dict[str, str] = {}

    def manifest_files(self) -> Iterator[StoredFile]:
        """Manifests and their side files, index manifests and statistics."""
        yield from (StoredFile("manifest", path, size) for path, size in self.manifests.items())
        yield from (StoredFile("manifest-extra", path, None) for path in self.extras)
        yield from (StoredFile(kind, path, None) for path, kind in sorted(self.others.items()))

    def list_files(self) -> Iterator[StoredFile]:
        """Manifest lists, a savepoint's own last."""
        yield from (StoredFile("manifest-list", path, size) for path, size in self.lists.items())

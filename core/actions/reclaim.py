"""Reference counting: the files that leaving references alone keep.

What the leaving ones reach, less what the deciding others reach. Manifests that all of them share are not
read: in Paimon's format a file is added once and deleted once, so that what all share differs in nothing, and
of a file that one of them deletes from a shared manifest the deletion, which is read, says all. The record
counts of the snapshots must agree with the difference so found; else, and where anything of the leaving ones
is missing, every manifest is read. Files are told apart by name alone, which errs towards keeping.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from core.actions.reach import Kept, Reached, Reader, State
from core.actions.references import Leaving, surviving
from core.errors import Corrupt, FileMissing, Refused
from core.storage.files import Files
from core.table.files import StoredFile
from core.table.layout import TablePath
from core.table.manifests import ManifestEntry

_ATTEMPTS = 3


@dataclass(frozen=True)
class Freed:
    """The files that go, in the order they go. `keepers` are the references that need what is shared.

    `strangers` are the paths of files that were named and are not the table's own: they stay.
    """

    data: tuple[StoredFile, ...] = ()
    manifests: tuple[StoredFile, ...] = ()
    lists: tuple[StoredFile, ...] = ()
    keepers: tuple[str, ...] = ()
    strangers: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[StoredFile, ...]:
        return self.data + self.manifests + self.lists

    def __add__(self, other: Freed) -> Freed:
        return Freed(
            self.data + other.data,
            self.manifests + other.manifests,
            self.lists + other.lists,
            tuple(dict.fromkeys(self.keepers + other.keepers)),
            self.strangers + other.strangers,
        )


def freed_by(files: Files, table: TablePath, leaving: Leaving, *, with_data: bool = True) -> Freed:
    """Every file that only the leaving references keep, with its size; files that are gone are left out.

    Without data, manifests of the leaving ones may be gone. Raises `Refused` when anything that may keep
    files can't be read.
    """
    for _ in range(_ATTEMPTS):
        try:
            try:
                return _count(files, table, leaving, with_data=with_data)
            except _Incomplete:
                # What is missing may have told that a file went long ago: no neighbour decides any more.
                return _count(files, table, leaving, with_data=with_data, everything=True)
        except Corrupt as error:
            raise _untold(table, error.message) from error
        except FileMissing as error:
            # It may have gone with a reference that another process expired since it was listed.
            missing = error
    raise _untold(table, missing.message) from missing


def _untold(table: TablePath, why: str) -> Refused:
    return Refused(
        f"What keeps the files of {table.full_name} can't be told: {why}",
        "Nothing is deleted while that is so: repair what needs it, or delete that first.",
    )


class _Incomplete(Exception):
    """Lists or manifests of the leaving references are missing."""


def _count(
    files: Files, table: TablePath, leaving: Leaving, *, with_data: bool, everything: bool = False
) -> Freed:
    survivors = surviving(files, table, leaving, everything=everything)
    reader = Reader(files, table)
    reached, kept = Reached(reader, leaving), Kept(reader, survivors)
    data: dict[str, StoredFile] = {}
    touched: set[str] = set()
    if with_data:
        places = reached.places()
        difference = _Difference(reader, reached, kept, everything=everything)
        for entry in [*difference.entries(), *reached.changelog_entries(kept.paths)]:
            data.update((each.path, each) for each in places.stored(places.data_file(entry)))
        for each in reached.index_files(places):
            if each.path.rpartition("/")[2] not in kept.index_names:
                data[each.path] = each
        touched = difference.touched
    shared = {state.name for state in kept.states if state.manifests & reached.manifests} | touched
    shared |= {name for manifest, name in kept.partial.items() if manifest in reached.manifests}
    return Freed(
        tuple(_sized(files, (each for each in data.values() if each.is_own))),
        tuple(_sized(files, (each for each in reached.manifest_files() if each.path not in kept.paths))),
        tuple(_sized(files, (each for each in reached.list_files() if each.path not in kept.paths))),
        tuple(dict.fromkeys(each.name for each in survivors if each.name in shared)),
        tuple(sorted(each.path for each in data.values() if not each.is_own)),
    )


def _sized(files: Files, found: Iterable[StoredFile]) -> Iterator[StoredFile]:
    for each in {each.path: each for each in found}.values():
        size = each.size if each.size is not None else files.size(each.path)
        if size is not None:
            yield replace(each, size=size)


@dataclass
class _Fold:
    """The files that some manifests of a state add and delete, by identity."""

    added: dict[tuple[object, ...], ManifestEntry] = field(default_factory=dict)
    deleted: dict[tuple[object, ...], ManifestEntry] = field(default_factory=dict)

    def live(self, shared: dict[tuple[object, ...], ManifestEntry]) -> list[ManifestEntry]:
        """What is there in the end, of its own files and of the shared ones that anybody speaks of."""
        return [entry for each, entry in (shared | self.added).items() if each not in self.deleted]


class _Difference:
    """The data files that the leaving states hold and no other does. `touched` are who holds some of them."""

    def __init__(self, reader: Reader, reached: Reached, kept: Kept, *, everything: bool) -> None:
        self._reader = reader
        self._reached = reached
        self._kept = kept
        self._everything = everything
        self.touched: set[str] = set()
        if reached.is_incomplete and not everything:
            raise _Incomplete

    def entries(self) -> list[ManifestEntry]:
        shared = self._shared_manifests()
        found = self._subtracted(shared)
        if found is None:
            found = self._subtracted(frozenset()) or {}
        return list(found.values())

    def _shared_manifests(self) -> frozenset[str]:
        states = [*self._reached.starts, *self._kept.states]
        can_skip = not self._everything and self._kept.states and not self._kept.partial
        if not can_skip or any(state.total_rows is None for state in states):
            return frozenset()
        return frozenset.intersection(*(state.manifests for state in states))

    def _subtracted(self, shared: frozenset[str]) -> dict[str, ManifestEntry] | None:
        """Entries by file name; None when the record counts say that the shared manifests must be read."""
        self._load(shared)
        starts = [self._fold(state, shared) for state in self._reached.starts]
        stays = [self._fold(state, shared) for state in self._kept.states]
        spoken_of = {}
        if shared:
            for fold in [*starts, *stays]:
                spoken_of.update({k: entry for k, entry in fold.deleted.items() if k not in fold.added})
        leaving, others = ([fold.live(spoken_of) for fold in folds] for folds in (starts, stays))
        if shared and not self._agree(leaving, others):
            return None
        found = {_name(entry): entry for live in leaving for entry in live}
        deltas = self._reader.entries(self._reached.deltas)
        found.update((_name(entry), entry) for entry in deltas if entry.is_added)
        for state, live in zip(self._kept.states, others, strict=True):
            self._keep(found, live, state.name)
        for manifest, name in self._kept.partial.items():
            self._keep(found, (e for e in self._reader.entries([manifest]) if e.is_added), name)
        return found

    def _keep(self, found: dict[str, ManifestEntry], held: Iterable[ManifestEntry], holder: str) -> None:
        for entry in held:
            if found.pop(_name(entry), None) is not None:
                self.touched.add(holder)

    def _load(self, shared: frozenset[str]) -> None:
        self._reader.load({name for state in self._kept.states for name in state.manifests} - shared)
        self._reader.load_there(self._kept.partial)
        wanted = self._reached.deltas.union(*(state.manifests for state in self._reached.starts)) - shared
        if not self._reader.load_there(wanted) and not self._everything:
            raise _Incomplete

    def _fold(self, state: State, shared: frozenset[str]) -> _Fold:
        fold = _Fold()
        for entry in self._reader.entries(state.manifests - shared):
            (fold.added if entry.is_added else fold.deleted)[entry.identity] = entry
        return fold

    def _agree(
        self, leaving: Sequence[Sequence[ManifestEntry]], others: Sequence[Sequence[ManifestEntry]]
    ) -> bool:
        """Whether the states differ by as many rows as their snapshots say."""
        states = [*self._reached.starts, *self._kept.states]
        rows = [sum(int(entry.file["_ROW_COUNT"]) for entry in live) for live in [*leaving, *others]]
        # What they share and was not read: the same for all.
        return len({(state.total_rows or 0) - read for state, read in zip(states, rows, strict=True)}) == 1


def _name(entry: ManifestEntry) -> str:
    return str(entry.file["_FILE_NAME"])

"""Count the files that deleting references would free, and keep the count up to date.

Most manifests are shared, and most shared ones need not be read. Suppose that every unbroken run of the
leaving references held a manifest from its first snapshot, that a staying reference holds it too, and that it
deletes nothing. A file that it adds is in none of their other manifests; so the file stays, unless that
staying reference deletes it. All deletions are read. If one names a file whose addition was not read, the
shared manifests that may add the file and whose other users all delete it are read too. If none of them adds
it, a staying reference holds the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from paimark.core.actions.context import with_progress
from paimark.core.actions.garbage.reachability import Metadata, Progress
from paimark.core.actions.garbage.references import Reference, ToDelete
from paimark.core.errors import FileMissing
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import TablePath
from paimark.core.table.manifests.files import FileLocations, StoredFile
from paimark.core.table.manifests.held_files import (
    FileStates,
    Fold,
    Runs,
    add,
    both,
    meet,
    members,
    minus,
    union,
)
from paimark.core.table.manifests.iceberg import needed_files
from paimark.core.table.manifests.joined_changelogs import file_name, is_joined
from paimark.core.table.manifests.manifests import file_facts, index_facts, read_in_batches
from paimark.core.table.records import commit_key


@dataclass(frozen=True)
class Freed:
    """The files to delete, in order of deletion. `keepers` are the references that need the shared files.

    `strangers` are paths that manifests name outside the table's own files: they stay. `twin` names a
    reference that keeps the same snapshot as the one that leaves; empty for none, or if only a statement that
    reads does, as `is_read` says. `for_iceberg` counts files that stay because Iceberg metadata of the table
    names them.
    """

    data: tuple[StoredFile, ...] = ()
    manifests: tuple[StoredFile, ...] = ()
    lists: tuple[StoredFile, ...] = ()
    keepers: tuple[str, ...] = ()
    strangers: tuple[str, ...] = ()
    twin: str = ""
    is_read: bool = False
    for_iceberg: int = 0

    @property
    def files(self) -> tuple[StoredFile, ...]:
        return self.data + self.manifests + self.lists

    @property
    def size(self) -> int:
        return sum(each.size or 0 for each in self.files)

    def __add__(self, other: Freed) -> Freed:
        return Freed(
            self.data + other.data,
            self.manifests + other.manifests,
            self.lists + other.lists,
            tuple(dict.fromkeys(self.keepers + other.keepers)),
            self.strangers + other.strangers,
            for_iceberg=self.for_iceberg + other.for_iceberg,
        )


class Incomplete(Exception):
    """Lists or manifests of the references to delete are missing."""


class Tally:
    """Counts the files to free. `everything`: `references` are all there are, and no manifest is skipped.

    Raises `Corrupt`, `FileMissing` if a staying reference has lost a file, and `Incomplete`.
    """

    def __init__(
        self,
        files: Files,
        table: TablePath,
        to_delete: ToDelete,
        references: Sequence[Reference],
        progress: Progress,
        *,
        with_data: bool,
        everything: bool,
    ) -> None:
        self.everything = everything
        self._files = files
        self._table = table
        self._to_delete = to_delete
        self._progress = progress
        self._with_data = with_data
        self._metadata = Metadata(files, table, to_delete, progress)
        self._states: dict[tuple[object, ...], int] = {}
        self._staying: Runs = ()
        self._data, self._indexes = Fold(self._metadata.uses), Fold(self._metadata.uses)
        self._sizes: dict[str, int | None] = {}
        self._known: set[str] = set()
        self._skips = False
        self._add(references)
        if with_data:
            if self._metadata.is_incomplete and not everything:
                raise Incomplete
            skipped = set() if everything else set(self._shared())
            self._known |= skipped
            self._skips = bool(skipped)
            self._read_to_delete()
            self._expect_deleted(skipped)
            self._read_staying()
            self._read_shared(skipped)
            self._read_indexes()

    def has_lost(self, references: Sequence[Reference]) -> bool:
        """Whether a counted reference is no longer among these."""
        return not self._states.keys() <= {_key(each) for each in references}

    def follow(self, references: Sequence[Reference]) -> bool:
        """Count the new ones of these references; return whether there are any. On errors the count stays."""
        new = [each for each in references if _key(each) not in self._states]
        if not new:
            return False
        before = dict(self._states)
        try:
            self._add(new)
            if self._with_data:
                self._read_staying()
                self._read_indexes()
        except BaseException:
            # The manifests read meanwhile may stay in the count: they never change.
            self._states = before
            self._stay()
            raise
        finally:
            self._data.forget_states()
            self._indexes.forget_states()
        return True

    def freed(self) -> Freed:
        """The files to delete."""
        data: dict[str, StoredFile] = {}
        to_delete, uses = self._metadata.to_delete, self._metadata.uses
        keeping = [both(uses.users(path), self._staying) for path in to_delete.manifests]
        if self._with_data:
            places = FileLocations(self._files, self._to_delete.roots[0], self._to_delete.schema_id)
            data = {each.path: each for each in self._freed_data(places, keeping)}
            data |= {each.path: each for each in self._freed_indexes(places)}
        for_iceberg = self._needed_by_iceberg(data)
        return Freed(
            self._sized(each for path, each in data.items() if each.is_own and path not in for_iceberg),
            self._sized(each for each in to_delete.manifest_files() if self._is_free(each.path)),
            self._sized(each for each in to_delete.list_files() if self._is_free(each.path)),
            tuple(dict.fromkeys(self._metadata.names[each] for each in members(union(keeping)))),
            tuple(sorted(each.path for each in data.values() if not each.is_own)),
            for_iceberg=len(for_iceberg),
        )

    def _needed_by_iceberg(self, data: Mapping[str, StoredFile]) -> set[str]:
        """The paths of those that Iceberg metadata names: only stock commits move it on."""
        if not data:
            return set()
        # Few tables have such metadata, and the names of a large count take memory.
        names = cache(lambda: {path.rpartition("/")[2] for path in data})
        found = needed_files(self._files, self._table, lambda address: address.rpartition("/")[2] in names())
        return {path for path in data if path.rpartition("/")[2] in found.needed}

    def _add(self, references: Sequence[Reference]) -> None:
        numbers = self._metadata.add_staying(references)
        self._states.update(zip(map(_key, references), numbers, strict=True))
        self._stay()

    def _stay(self) -> None:
        staying: list[int] = []
        for each in sorted(self._states.values()):
            add(staying, each)
        self._staying = staying

    def _shared(self) -> Iterator[str]:
        """The manifests that need not be read, unless a deletion names one of their files."""
        runs = self._metadata.runs
        for path, facts in self._metadata.manifests.items():
            users = self._metadata.uses.users(path)
            if not facts.may_delete and not minus(runs, users) and meet(users, self._staying):
                yield path

    def _read_to_delete(self) -> None:
        uses, to_delete = self._metadata.uses, self._metadata.to_delete
        going = self._metadata.going
        wanted = self._unknown(path for path in to_delete.manifests if meet(uses.users(path), going))
        for path, data in self._contents(wanted):
            if data is not None:
                self._data.take(path, file_facts(data, path))
            elif not self.everything and path not in to_delete.changelogs:
                raise Incomplete
            else:
                self._require_lost_by_all(path)

    def _expect_deleted(self, skipped: set[str]) -> None:
        """Collect the names of deleted files before the count: a manifest read earlier may add them."""
        if not skipped:
            return
        deleting = self._unknown(p for p, facts in self._metadata.manifests.items() if facts.may_delete)
        for path, data in self._contents(deleting):
            if data is not None:
                self._data.expect(each.name for each in file_facts(data, path) if not each.is_added)
        self._known -= deleting.keys()

    def _read_staying(self) -> None:
        """Read which of the leaving files other references hold or delete; other files are not remembered."""
        self._take(self._unknown(self._metadata.manifests))

    def _read_shared(self, skipped: set[str]) -> None:
        """Read the shared manifests that may add files which all their other users delete."""
        fates = {file.fate for file in self._data.files.values()}
        unexplained = {tuple(each.deleted) for fate in fates for each in self._unexplained(fate)}
        wanted = [
            path for path in skipped if any(not minus(self._users(path), deleted) for deleted in unexplained)
        ]
        self._known.difference_update(wanted)
        self._take(self._unknown(wanted))

    def _unexplained(self, fate: int) -> Iterator[FileStates]:
        """Deletions of files with this fate whose addition appears in no leaving reference.

        They matter if a leaving reference may hold the file, or holds it at another level that would go.
        """
        going, states = self._metadata.going, self._data.states_of(fate).values()
        may_go = any(meet(each.holding, going) for each in states)
        if any(meet(each.holding, self._staying) for each in states):
            return
        for each in states:
            is_seen = not each.deleting or meet(each.added, going)
            if not is_seen and (may_go or minus(self._metadata.runs, each.deleted)):
                yield each

    def _read_indexes(self) -> None:
        wanted = {path: 0 for path in self._metadata.index_manifests if path not in self._known}
        to_delete = self._metadata.to_delete.others
        leaving_first = dict(sorted(wanted.items(), key=lambda each: each[0] not in to_delete))
        for path, data in self._contents(leaving_first):
            if data is not None:
                self._indexes.take(path, index_facts(data, path), added=path in to_delete)
            else:
                self._require_lost_by_all(path)

    def _take(self, wanted: Mapping[str, int]) -> None:
        for path, data in self._contents(wanted):
            if data is None:
                self._require_lost_by_all(path)
            else:
                self._data.take(path, file_facts(data, path), added=False, deleted=False)

    def _unknown(self, paths: Iterable[str]) -> dict[str, int]:
        """The sizes of those that were not read yet."""
        return {path: self._metadata.manifests[path].size for path in paths if path not in self._known}

    def _contents(self, wanted: Mapping[str, int]) -> Iterator[tuple[str, bytes | None]]:
        reading = read_in_batches(self._files, wanted)
        for path, data in with_progress(reading, len(wanted), "manifests", self._progress):
            yield path, data
            # Known only after the caller has counted it.
            self._known.add(path)

    def _require_lost_by_all(self, path: str) -> None:
        """Raises `FileMissing` unless no reference needs the file, apart from partial ones."""
        if minus(self._users(path), self._metadata.uses.keeping):
            raise FileMissing(path)

    def _users(self, path: str) -> Runs:
        return both(self._metadata.uses.users(path), self._staying)

    def _is_free(self, path: str) -> bool:
        return not meet(self._metadata.uses.users(path), self._staying)

    def _freed_data(self, places: FileLocations, keeping: list[Runs]) -> Iterator[StoredFile]:
        """The data files to delete; the states that hold other files are appended to `keeping`."""
        going = self._metadata.going
        free: dict[int, list[int]] = {}
        # A joined changelog has several names, and goes with the last of them.
        needed: set[str] = set()
        ranges: list[tuple[str, StoredFile]] = []
        for name, file in self._data.files.items():
            keys = free.get(file.fate)
            if keys is None:
                states = self._data.states_of(file.fate)
                keys = free[file.fate] = [key for key, each in states.items() if meet(each.holding, going)]
                others = [both(each.holding, self._staying) for each in states.values()]
                if keys and (any(others) or any(map(self._is_in_shared, states.values()))):
                    keeping += others
                    keys.clear()
            stored = (
                each
                for number in keys
                for each in places.stored_at(name, file.size, self._data.key(name, file, number))
            )
            if not is_joined(name):
                yield from stored
            elif keys:
                ranges += ((file_name(name), each) for each in stored)
            else:
                needed.add(file_name(name))
        yield from (each for name, each in ranges if name not in needed)

    def _is_in_shared(self, states: FileStates) -> bool:
        """Whether leaving references delete a file, and none of the manifests read adds it there.

        Then a manifest that was not read adds it: one whose other users do not all delete the file.
        """
        going = self._metadata.going
        return self._skips and meet(states.deleting, going) and not meet(states.added, going)

    def _freed_indexes(self, places: FileLocations) -> Iterator[StoredFile]:
        for name, file in self._indexes.files.items():
            held = dict(self._indexes.holders(name, file))
            if not any(meet(states, self._staying) for states in held.values()):
                yield from (places.index_at(name, file.size, key) for key in held)

    def _sized(self, named: Iterable[StoredFile]) -> tuple[StoredFile, ...]:
        """The files with their sizes; a file that no metadata describes and that is gone is left out."""
        files = list(named)
        unknown = [each.path for each in files if each.size is None and each.path not in self._sizes]
        self._sizes.update(zip(unknown, each_of(self._files.size, unknown), strict=True))
        sized = (
            each if each.size is not None else replace(each, size=self._sizes[each.path]) for each in files
        )
        return tuple(each for each in sized if each.size is not None)


def _key(reference: Reference) -> tuple[object, ...]:
    """A key that is equal for references that keep the same files."""
    record = commit_key(reference.record) if reference.record is not None else (reference.full_list,)
    return (*record, reference.is_partial, reference.keeps_changelog)

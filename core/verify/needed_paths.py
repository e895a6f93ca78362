"""The paths of all needed files, by directory, so that one listing of each shows the missing ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from paimark.core.errors import Corrupt, FileMissing, NotFound, Refused
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.manifests.files import FileLocations, StoredFile
from paimark.core.table.manifests.held_files import Fold, FoldedFile, Runs, members, union
from paimark.core.table.manifests.iceberg import IcebergFiles, needed_files
from paimark.core.table.manifests.manifests import FileKey
from paimark.core.table.manifests.partitions import WritersPath
from paimark.core.verify.needed_files import NeededState, TableNeeds


class NeededFile(NamedTuple):
    """`size` in bytes, None if no metadata records it; `users` are the states that need it."""

    size: int | None
    users: Runs


class SampleFile(NamedTuple):
    """A data file to be read. `root` has the schema of its writer; `users` are the states that hold it."""

    path: str
    rows: int
    level: int
    schema_id: int
    root: Root
    users: Runs


@dataclass
class Located:
    """`files` by directory and name. `schemas`: by schema, the states that hold data files written with it.

    `unseen` counts files that lie outside the table's own directories; `unplaced` has the errors for files
    whose directories can't be determined. `anywhere` has by name those whose directories only their writers
    know: they are looked for in all of the table's.
    """

    files: dict[str, dict[str, NeededFile]] = field(default_factory=lambda: defaultdict(dict))
    schemas: dict[int, Runs] = field(default_factory=dict)
    sample: list[SampleFile] = field(default_factory=list)
    unseen: int = 0
    unplaced: set[str] = field(default_factory=set)
    anywhere: dict[str, NeededFile] = field(default_factory=dict)

    def take(self, directory: str, name: str) -> NeededFile | None:
        """The need for a file that is there, which is then no longer looked for."""
        wanted = self.files[directory].pop(name, None) if directory in self.files else None
        return wanted or self.anywhere.pop(name, None)

    def add(self, path: str, size: int | None, users: Runs) -> None:
        directory, _, name = path.rpartition("/")
        known = self.files[directory].get(name)
        if known is not None:
            size, users = known.size if size is None else size, union([known.users, users])
        self.files[directory][name] = NeededFile(size, users)

    def add_stored(self, each: StoredFile, users: Runs) -> None:
        if each.is_own:
            self.add(each.path, each.size, users)
        else:
            self.unseen += 1


def locate(
    files: Files,
    needs: TableNeeds,
    is_sampled: Callable[[str], bool] = lambda name: False,
    count_file: Callable[[int, FileKey, Runs], None] = lambda size, key, users: None,
) -> Located:
    """It empties the folds, so that each file is in memory once. `is_sampled` selects by name the files to
    read; `count_file` gets the size in bytes, the key and the states of each data file."""
    located = Located()
    for path, size in needs.sizes.items():
        located.add(path, size, needs.uses.users(path))
    directories = _PlacesOf(files, needs.states)
    by_schema: dict[int, dict[int, Runs]] = defaultdict(dict)
    for name, file, key, users in _drained(needs.data):
        by_schema[file.schema_id][file.fate] = users
        count_file(file.size, key, users)
        _add_data(located, directories, name, file, key, users, is_sampled=is_sampled(name))
    for name, file, key, users in _drained(needs.indexes):
        try:
            located.add_stored(directories.of(users).index_at(name, file.size, key), users)
        except WritersPath:
            located.anywhere[name] = NeededFile(file.size, users)
        except (Corrupt, NotFound, Refused) as error:
            located.unplaced.add(error.message)
    located.schemas = {number: union([*fates.values()]) for number, fates in by_schema.items()}
    return located


def iceberg_files(files: Files, table: TablePath, located: Located) -> tuple[IcebergFiles, tuple[str, ...]]:
    """What Iceberg readers need that no version does; empty, with a warning, if it can't be read."""

    def is_unneeded(address: str) -> bool:
        _, _, below = address.rpartition(f"/{table.directory}/")
        directory, _, name = f"{table.directory}/{below}".rpartition("/")
        return name not in located.files.get(directory, {}) and name not in located.anywhere

    try:
        return needed_files(files, table, is_unneeded), ()
    except (Corrupt, FileMissing) as error:
        return IcebergFiles(), (f"What Iceberg readers need can't be told: {error.message}",)


def _add_data(
    located: Located,
    directories: _PlacesOf,
    name: str,
    file: FoldedFile,
    key: FileKey,
    users: Runs,
    *,
    is_sampled: bool,
) -> None:
    try:
        data, *sides = directories.of(users).stored_at(name, file.size, key)
    except WritersPath:
        if key.external_path:
            located.unseen += 1
        else:
            located.anywhere[name] = NeededFile(file.size, users)
            located.anywhere.update((each, NeededFile(None, users)) for each in key.extra_files)
        return
    except (Corrupt, NotFound, Refused) as error:
        located.unplaced.add(error.message)
        return
    for each in (data, *sides):
        located.add_stored(each, users)
    if is_sampled and data.is_own:
        root = directories.root_of(users)
        located.sample.append(SampleFile(data.path, file.rows, key.level, file.schema_id, root, users))


def _drained(fold: Fold) -> Iterator[tuple[str, FoldedFile, FileKey, Runs]]:
    while fold.files:
        name, file = fold.files.popitem()
        for key, users in fold.holders(name, file):
            yield name, file, key, users


class _PlacesOf:
    """The paths of a state's files, by the schema of one of its versions."""

    def __init__(self, files: Files, states: list[NeededState]) -> None:
        self._files = files
        self._states = states
        self._known: dict[tuple[Root, int], FileLocations] = {}

    def root_of(self, users: Runs) -> Root:
        return self._states[next(members(users))].versions[0].schemas

    def of(self, users: Runs) -> FileLocations:
        """Raises `Corrupt`, `NotFound` and `Refused`."""
        version = self._states[next(members(users))].versions[0]
        at = version.schemas, version.schema_id
        if at not in self._known:
            self._known[at] = FileLocations(self._files, *at)
        return self._known[at]

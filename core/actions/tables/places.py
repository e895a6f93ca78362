"""A table's files on an object store, listed in parallel, and the two places of one that is moved there.

They are listed a directory at a time. Of two places it is told what both have, and what only one has.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from paimark.core.actions.change.journal import Hold
from paimark.core.errors import FileMissing
from paimark.core.storage.files import DirectoryEntry, Files, written_at
from paimark.core.storage.open import moves_directories
from paimark.core.storage.parallel import each_of
from paimark.core.storage.paths import is_entered, is_inside
from paimark.core.storage.paths import walked as directories
from paimark.core.table.layout import TablePath
from paimark.core.table.names import OF_A_CHANGE

COPIED = "the files are copied"
_JOURNAL = re.compile(rf"branch/(?:ACTION|{OF_A_CHANGE})")
SCHEMAS = "schema"
_OF_SCHEMAS = re.compile(rf"(?:branch/branch-[^/]+/)?{SCHEMAS}")


class Copied(msgspec.Struct, frozen=True):
    """The id of main's newest schema, whose copy is the commit."""

    schema: int


@dataclass
class Places:
    """The old place and the new one. One of them has the lock, and the other a copy of it."""

    hold: Hold
    source: TablePath
    to: TablePath

    @property
    def _files(self) -> Files:
        return self.hold.context.files

    @property
    def _copied(self) -> Copied:
        copied = self.hold.journaled.noted(COPIED, Copied)
        assert copied is not None, "it is noted before the commit"
        return copied

    @property
    def _copied_at(self) -> int:
        """When the copy was whole, by the store's clock."""
        number = next(
            number for number, each in enumerate(self.hold.journaled.entries, 1) if each.step == COPIED
        )
        path = self.hold.table.journal_step(self.hold.journal.token, number)
        return written_at(self._files, [path]).get(path, 0)

    def _both(self) -> Iterator[tuple[Listed, Listed]]:
        """Each directory of the old place, with the same one of the new place."""

        def beside(listed: Listed) -> tuple[Listed, Listed]:
            there = self._files.entries(joined(self.to.directory, listed.directory))
            return listed, files_of(listed.directory, there)

        return each_of(beside, walked(self._files, self.source.directory))

    def _changed_since(self, at: TablePath) -> list[str]:
        """What was written at one place after the copy was whole, and the other does not have."""
        other = self.to if at == self.source else self.source
        moment, files = self._copied_at, self._files
        return [
            path
            for listed in walked(files, at.directory)
            for each in listed.files
            if each.modified >= moment
            and not is_of_schemas(listed.directory)
            and files.size(joined(other.directory, path := listed.path(each))) != each.size
        ]

    def _copy(self, item: tuple[str, int]) -> bool:
        """False if a job has deleted the file by now."""
        path, size = item
        try:
            self._files.copy(joined(self.source.directory, path), joined(self.to.directory, path), size)
        except FileMissing:
            return False
        return True

    def _remove(self, table: TablePath) -> None:
        """Delete all files but the lock and its journal."""
        for listed in walked(self._files, table.directory, journal=table != self.hold.table):
            paths = [listed.path(each) for each in listed.files if is_inside(each.name)]
            self._delete([joined(table.directory, path) for path in paths])

    def _delete(self, paths: list[str]) -> None:
        # The claim goes when nothing else is left.
        for _ in each_of(self._files.delete, [each for each in paths if each != self.to.journal]):
            pass


class Listed(NamedTuple):
    """A directory, relative to the table's, empty for that itself; and the files in it."""

    directory: str
    files: list[DirectoryEntry]

    def path(self, entry: DirectoryEntry) -> str:
        return joined(self.directory, entry.name)

    @property
    def sizes(self) -> dict[str, int]:
        return {each.name: each.size for each in self.files}

    @property
    def mark(self) -> bytes:
        """Differs if a file was added, removed or written anew."""
        seen = sorted((each.name, each.size, each.etag or each.modified) for each in self.files)
        return hashlib.sha256(repr(seen).encode()).digest()


def walked(files: Files, top: str, *, journal: bool = False) -> Iterator[Listed]:
    """Each directory below a table's, with that itself. The lock and its journal only if asked for."""
    for listed in directories(files, top):
        yield files_of(listed.directory[len(top) + 1 :], listed.entries, journal=journal)


def holds_anything(files: Files, table: TablePath) -> bool:
    """Whether the directory is in the way of a new table. Steps of a change that has ended are not."""
    if moves_directories(files.uri):
        return bool(files.entries(table.directory))
    return files.exists(table.journal) or any(each.files for each in walked(files, table.directory))


def is_of_schemas(directory: str) -> bool:
    """Whether the directory has the schemas of main or of a branch: without them no engine opens it."""
    return _OF_SCHEMAS.fullmatch(directory) is not None


def files_of(directory: str, entries: list[DirectoryEntry], *, journal: bool = False) -> Listed:
    """The files of one directory."""
    found = [each for each in entries if not is_entered(each)]
    return Listed(
        directory,
        [each for each in found if journal or not _JOURNAL.fullmatch(joined(directory, each.name))],
    )


def joined(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory and name else directory or name

"""The files of a table's directory on an object store: listed in parallel, a directory at a time."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple

from paimark.core.storage.files import DirectoryEntry, Files
from paimark.core.storage.open import moves_directories
from paimark.core.storage.parallel import each_of
from paimark.core.storage.paths import is_inside
from paimark.core.table.layout import TablePath
from paimark.core.table.names import OF_A_CHANGE

_JOURNAL = re.compile(rf"branch/(?:ACTION|{OF_A_CHANGE})")
SCHEMAS = "schema"
_OF_SCHEMAS = re.compile(rf"(?:branch/branch-[^/]+/)?{SCHEMAS}")


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
    level = [""]
    while level:
        below: list[str] = []
        for directory, entries in each_of(lambda each: (each, files.entries(joined(top, each))), level):
            yield files_of(directory, entries, journal=journal)
            below += [joined(directory, each.name) for each in entries if _is_entered(each)]
        level = below


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
    found = [each for each in entries if not _is_entered(each)]
    return Listed(
        directory,
        [each for each in found if journal or not _JOURNAL.fullmatch(joined(directory, each.name))],
    )


def joined(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory and name else directory or name


def _is_entered(entry: DirectoryEntry) -> bool:
    """A directory whose name can't be written counts as a file."""
    return entry.is_directory and is_inside(entry.name)

"""The paths that a store accepts: relative, inside the warehouse, and printable; and the walk below one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import partial
from typing import NamedTuple

from paimark.core.errors import NotFound, Refused
from paimark.core.storage.files import DirectoryEntry, Files
from paimark.core.storage.parallel import each_of
from paimark.core.text import has_halves, spelled

# A part that is `..`, `.` or empty, an absolute path, a backslash, or a control character.
_HOSTILE = re.compile(r"(?:^|/)(?:\.{0,2}(?:/|$))|[\x00-\x1f\x7f\\]")


def checked(path: str) -> str:
    """The path itself. Raises `Refused` when it could leave the warehouse or garble a terminal."""
    if not is_inside(path):
        raise unwritable(path)
    return path


def unwritable(path: str) -> Refused:
    """The refusal of a path that `is_inside` does not accept: another program gave a file such a name."""
    if has_halves(path):
        return Refused(
            f"{spelled(path)} has a name that is not UTF-8",
            "Look which program made it, and rename it, or remove it if nothing needs it.",
        )
    return Refused(
        f"{spelled(path)} is not a path inside the warehouse", "A name may hold no '..', '/' or '\\'."
    )


def is_inside(path: str) -> bool:
    """Whether `checked` accepts the path."""
    return not (_HOSTILE.search(path) or has_halves(path))


def is_plain(name: str) -> bool:
    """Whether one part of a path needs no further check: a test that is fast enough for 100,000 names."""
    return name.isprintable() and "\\" not in name and name not in ("", ".", "..")


def checked_directory(path: str) -> str:
    """As `checked`, but accepts the empty path, which is the warehouse itself."""
    return checked(path) if path else path


class Listed(NamedTuple):
    """A directory with its entries."""

    directory: str
    entries: list[DirectoryEntry]

    @property
    def files(self) -> list[DirectoryEntry]:
        """Also links themselves, and directories of other programs whose names can't be written."""
        return [each for each in self.entries if not is_entered(each)]


def listed_of(files: Files, directories: Collection[str]) -> Iterator[Listed]:
    """Each of these directories, listed in parallel."""
    return each_of(partial(_listed, files), directories)


def walked(files: Files, top: str, without: Collection[str] = ()) -> Iterator[Listed]:
    """A directory and all below it but those `without`, a level at a time. It follows no link."""
    level = [top]
    while level:
        below: list[str] = []
        for listed in listed_of(files, level):
            yield listed
            below += (f"{listed.directory}/{each.name}" for each in listed.entries if is_entered(each))
        level = [each for each in below if each not in without]


def is_entered(entry: DirectoryEntry) -> bool:
    """Whether `walked` goes on into it."""
    return entry.is_directory and not entry.is_link and is_inside(entry.name)


def _listed(files: Files, directory: str) -> Listed:
    return Listed(directory, files.entries(directory))


def no_warehouse(uri: str) -> NotFound:
    """The error for an address without a warehouse."""
    return NotFound(f"There is no warehouse at {uri}", "Check the address, or make one: `paimark demo`.")

"""Temporary files, `.<name>.<uuid>`: a killed writer leaves one half-written, as Paimon's writers do.

A file is written in seconds under such a name, and then renamed. So a half-written file older than a day, by
the store's own clock, has no writer any more. No other process removes it.

Also: reading again what a replacement moves at this moment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial
from typing import TypeVar

from paimark.core.errors import Corrupt, NotFound
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import BRANCH_PREFIX, HINTS, PARTS, TablePath
from paimark.core.table.links import linked_directories
from paimark.core.text import has_halves

ABANDONED_AFTER = 24 * 3600 * 1000
_TEMPORARY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.DOTALL)


def meant_for(name: str) -> str | None:
    """The intended name of a temporary file; None for another file."""
    match = _TEMPORARY.fullmatch(name)
    return match["name"] if match else None


def delete_temporaries(files: Files, directory: str, names: Collection[str]) -> None:
    """Remove temporary files for these names; no process may be writing them now."""
    for each in files.names(directory):
        if meant_for(each) in names:
            files.delete(f"{directory}/{each}")


def abandoned(files: Files, table: TablePath, now: int) -> list[str]:
    """The sorted paths of such files in the table's control directories; `now` is epoch ms."""
    return sorted(path for path, modified in half_written(files, table) if now - modified > ABANDONED_AFTER)


def half_written(files: Files, table: TablePath) -> list[tuple[str, int]]:
    """The paths of half-written files of any age there, each with when it was written (epoch ms).

    Links and files behind them, irregular files, and files of unknown age are left out.
    """
    roots = [
        table.directory,
        *(
            f"{table.branches}/{each.name}"
            for each in files.entries(table.branches)
            if each.is_directory and not each.is_link and each.name.startswith(BRANCH_PREFIX)
        ),
    ]
    links = set(linked_directories(files, table))
    directories = [table.branches, table.operations, table.savepoints]
    directories += [f"{root}/{part}" for root in roots for part in PARTS]
    looked = each_of(partial(_in, files), [each for each in directories if each not in links])
    return [each for found in looked for each in found]


def store_now(files: Files, table: TablePath) -> int | None:
    """The store's clock (epoch ms), from the journal that this process has just written; None: unknown."""
    entries = files.entries(table.branches)
    name = table.journal.rpartition("/")[2]
    return next((each.modified for each in entries if each.name == name and each.modified), None)


def _in(files: Files, directory: str) -> list[tuple[str, int]]:
    part = directory.rpartition("/")[2]
    return [
        (f"{directory}/{each.name}", each.modified)
        for each in files.entries(directory)
        if not each.is_directory
        and not each.is_link
        and each.modified
        and _is_ours(part, each.name)
        and files.exists(f"{directory}/{each.name}")
    ]


def _is_ours(part: str, name: str) -> bool:
    """Whether its intended name is one of this directory's files."""
    wanted = meant_for(name)
    if wanted is None or has_halves(wanted):
        return False
    return part not in PARTS or wanted.startswith(f"{part}-") or wanted in HINTS


T = TypeVar("T")


def read_again_if_moved(read: Callable[[], T]) -> T:
    """The result of `read`, which only reads. It is called again if it fails on files, which may have moved.

    A replacement puts a notice where main's first schema was, and moves main's snapshots into a branch. The
    second call finds where main is then, and fails as the first one did if the files are lost or damaged.
    """
    try:
        return read()
    except (Corrupt, NotFound):
        return read()

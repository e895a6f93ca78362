"""Find symbolic links that replace a directory of a table to which changes of the table write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from paimark.core.storage.files import Files
from paimark.core.storage.no_follow import link_in_the_way
from paimark.core.table.layout import BRANCH_PREFIX, PARTS, TablePath

_OWN = {*PARTS, "branch", "manifest", "savepoint", "statistics", "index"}
# A bucket, or a partition.
_DATA = re.compile(r"bucket-.*|[^/]+=.*", re.DOTALL)


def linked_directories(files: Files, table: TablePath) -> list[str]:
    """The paths of the table's own directories that are links, sorted. Reads follow such links.

    Of the data directories, only those at the table's top level are checked.
    """
    # A generator: a store that has no links lists none of these directories.
    return sorted(path for path in files.links(_directories(files, table)) if _is_own(table, path))


def require_no_links(files: Files, table: TablePath, written: Iterable[str] = ()) -> None:
    """Raises `Refused` if a change of the table would have to follow a link.

    `written` are addresses of data files: no directory on the way to them may be a link.
    """
    links = linked_directories(files, table)
    for path in links or files.links(sorted(_partitions(table, written))):
        raise link_in_the_way(path)


def _directories(files: Files, table: TablePath) -> Iterator[str]:
    yield table.directory
    yield table.branches
    for entry in files.entries(table.branches):
        if entry.is_directory and entry.name.startswith(BRANCH_PREFIX):
            yield f"{table.branches}/{entry.name}"


def _is_own(table: TablePath, path: str) -> bool:
    directory, _, name = path.rpartition("/")
    if directory == table.directory:
        return name in _OWN or _DATA.fullmatch(name) is not None
    return name in PARTS if directory != table.branches else name.startswith(BRANCH_PREFIX)


def _partitions(table: TablePath, addresses: Iterable[str]) -> set[str]:
    """The directories between the table and the buckets of these files."""
    partitions: set[str] = set()
    for address in addresses:
        parts = address.partition(f"/{table.directory}/")[2].split("/")[:-2]
        partitions.update("/".join([table.directory, *parts[:depth]]) for depth in range(1, len(parts) + 1))
    return partitions

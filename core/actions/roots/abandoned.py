"""Half-written files that a writer left when it died, or could not remove: no other process removes them.

A file is written in seconds, under a name that `temp_files` recognizes, and then renamed. So a half-written
file older than a day, by the store's own clock, has no writer any more.
"""

from __future__ import annotations

from functools import partial

from paimark.core.actions.temp_files import meant_for
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import BRANCH_PREFIX, HINTS, PARTS, SNAPSHOT_PREFIX, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, main_branch_name
from paimark.core.table.links import linked_directories
from paimark.core.table.reading import numbered
from paimark.core.table.records import Snapshot, is_same_commit
from paimark.core.text import has_halves

ABANDONED_AFTER = 24 * 3600 * 1000


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


# A job that opened the table before a replacement still commits to the table directory, where no reader
# looks.
def stray_commits(files: Files, table: TablePath) -> list[Snapshot]:
    """The snapshots in the table directory that no branch has, oldest first; none while it is main.

    An interrupted replacement may leave snapshots there, but a branch has those, so they do not count.
    """
    own = table.root()
    if main_branch_name(files, table) is None:
        return []
    if not numbered(files.names(own.snapshots), SNAPSHOT_PREFIX):
        return []
    strays = list(Lineage(files, own).snapshots())
    for name in branch_names(files, table):
        paths = [table.root(name).snapshot(each.id) for each in strays]
        held = files.read_many(paths)
        strays = [
            each
            for each, path, data in zip(strays, paths, held, strict=True)
            if data is None or not is_same_commit(each, Snapshot.from_json(data, path))
        ]
    return strays

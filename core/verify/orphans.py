"""Find files of a table that no version needs, and who may have written each, or holds it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from paimark.core.actions.temp_files import meant_for
from paimark.core.storage.files import DirectoryEntry, Files
from paimark.core.storage.paths import Listed, is_inside, listed_of, walked
from paimark.core.table.layout import (
    BARRIER,
    BARRIER_ID,
    BEGUN_PREFIX,
    CLAIM_PREFIX,
    HINTS,
    OPERATION_PREFIX,
    PARTS,
    SAVEPOINT_PREFIX,
    STREAM_PREFIX,
    WRITE_PREFIX,
    Root,
    TablePath,
    numbered,
)
from paimark.core.table.names import OF_A_CHANGE
from paimark.core.verify.report import Orphan

# The most that a report lists; it counts the others.
_LISTED = 5_000

_COMMIT = "a commit that failed, or that is being made"
_DATA = "a writer that died, or that has not committed yet"
_SAVEPOINT = "a savepoint that was not finished"
_LIST_PREFIX = "manifest-list-"
_HALF = "a writer that died while it wrote {}, or is about to finish"

_UNREADABLE = "another program: no table has such a name, and nobody looked into it"

_LEFT = (
    (OF_A_CHANGE, "a change that is being made, or was interrupted"),
    (rf"{STREAM_PREFIX}.+", "a streaming query, to know what it committed"),
    (rf"{CLAIM_PREFIX}[0-9]+", "a savepoint being made"),
)


@dataclass
class Orphans:
    """The orphans found so far, the young ones apart."""

    table: TablePath
    now: int
    older_than: int
    old: list[Orphan] = field(default_factory=list)
    young: list[Orphan] = field(default_factory=list)
    leftovers: list[Orphan] = field(default_factory=list)
    old_count: int = 0
    old_bytes: int = 0
    young_count: int = 0

    def add(self, directory: str, entry: DirectoryEntry, owner: str, *, is_leftover: bool = False) -> None:
        age = self.now - entry.modified if entry.modified else None
        is_young = age is None or age < self.older_than
        orphan = Orphan(
            path=f"{directory}/{entry.name}",
            size=entry.size,
            age=age,
            owner=owner,
            is_young=is_young,
            is_leftover=is_leftover,
        )
        if is_leftover:
            kept = self.leftovers
        elif is_young:
            kept, self.young_count = self.young, self.young_count + 1
        else:
            kept, self.old_count = self.old, self.old_count + 1
            self.old_bytes += entry.size
        if len(kept) < _LISTED:
            kept.append(orphan)


def data_directories(files: Files, table: TablePath) -> Iterator[Listed]:
    """The table's directory, and those below it with data and the metadata of commits; it follows no link."""
    control = {f"{table.directory}/{part}" for part in PARTS}
    return walked(files, table.directory, {table.branches, table.savepoints, *control})


def control_directories(files: Files, table: TablePath, roots: list[Root]) -> Iterator[Listed]:
    """The directories of snapshots, tags and the like, and of this project's own files beside them."""
    parts = [f"{root.directory}/{part}" for root in roots for part in PARTS]
    return listed_of(files, [table.branches, table.operations, table.savepoints, *parts])


def owner_of(table: TablePath, directory: str, name: str) -> str:
    """The program that may have written a file that nothing needs."""
    if not is_inside(name):
        return _UNREADABLE
    wanted = meant_for(name)
    if wanted is not None:
        return _HALF.format(wanted)
    if directory == table.manifests or directory.startswith(f"{table.directory}/statistics"):
        return _COMMIT
    if directory == table.savepoints and name.startswith(_LIST_PREFIX):
        return _SAVEPOINT
    if "/bucket-" in directory or directory.startswith(f"{table.directory}/index"):
        return _DATA
    if directory in table.iceberg_metadata:
        return "a commit that died as it wrote Iceberg metadata, or did not delete what it replaced"
    return "another program: Paimon keeps no such file there"


def is_known(table: TablePath, directory: str, name: str) -> bool:
    """Whether Paimon, or this project, keeps a control file with this name there."""
    if directory == table.branches:
        return f"{directory}/{name}" in (table.main_branch_file, table.journal, table.merges)
    if directory == table.operations:
        return name.startswith((OPERATION_PREFIX, WRITE_PREFIX, BEGUN_PREFIX))
    if directory == table.savepoints:
        return name in HINTS or bool(numbered([name], SAVEPOINT_PREFIX))
    part = directory.rpartition("/")[2]
    prefix = f"{part}-"
    if part in ("tag", "consumer"):
        return name.startswith(prefix)
    is_barrier = f"{directory}/{name}" == table.root().snapshot(BARRIER_ID)
    return is_barrier or bool(numbered([name], prefix)) or (part != "schema" and name in HINTS)


def left_over(table: TablePath, directory: str, name: str) -> str | None:
    """The holder of a control file of something unfinished; None for any other file."""
    wanted = meant_for(name)
    if wanted is not None:
        return _HALF.format(wanted)
    is_mark = name == BARRIER and directory.startswith(f"{table.branches}/")
    if is_mark or f"{directory}/{name}" == table.journal:
        return f"a change that runs, or was interrupted: `paimark recover {table.word}` tells"
    if directory in (table.branches, table.savepoints):
        return next((owner for pattern, owner in _LEFT if re.fullmatch(pattern, name)), None)
    return None

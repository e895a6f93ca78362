"""Deleting what reference counting freed: the same steps for a savepoint, a tag and expired snapshots.

The references are read again right before the first file goes, and whenever a tag, branch or claim comes or
goes meanwhile: names are looked at once a second, so that whoever tags a snapshot and then looks for its
files twice, seconds apart, either keeps them all or sees that it came too late. Data goes before manifests
and these before lists, so that what is left always tells what else must go.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from core.actions.change.journal import Hold
from core.actions.context import Context, Progress, Remark
from core.actions.reclaim import Freed, freed_by
from core.actions.references import Leaving, roots_and_guards
from core.errors import Refused
from core.figures import counted, size
from core.storage.files import Files
from core.table.files import StoredFile
from core.table.layout import TablePath

# Files deleted between two looks at the clock; a pool is worth starting for as many.
_AT_ONCE = 32
_IN_FLIGHT = 16
_LOOK_EVERY = 1.0

DATA_GONE = "the data files are gone"
MANIFESTS_GONE = "the manifests are gone"
LISTS_GONE = "the manifest lists are gone"


@dataclass(frozen=True)
class Removed:
    """How many files went, and their bytes as far as known."""

    files: int = 0
    size: int = 0

    def __add__(self, other: Removed) -> Removed:
        return Removed(self.files + other.files, self.size + other.size)


def remove(context: Context, hold: Hold, leaving: Leaving, progress: Progress, part: str = "") -> Removed:
    """Delete every file that only the leaving references keep; what an earlier run did is passed over.

    `part` tells it from the other removals of a change that has several.

    Raises `Refused` when the references can't be read, and `TakenOver`.
    """
    removed = Removed()
    for done, kind in ((DATA_GONE, "data"), (MANIFESTS_GONE, "manifests"), (LISTS_GONE, "lists")):
        if part + done in hold.steps:
            continue
        sweep = _Sweep(context, hold, leaving, kind)
        gone = sweep.run()
        removed += gone
        hold.note(part + done)
        progress(f"deleted {counted(gone.files, _NOUNS[kind])} ({size(gone.size)})")
        for why, count in sweep.kept.items():
            progress(Remark(f"kept {counted(count, _NOUNS[kind])} that nothing needs: {why}"))
        for path in sweep.strangers:
            progress(Remark(stranger(hold.table, path)))
    return removed


_NOUNS = {"data": "data file", "manifests": "manifest", "lists": "manifest list"}


def stranger(table: TablePath, path: str) -> str:
    """What is said of a file that a manifest names and that is never deleted."""
    return f"{path} stays: a manifest names it, and it is no file of {table.full_name}"


class _Sweep:
    """One kind of files. Manifests are told by their lists: when they go, the data is gone."""

    def __init__(self, context: Context, hold: Hold, leaving: Leaving, kind: str) -> None:
        self._context = context
        self._hold = hold
        self._leaving = leaving
        self._kind = kind
        self._seen: frozenset[str] = frozenset()
        self._looked = -_LOOK_EVERY
        self._freed: dict[str, StoredFile] = {}
        # How many files could not be deleted safely, by why.
        self.kept: Counter[str] = Counter()
        self.strangers: tuple[str, ...] = ()

    def run(self) -> Removed:
        self._look()
        todo, removed = list(self._freed.values()), Removed()
        while todo:
            batch, todo = todo[:_AT_ONCE], todo[_AT_ONCE:]
            self._look()
            # A reference that came since may need some of them.
            batch = [each for each in batch if each.path in self._freed]
            kept = delete_all(self._context.files, [each.path for each in batch])
            self.kept.update(kept.values())
            gone = [each for each in batch if each.path not in kept]
            removed += Removed(len(gone), sum(each.size or 0 for each in gone))
        return removed

    def _look(self) -> None:
        if time.monotonic() - self._looked < _LOOK_EVERY:
            return
        self._looked = time.monotonic()
        self._hold.require()
        table = self._hold.table
        seen = holders(self._context.files, table)
        if seen != self._seen:
            self._seen = seen
            freed = freed_by(self._context.files, table, self._leaving, with_data=self._kind == "data")
            self._freed = {each.path: each for each in _of_kind(freed, self._kind)}
            self.strangers = freed.strangers


def _of_kind(freed: Freed, kind: str) -> Sequence[StoredFile]:
    groups = {"data": freed.data, "manifests": freed.manifests, "lists": freed.lists}
    return groups[kind]


def holders(files: Files, table: TablePath) -> frozenset[str]:
    """The paths of all that may come to keep files: tags and branches, savepoints and their claims."""
    found = {f"{table.savepoints}/{name}" for name in files.names(table.savepoints)}
    for root in roots_and_guards(files, table):
        found.add(root.directory)
        found.update(f"{root.tags}/{name}" for name in files.names(root.tags))
        found.update(f"{root.changelogs}/{name}" for name in files.names(root.changelogs))
    return frozenset(found)


def delete_all(files: Files, paths: Sequence[str]) -> dict[str, str]:
    """Many in flight, but for a handful. Which stay, as deleting them is not safe, and why."""
    delete = partial(_delete, files)
    if len(paths) < _AT_ONCE:
        answers = [delete(path) for path in paths]
    else:
        with ThreadPoolExecutor(_IN_FLIGHT) as pool:
            answers = list(pool.map(delete, paths))
    return {path: why for path, why in zip(paths, answers, strict=True) if why is not None}


def _delete(files: Files, path: str) -> str | None:
    """Why the file stays; None when it is gone."""
    try:
        files.delete(path)
    except Refused as error:
        return error.message
    return None

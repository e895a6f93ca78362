"""Deletes the files that reference counting freed, in the same steps for a savepoint, a tag and an expiry.

The count is updated right before the first file goes, and again meanwhile: `watch` decides when and where.
Data is deleted before manifests and these before lists, so that the remaining files always tell what else
must go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from paimark.core.actions.change.journal import Hold, TakenOver
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.garbage.estimate import Estimate
from paimark.core.actions.garbage.references import ToDelete
from paimark.core.actions.garbage.unreferenced import FileCount, Freed
from paimark.core.actions.garbage.watch import Watch
from paimark.core.actions.plan import Plan
from paimark.core.errors import Refused
from paimark.core.figures import counted, size
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import IN_FLIGHT
from paimark.core.table.layout import TablePath
from paimark.core.table.manifests.files import StoredFile

# Files deleted between two looks at the clock; a thread pool is worth starting for so many.
_AT_ONCE = 32

DATA_GONE = "the data files are gone"
MANIFESTS_GONE = "the manifests are gone"
LISTS_GONE = "the manifest lists are gone"


@dataclass(frozen=True)
class Removed:
    """How many files were deleted, and their bytes as far as known."""

    files: int = 0
    size: int = 0

    def __add__(self, other: Removed) -> Removed:
        return Removed(self.files + other.files, self.size + other.size)

    def said(self, plan: Plan) -> str:
        """For the end of the sentence on what was deleted: ` (2 files, 2.7 kB). It can't be taken back`."""
        went = f" ({counted(self.files, 'file')}, {size(self.size)})" if self.files else ""
        return went if plan.undo else f"{went}. It can't be taken back"


def remove(
    context: Context,
    hold: Hold,
    to_delete: ToDelete,
    progress: Progress,
    part: str = "",
    count: FileCount | None = None,
) -> Removed:
    """Delete every file that only the references to delete keep. Idempotent.

    `part` distinguishes the removal from others of the same change. `count` is a count that was made before;
    it is used if it covers all references to delete.

    Raises `Refused` when the references can't be read, and `TakenOver`. A recovery does not raise `Refused`:
    it keeps the remaining files and ends the change, because the damage is permanent and must not block the
    table.
    """
    try:
        return _remove(context, hold, to_delete, progress, part, count)
    except TakenOver:
        raise
    except Refused as error:
        if not hold.is_recovery:
            raise
        why = f"{error.message}: what is left stays, and `paimark verify {hold.table.word}` names it"
        progress(Remark(why))
        return Removed()


def _remove(
    context: Context, hold: Hold, to_delete: ToDelete, progress: Progress, part: str, count: FileCount | None
) -> Removed:
    removed = Removed()
    left = [(done, kind) for done, kind in _KINDS if part + done not in hold.steps]
    if not left:
        return removed
    if count is None or not count.is_of(to_delete):
        with_data = (DATA_GONE, "data") in left
        count = FileCount(context.files, hold.table, to_delete, progress, with_data=with_data)
    count.to_delete = to_delete
    watch = Watch(hold, count)
    for done, kind in left:
        sweep = _Sweep(context.files, watch, kind, progress)
        gone = sweep.run()
        removed += gone
        hold.note(part + done)
        progress(f"deleted {counted(gone.files, _NOUNS[kind])} ({size(gone.size)})")
        for why, number in sweep.kept.items():
            progress(Remark(f"kept {counted(number, _NOUNS[kind])} that nothing needs: {why}"))
        if kind == "data":
            for path in watch.freed.strangers:
                progress(Remark(stranger(hold.table, path)))
    return removed


_KINDS = ((DATA_GONE, "data"), (MANIFESTS_GONE, "manifests"), (LISTS_GONE, "lists"))
_NOUNS = {"data": "data file", "manifests": "manifest", "lists": "manifest list"}


def stranger(table: TablePath, path: str) -> str:
    """A sentence on a file that a manifest names and that is never deleted."""
    return f"{path} stays: a manifest names it, and it is no file of {table.full_name}"


class _Sweep:
    """Deletes one kind of files. Lists name the manifests: when manifests are deleted, the data is gone."""

    def __init__(self, files: Files, watch: Watch, kind: str, progress: Progress) -> None:
        self._files = files
        self._watch = watch
        self._kind = kind
        self._progress = progress
        # How many files could not be deleted safely, by reason.
        self.kept: Counter[str] = Counter()
        # The paths of files that a new reference needs.
        self._spared: set[str] = set()

    def run(self) -> Removed:
        self._watch.look()
        removed = self._run(_of_kind(self._watch.freed, self._kind))
        if self._spared:
            self._watch.settle()
            freed = _of_kind(self._watch.freed, self._kind)
            removed += self._run([each for each in freed if each.path in self._spared])
        return removed

    def _run(self, todo: Sequence[StoredFile]) -> Removed:
        before, removed = self._watch.freed, Removed()
        estimate = Estimate(len(todo), f"{_NOUNS[self._kind]}s", self._progress, did="deleted")
        still: set[str] | None = None
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            for start in range(0, len(todo), _AT_ONCE):
                self._watch.look()
                if self._watch.freed is not before:
                    # A new reference may need some of them.
                    before = self._watch.freed
                    still = {each.path for each in _of_kind(before, self._kind)}
                batch = todo[start : start + _AT_ONCE]
                if still is not None:
                    self._spared.update(each.path for each in batch if each.path not in still)
                    batch = [each for each in batch if each.path in still]
                removed += self._deleted(pool, batch)
                estimate.tell(start + len(batch))
        return removed

    def _deleted(self, pool: ThreadPoolExecutor, batch: Sequence[StoredFile]) -> Removed:
        """Delete a batch, in parallel unless it is small."""
        delete = partial(_delete, self._files)
        paths = [each.path for each in batch]
        answers: Iterator[str | None] = (
            map(delete, paths) if len(paths) < _AT_ONCE else pool.map(delete, paths)
        )
        removed = Removed()
        for each, why in zip(batch, answers, strict=True):
            if why is None:
                removed += Removed(1, each.size or 0)
            else:
                self.kept[why] += 1
        return removed


def _of_kind(freed: Freed, kind: str) -> Sequence[StoredFile]:
    groups = {"data": freed.data, "manifests": freed.manifests, "lists": freed.lists}
    return groups[kind]


def _delete(files: Files, path: str) -> str | None:
    """Why the file stays; None when it is gone."""
    try:
        files.delete(path)
    except Refused as error:
        return error.message
    return None

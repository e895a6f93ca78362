"""Deletes the files that reference counting freed, in the same steps for a savepoint, a tag and an expiry.

The count is updated right before the first file goes, and again meanwhile: `watch` decides when and where.
Data is deleted before manifests and these before lists, so that the remaining files always tell what else
must go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from paimark.core.actions.change import fence
from paimark.core.actions.change.journal import Hold, TakenOver
from paimark.core.actions.context import Context, Estimate, Progress, Remark
from paimark.core.actions.garbage.references import ToDelete
from paimark.core.actions.garbage.unreferenced import FileCount, Freed
from paimark.core.actions.plan import Plan
from paimark.core.errors import Refused
from paimark.core.figures import counted, size
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import IN_FLIGHT, each_of
from paimark.core.table.layout import (
    SAVEPOINT_PREFIX,
    SAVEPOINT_TAG_PREFIX,
    TAG_PREFIX,
    Root,
    TablePath,
    numbered,
)
from paimark.core.table.lineage.main_branch import branch_roots, main_root
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

    @property
    def facts(self) -> dict[str, str | int | bool | None]:
        """For the result of a change."""
        return {"freed_files": self.files, "freed_bytes": self.size}

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
    require: Callable[[], None] | None = None,
) -> Removed:
    """Delete every file that only the references to delete keep. Idempotent.

    `part` distinguishes the removal from others of the same change. `count` is a count that was made before;
    it is used if it covers all references to delete. `require` is called at each look instead of the hold's:
    what it raises ends the removal.

    Raises `Refused` when the references can't be read, and `TakenOver`. A recovery does not raise `Refused`:
    it keeps the remaining files and ends the change, because the damage is permanent and must not block the
    table.
    """
    try:
        return _remove(context, hold, to_delete, progress, part, count, require or hold.require)
    except TakenOver:
        raise
    except Refused as error:
        if not hold.is_recovery:
            raise
        why = f"{error.message}: what is left stays, and `paimark verify {hold.table.word}` names it"
        progress(Remark(why))
        return Removed()


def _remove(
    context: Context,
    hold: Hold,
    to_delete: ToDelete,
    progress: Progress,
    part: str,
    count: FileCount | None,
    require: Callable[[], None],
) -> Removed:
    removed = Removed()
    left = [(done, kind) for done, kind in _KINDS if part + done not in hold.steps]
    if not left:
        return removed
    if count is None or not count.is_of(to_delete):
        with_data = (DATA_GONE, "data") in left
        count = FileCount(context.files, hold.table, to_delete, progress, with_data=with_data)
    count.to_delete = to_delete
    watch = Watch(hold, count, require)
    for done, kind in left:
        sweep = _Sweep(context.files, watch, kind, progress)
        gone = sweep.run()
        removed += gone
        hold.note(part + done)
        if gone.files:
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
                batch = todo[start : start + _AT_ONCE]
                while batch:
                    self._watch.look()
                    if self._watch.freed is not before:
                        # A new reference may need some of them.
                        before = self._watch.freed
                        still = {each.path for each in _of_kind(before, self._kind)}
                    if still is not None:
                        self._spared.update(each.path for each in batch if each.path not in still)
                        batch = [each for each in batch if each.path in still]
                    gone, batch = self._deleted(pool, batch)
                    removed += gone
                estimate.tell(min(start + _AT_ONCE, len(todo)))
        return removed

    def _deleted(
        self, pool: ThreadPoolExecutor, batch: Sequence[StoredFile]
    ) -> tuple[Removed, list[StoredFile]]:
        """Delete a batch, in parallel unless it is small; also return those before which to look again."""
        paths = [each.path for each in batch]
        answers: Iterator[str | None] = (
            map(self._delete, paths) if len(paths) < _AT_ONCE else pool.map(self._delete, paths)
        )
        removed, left = Removed(), []
        for each, why in zip(batch, answers, strict=True):
            if why is None:
                removed += Removed(1, each.size or 0)
            elif why == _NOT_YET:
                left.append(each)
            else:
                self.kept[why] += 1
        return removed, left

    def _delete(self, path: str) -> str | None:
        """Why the file stays; None when it is gone."""
        if self._watch.is_old:
            return _NOT_YET
        try:
            self._files.delete(path)
        except Refused as error:
            return error.message
        return None


def _of_kind(freed: Freed, kind: str) -> Sequence[StoredFile]:
    groups = {"data": freed.data, "manifests": freed.manifests, "lists": freed.lists}
    return groups[kind]


_LOOK_EVERY = 1.0
# The seconds after a look in which files may go: a process that stood still in between looks again.
_DELETE_WITHIN = 1.5
_NOT_YET = "it is looked at again first"
_LOOK_EVERYWHERE_EVERY = 10.0
# The age at which a look is repeated, also if looking takes long.
_STALE_AFTER = 3.0

Names = frozenset[str]


# A process that makes a tag looks for its files twice, seconds apart: either all files are kept, or it sees
# that its tag came too late. So a file is deleted only if the places of new references were checked about a
# second ago. A new reference is made from a leaving one. It is a tag, a snapshot or a claim in a root that
# holds the leaving ones, in main or in the table directory, or it is in a new branch. The other roots are
# checked too, but less often, because other engines and people may do anything.
class Watch:
    """Updates a count while files are deleted; `freed` has the files that may still be deleted."""

    def __init__(self, hold: Hold, count: FileCount, require: Callable[[], None]) -> None:
        """Raises `Refused` when the references can't be read, and what `require` raises."""
        require()
        self._require = require
        self._count = count
        self._files: Files = hold.context.files
        self._table: TablePath = hold.table
        main, own = main_root(self._files, self._table), self._table.root()
        self._near = list(dict.fromkeys([*count.to_delete.roots, main, own]))
        self._began = self._ended = self._was_everywhere = fence.clocks()
        branches = branch_roots(self._files, self._table)
        self._first = frozenset([own, *branches])
        self._seen: dict[Root, Names] = self._names(dict.fromkeys([*self._near, *branches]))
        self._near += self._empty([root for root, names in self._seen.items() if not names])
        self._savepoints = self._savepoint_names()
        self._loose = self._loose_of(self._savepoints)
        # References that were deleted by others since the count may free more.
        self.freed = count.freed()
        self._ended = fence.clocks()

    @property
    def is_old(self) -> bool:
        """Whether to look again before another file goes."""
        return fence.seconds_since(self._ended) >= _DELETE_WITHIN

    def look(self) -> None:
        """Look again, if it is due. Raises like the constructor."""
        if fence.seconds_since(self._ended) < _LOOK_EVERY and fence.seconds_since(self._began) < _STALE_AFTER:
            return
        self._require()
        if fence.seconds_since(self._was_everywhere) >= _LOOK_EVERYWHERE_EVERY:
            self._look_everywhere()
        self._look_near()
        if fence.seconds_since(self._began) >= _STALE_AFTER:
            # Counting took long, so others had time to make a tag.
            self._look_near()
        self._ended = fence.clocks()

    def settle(self) -> None:
        """Count exactly: a new reference that is gone again keeps nothing. Raises like the constructor."""
        self._require()
        self.freed = self._count.freed()
        self._look_near()

    def _look_near(self) -> None:
        """Look at the roots in which a new reference to the leaving files can appear."""
        self._began = fence.clocks()
        new = [root for root in branch_roots(self._files, self._table) if root not in self._first]
        near = [*self._near, *new]
        changed, claims = self._changed(near), self._savepoint_names()
        if claims != self._savepoints:
            self._savepoints, changed = claims, near
        if changed:
            self.freed = self._count.still_freed(changed)

    def _look_everywhere(self) -> None:
        changed = self._changed([self._table.root(), *branch_roots(self._files, self._table)])
        before, self._loose = self._loose, self._loose_of(self._savepoint_names())
        if not self._loose <= before:
            # Only a look at all roots finds the savepoints without a tag.
            self.freed = self._count.still_freed()
        elif changed:
            self.freed = self._count.still_freed(changed)
        self._was_everywhere = fence.clocks()

    def _changed(self, roots: Sequence[Root]) -> list[Root]:
        now = self._names(roots)
        changed = [root for root, names in now.items() if names != self._seen.get(root, frozenset())]
        self._seen |= now
        return changed

    def _names(self, roots: Iterable[Root]) -> dict[Root, Names]:
        """The names in each root that show a new reference. In distant roots commits are not listed."""
        near = set(self._near)
        asked = [
            (root, directory)
            for root in roots
            for directory in (
                root.tags,
                root.changelogs,
                *([root.snapshots] if root in near or root not in self._first else []),
            )
        ]
        by_root: dict[Root, Names] = {}
        listings = each_of(self._files.names, [directory for _, directory in asked])
        for (root, directory), names in zip(asked, listings, strict=True):
            by_root[root] = by_root.get(root, frozenset()).union(f"{directory}/{name}" for name in names)
        return by_root

    def _savepoint_names(self) -> Names:
        return frozenset(self._files.names(self._table.savepoints))

    def _empty(self, roots: Sequence[Root]) -> list[Root]:
        """Roots without a snapshot: another process may be making them."""
        listings = each_of(self._files.names, [root.snapshots for root in roots])
        return [root for root, names in zip(roots, listings, strict=True) if not names]

    def _loose_of(self, savepoints: Names) -> set[int]:
        """The ids of the savepoints without a tag in any root that was examined."""
        tagged = (
            name.rpartition("/")[2]
            for names in self._seen.values()
            for name in names
            if TAG_PREFIX + SAVEPOINT_TAG_PREFIX in name
        )
        ids = numbered(savepoints, SAVEPOINT_PREFIX)
        return set(ids).difference(numbered(tagged, TAG_PREFIX + SAVEPOINT_TAG_PREFIX))

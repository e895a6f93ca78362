"""Watches for new references to files that are being deleted.

A process that makes a tag looks for its files twice, seconds apart: either all files are kept, or it sees
that its tag came too late. So a file is deleted only if the places of new references were checked about a
second ago. A new reference is made from a leaving one. It is a tag, a snapshot or a claim in a root that
holds the leaving ones, in main or in the table directory, or it is in a new branch. The other roots are
checked too, but less often, because other engines and people may do anything.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from paimark.core.actions.change.journal import Hold
from paimark.core.actions.garbage.unreferenced import FileCount
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import SAVEPOINT_PREFIX, SAVEPOINT_TAG_PREFIX, TAG_PREFIX, Root, TablePath
from paimark.core.table.lineage.lineage import numbered
from paimark.core.table.lineage.main_branch import branch_roots, main_root

_LOOK_EVERY = 1.0
_LOOK_EVERYWHERE_EVERY = 10.0
# The age at which a look is repeated, also if looking takes long.
_STALE_AFTER = 3.0

Names = frozenset[str]


class Watch:
    """Updates a count while files are deleted; `freed` has the files that may still be deleted."""

    def __init__(self, hold: Hold, count: FileCount) -> None:
        """Raises `Refused` when the references can't be read, and `TakenOver`."""
        hold.require()
        self._hold = hold
        self._count = count
        self._files: Files = hold.context.files
        self._table: TablePath = hold.table
        main, own = main_root(self._files, self._table), self._table.root()
        self._near = list(dict.fromkeys([*count.to_delete.roots, main, own]))
        self._began = self._ended = self._was_everywhere = time.monotonic()
        branches = branch_roots(self._files, self._table)
        self._first = frozenset([own, *branches])
        self._seen: dict[Root, Names] = self._names(dict.fromkeys([*self._near, *branches]))
        self._near += self._empty([root for root, names in self._seen.items() if not names])
        self._savepoints = self._savepoint_names()
        self._loose = self._loose_of(self._savepoints)
        # References that were deleted by others since the count may free more.
        self.freed = count.freed()
        self._ended = time.monotonic()

    def look(self) -> None:
        """Look again, if it is due. Raises like the constructor."""
        now = time.monotonic()
        if now - self._ended < _LOOK_EVERY and now - self._began < _STALE_AFTER:
            return
        self._hold.require()
        if now - self._was_everywhere >= _LOOK_EVERYWHERE_EVERY:
            self._look_everywhere()
        self._look_near()
        if time.monotonic() - self._began >= _STALE_AFTER:
            # Counting took long, so others had time to make a tag.
            self._look_near()
        self._ended = time.monotonic()

    def settle(self) -> None:
        """Count exactly: a new reference that is gone again keeps nothing. Raises like the constructor."""
        self._hold.require()
        self.freed = self._count.freed()
        self._look_near()

    def _look_near(self) -> None:
        """Look at the roots in which a new reference to the leaving files can appear."""
        self._began = time.monotonic()
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
        self._was_everywhere = time.monotonic()

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

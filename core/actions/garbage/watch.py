"""Watching for references that come to need files which are being deleted.

A process that makes a tag looks for its files twice, seconds apart, so that they are all kept or the tag is
seen to come too late. So a file goes only where somebody has just looked: at what may still come to need it,
about once a second. Such a reference is made of one that leaves: it is a tag, a snapshot or a claim in a root
that holds what leaves, in main or in the table directory, or it is in a branch that was not there before. The
other roots are looked at all the same, less often: other engines and people may do anything.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from core.actions.change.journal import Hold
from core.actions.garbage.unreferenced import FileCount
from core.storage.files import Files
from core.storage.parallel import each_of
from core.table.layout import SAVEPOINT_PREFIX, SAVEPOINT_TAG_PREFIX, TAG_PREFIX, Root, TablePath
from core.table.lineage.lineage import numbered
from core.table.lineage.main_branch import branch_roots, main_root

_LOOK_EVERY = 1.0
_LOOK_EVERYWHERE_EVERY = 10.0
# How old a look may be before it is repeated, also where looking takes long.
_STALE_AFTER = 3.0

Names = frozenset[str]


class Watch:
    """Keeps a count up to date while files go; `freed` is what may go still."""

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
        # What went with others since it was counted may free more.
        self.freed = count.freed()
        self._ended = time.monotonic()

    def look(self) -> None:
        """Look again, where that is due. Raises as the constructor."""
        now = time.monotonic()
        if now - self._ended < _LOOK_EVERY and now - self._began < _STALE_AFTER:
            return
        self._hold.require()
        if now - self._was_everywhere >= _LOOK_EVERYWHERE_EVERY:
            self._look_everywhere()
        self._look_near()
        if time.monotonic() - self._began >= _STALE_AFTER:
            # Counting took long: others have had time to make a tag.
            self._look_near()
        self._ended = time.monotonic()

    def settle(self) -> None:
        """Look again: a new reference that has gone keeps nothing. Raises as the constructor."""
        self._hold.require()
        self.freed = self._count.freed()
        self._look_near()

    def _look_near(self) -> None:
        """At the roots where what leaves may be named anew."""
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
            # Only who has looked at all roots knows the savepoints without a tag.
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
        """Names in each root by which a new reference shows. In distant roots a commit does not."""
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
        """Roots without a snapshot: somebody may be making them."""
        listings = each_of(self._files.names, [root.snapshots for root in roots])
        return [root for root, names in zip(roots, listings, strict=True) if not names]

    def _loose_of(self, savepoints: Names) -> set[int]:
        """The ids of the savepoints of which no root that was looked at has a tag."""
        tagged = (
            name.rpartition("/")[2]
            for names in self._seen.values()
            for name in names
            if TAG_PREFIX + SAVEPOINT_TAG_PREFIX in name
        )
        ids = numbered(savepoints, SAVEPOINT_PREFIX)
        return set(ids).difference(numbered(tagged, TAG_PREFIX + SAVEPOINT_TAG_PREFIX))

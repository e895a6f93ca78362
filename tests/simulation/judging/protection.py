"""What is protected is held: by no action of Paimark does it go, or get other rows, while it is protected."""

from __future__ import annotations

from collections.abc import Iterator

from paimark.core.table.layout import MAIN, Root
from paimark.core.table.lineage.protected import Protected
from tests.simulation.actors.operations import Operation
from tests.simulation.formats import Identity
from tests.simulation.judging import view
from tests.simulation.memory import MemoryStore
from tests.simulation.world import TABLE, Violation

# What a protected branch still gets: rows by statements, files by a compaction.
_WRITES = ("delete-from", "update", "merge-into", "insert-overwrite", "compact")


def protected(store: MemoryStore) -> list[Protected]:
    lines = store.files.get(TABLE.protected, b"").splitlines()
    return [Protected.from_json(line, TABLE.protected) for line in lines]


class Protection:
    """Knows of each protected tag what it was of when that began. Stock engines may take anything away."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._held: dict[tuple[str, str, str | None], Identity] = {}

    def set_anew(self) -> None:
        """The file of protections changed."""
        known = {each.thing: each for each in protected(self._store) if each.what == "tag"}
        for thing in self._held.keys() - known.keys():
            del self._held[thing]
        for thing in known.keys() - self._held.keys():
            if (found := self._tag(known[thing])) is not None:
                self._held[thing] = found

    def forget(self, root: Root, tag: str | None = None) -> None:
        """Another engine took a tag of a root, or all of it."""
        for thing in [each for each in self._held if self._root(each[2]) == root and tag in (None, each[1])]:
            del self._held[thing]

    def moved(self, operation: Operation, root: Root) -> None:
        """Raise if the action must not move the root, or take it away."""
        if operation.moves_table or operation.action in _WRITES:
            return
        for each in self._of(root):
            raise Violation(f"{operation.action} moves {root.label}, and {each.said} is protected")

    def judge(self) -> None:
        """Raise if a tag is another one, or gone. A savepoint's file is looked after by the watch."""
        for thing, held in self._held.items():
            _, name, branch = thing
            if view.tags(self._store, self._root(branch)).get(name) != held:
                raise Violation(f"tag {name} of {branch} is protected, and is another one, or gone")

    def keeps_savepoint(self, number: str) -> bool:
        return ("savepoint", number) in {(each.what, each.name) for each in protected(self._store)}

    def _of(self, root: Root) -> Iterator[Protected]:
        for each in protected(self._store):
            if each.what == "branch" and self._root(each.name) == root:
                yield each

    def _tag(self, of: Protected) -> Identity | None:
        return view.tags(self._store, self._root(of.branch)).get(of.name)

    def _root(self, label: str | None) -> Root:
        return view.main_root(self._store) if label in (None, MAIN) else TABLE.root(label)

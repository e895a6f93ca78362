"""What the states of a table's branches have of each other, by their forks and by all merges.

A state of a branch has every earlier one of it. It has what was merged into it, and with that what was merged
there. A branch also has main up to its fork.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from paimark.core.actions.merge.history import MergeEvent, events, merged
from paimark.core.errors import Refused
from paimark.core.once import once
from paimark.core.storage.files import Files
from paimark.core.table.layout import MAIN, Root, TablePath
from paimark.core.table.lineage.forks import Side, find_fork
from paimark.core.table.lineage.main_branch import main_root, root_exists
from paimark.core.table.names import is_archive
from paimark.core.table.records import Point, Snapshot, point_of

# States by the names of their branches, of each branch the newest.
States = dict[str, Point]


class Ancestry:
    """`events` are all of the merge record. `sides` are those that somebody has listed already."""

    def __init__(self, files: Files, table: TablePath, events: list[MergeEvent], *sides: Side) -> None:
        self.files, self._table, self.events = files, table, events
        self._sides: dict[str, Side | None] = {each.root.label: each for each in sides}
        self._forks: dict[str, int] = {}

    @once
    def main(self) -> Root:
        return main_root(self.files, self._table)

    def side(self, label: str) -> Side | None:
        """The branch of this name; None if it is gone."""
        if label not in self._sides:
            root = self._table.called(label)
            is_there = root == self.main or (root.branch is not None and root_exists(self.files, root))
            self._sides[label] = Side(self.files, root, ancestors_only=True) if is_there else None
        return self._sides[label]

    def has(self, label: str, point: Point, besides: tuple[str, str] | None = None) -> States:
        """All that this state of a branch has, itself too.

        `besides`: the target and the source of merges that do not count, for that source is another one.
        """
        found, todo = {label: point}, [(label, point)]
        while todo:
            target, at = todo.pop()
            for source, head in (*self._by_fork(target, at), *self._by_merges(target, at)):
                if (target, source) != besides and (source not in found or found[source].id < head.id):
                    found[source] = head
                    todo.append((source, head))
        return found

    def _by_merges(self, label: str, at: Point) -> Iterator[tuple[str, Point]]:
        root = self._table.called(label)
        for source in {each.branch for each in self.events if each.root == root.branch and each.branch}:
            known = merged(self.files, root, source, self.events, at.id)
            while known is not None and not self.may_have(label, known.main):
                # Another engine rolled the branch back past that merge, or made another one of its name.
                known = merged(self.files, root, source, self.events, known.main.id - 1)
            if known is not None:
                yield source, known.head

    def _by_fork(self, label: str, at: Point) -> Iterator[tuple[str, Point]]:
        """Main's state at the fork, if the branch is there and had it."""
        side, main = self.side(label), self.side(self.main.label)
        if side is None or main is None or side.root == main.root or not self.may_have(label, at):
            return
        if label not in self._forks:
            self._forks[label] = find_fork(main, side).snapshot_id or 0
        fork = self._forks[label]
        if not fork or at.id <= fork:
            # A state that both have.
            yield from [(main.root.label, at)] if fork else []
            return
        there = side.record(fork) or main.record(fork)
        if there is not None:
            yield main.root.label, point_of(there)

    def may_have(self, label: str, point: Point) -> bool:
        """Whether the branch of this name can have this state; another one of the name has another."""
        there = self._there(label, point)
        return there is None or point.is_of(there)

    def is_in(self, label: str, point: Point) -> bool:
        """Whether this state is certainly one of the branch's own."""
        there = self._there(label, point)
        return there is not None and point.is_of(there)

    def _there(self, label: str, point: Point) -> Snapshot | None:
        """What the branch has under the id of this state; None if nothing, or if the branch is gone."""
        side = self.side(label)
        return None if side is None else side.record(point.id)

    def shared(self, target: Side, branch: Side, has: States, brings: States) -> States:
        """States that both have by their own histories, whatever was merged. Raises `Refused`."""
        shared = {}
        fork = find_fork(target, branch)
        there = branch.record(fork.snapshot_id) if fork.is_proven and fork.snapshot_id is not None else None
        if there is not None:
            shared[branch.root.label] = point_of(there)
        for one, other, side in ((has, brings, branch), (brings, has, target)):
            for label in one.keys() - other.keys():
                if self.is_in(side.root.label, one[label]):
                    shared[side.root.label] = max(
                        one[label], shared.get(side.root.label, one[label]), key=lambda each: each.id
                    )
                elif self.side(label) is None and (label == MAIN or is_archive(label)):
                    raise Refused(
                        f"{target.root.label} or {branch.root.label} of {target.root.table.full_name} has "
                        "commits of an earlier main, which is gone: what the other has of them can't be told",
                        "Write the rows yourself, or replace main with the branch.",
                    )
        return shared

    def newest_common(
        self, one: States, other: States, more: States, counts: Callable[[Point], bool]
    ) -> States:
        """The states that both have, and `more`, if they count, without those that another of them has."""
        common = {
            label: min(one[label], other[label], key=lambda each: each.id) for label in one.keys() & other
        }
        for label, point in more.items():
            if label not in common or common[label].id < point.id:
                common[label] = point
        common = {
            label: point for label, point in common.items() if self.may_have(label, point) and counts(point)
        }
        for label in sorted(common):
            point, others = common[label], {name: each for name, each in common.items() if name != label}
            if any(self._is_within(label, point, self.has(name, each)) for name, each in others.items()):
                del common[label]
        return common

    def _is_within(self, label: str, point: Point, states: States) -> bool:
        """Whether one of the states has this one: branches share the states before their fork."""
        return states.get(label, _NONE).id >= point.id or any(
            each.id >= point.id and self.is_in(name, point) for name, each in states.items()
        )


_NONE = Point(id=-1, delta_manifest_list="")


def main_that_it_brings(files: Files, target: Side, branch: Side, head: Snapshot) -> tuple[int, int] | None:
    """The newest snapshots of main that a branch and its target have, if the branch has a later one.

    None if one of both is main: a merge into another branch brings no commits of main by the way. What of
    main a branch has is then always known, also once others are gone.
    """
    main, newest = main_root(files, target.root.table), target.lineage.latest()
    if main in (target.root, branch.root) or newest is None:
        return None
    known = events(files, target.root.table)
    ancestry = Ancestry(files, target.root.table, known, target, branch)
    ours = ancestry.has(branch.root.label, point_of(head)).get(main.label)
    theirs = ancestry.has(target.root.label, point_of(newest)).get(main.label)
    if ours is None or (theirs is not None and ours.id <= theirs.id):
        return None
    return ours.id, 0 if theirs is None else theirs.id

"""The base of a merge between any two branches, against a model of what rows each commit has.

No row may come twice, and none that the branch has may stay out: whichever way it went before.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paimark.core.actions.merge import history as merge_history
from paimark.core.actions.merge.ancestry import main_that_it_brings
from paimark.core.actions.merge.base import base_of
from paimark.core.actions.merge.history import MergeEvent
from paimark.core.errors import Refused
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.forks import Side
from paimark.core.table.records import Point, Snapshot, point_of
from tests.actions.merge.test_merge_model import write_commit

TABLE = TablePath("shop", "t")
NAMES = ("main", "a", "b", "c")
MAIN = TABLE.root()
Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("commit", "merge", "merge", "forward", "part", "branch", "delete", "undo")),
        st.integers(0, 3),
        st.integers(0, 3),
    ),
    max_size=22,
)


@dataclass
class Model:
    """`rows` says of each commit how often it has the row of each writer's commit."""

    files: LocalFiles
    rows: dict[str, Counter[int]] = field(default_factory=dict)
    heads: dict[Root, int] = field(default_factory=dict)
    merges: dict[Root, tuple[int, int]] = field(default_factory=dict)
    made: int = 0
    was_undone: bool = False
    may_refuse: bool = True

    def __post_init__(self) -> None:
        self.files.create(MAIN.schema(0), b"{}")
        self.write(MAIN, Counter({0: 1}))

    def root(self, number: int) -> Root:
        return TABLE.root(None if number == 0 else NAMES[number])

    def at(self, root: Root, number: int) -> Point:
        return point_of(Snapshot.from_path(self.files, root.snapshot(number)))

    def of(self, snapshot: Snapshot | Point) -> Counter[int]:
        return self.rows[snapshot.delta_manifest_list]

    def write(self, root: Root, rows: Counter[int]) -> Point:
        self.made += 1
        number = self.heads[root] = self.heads.get(root, 0) + 1
        self.rows[f"delta-{self.made}"] = rows
        write_commit(self.files, root, number, self.made)
        return self.at(root, number)

    def copy(self, source: Root, target: Root, number: int) -> None:
        assert self.files.create(target.snapshot(number), self.files.read(source.snapshot(number)))
        self.heads[target] = number

    def branch(self, root: Root, back: int) -> None:
        """Made of a snapshot of main, which is all that it has of it."""
        if root != MAIN and root not in self.heads:
            self.files.create(root.schema(0), b"{}")
            self.copy(MAIN, root, max(1, self.heads[MAIN] - back))

    def delete(self, root: Root) -> None:
        if root != MAIN and root in self.heads:
            del self.heads[root]
            for directory in (root.snapshots, root.schemas):
                for name in self.files.names(directory):
                    self.files.delete(f"{directory}/{name}")

    def merge(self, source: Root, target: Root, *, along: bool, back: int) -> None:
        if source == target or not {source, target} <= self.heads.keys():
            return
        number = self.heads[source] - back
        if not self.files.exists(source.snapshot(number)):
            return
        head = Snapshot.from_path(self.files, source.snapshot(number))
        into, of = (Side(self.files, each, ancestors_only=True) for each in (target, source))
        try:
            if main_that_it_brings(self.files, into, of, head) is not None:
                return
            base = base_of(self.files, into, of, head)
        except Refused:
            assert self.may_refuse, "refused"
            return
        before, is_own = self.at(target, self.heads[target]), base.root == source
        there, rows, had = self.of(before), self.of(head), self.of(base.state)
        if rows - had == had - rows or (head.id < base.state.id and is_own):
            return
        if had - rows:
            return
        if along and source != MAIN and is_own and point_of(base.state) == before:
            for each in range(before.id + 1, head.id + 1):
                self.copy(source, target, each)
            made = point_of(head)
        else:
            made = self.write(target, there + (rows - had))
        now = self.of(made)
        assert max(now.values()) == 1, "a row came twice"
        if not self.was_undone:
            assert rows <= now, "a row did not come"
        merged = MergeEvent(
            kind="merge",
            root=target.branch,
            main=made,
            branch=source.label,
            head=point_of(head),
            base_head=point_of(base.state) if is_own else None,
            base_main=point_of(base.target_state) if is_own else None,
        )
        merge_history.record(self.files, TABLE, merged)
        self.merges[target] = before.id, made.id

    def undo(self, root: Root) -> None:
        before, made = self.merges.get(root, (0, 0))
        if made and made == self.heads.get(root):
            then = self.at(root, before)
            undone = MergeEvent(
                kind="rollback", root=root.branch, main=self.write(root, self.of(then)), to=before, then=then
            )
            merge_history.record(self.files, TABLE, undone)
            self.was_undone = True

    def do(self, step: Step) -> None:
        what, one, other = step
        root = self.root(one)
        if what == "commit" and root in self.heads:
            self.made += 1
            self.write(root, self.of(self.at(root, self.heads[root])) + Counter({self.made: 1}))
        elif what == "branch":
            self.branch(root, other)
        elif what == "delete":
            self.delete(root)
        elif what == "undo":
            self.undo(root)
        elif what in ("merge", "forward", "part"):
            self.merge(root, self.root(other), along=what == "forward", back=int(what == "part"))


MADE = [("branch", 1, 0), ("branch", 2, 0), ("branch", 3, 0)]
OWN = [("commit", each, 0) for each in range(4)]


@settings(max_examples=60, deadline=None)
@given(STEPS)
@example([*MADE, *OWN, ("merge", 1, 2), ("merge", 2, 0), ("commit", 1, 0), ("merge", 1, 0)])
@example([*MADE, *OWN, ("merge", 1, 2), ("merge", 1, 0), ("merge", 2, 0)])
@example([*MADE, *OWN, ("merge", 0, 1), ("merge", 1, 0), ("merge", 0, 1), ("commit", 0, 0), ("merge", 1, 0)])
@example([*MADE, *OWN, ("merge", 1, 2), ("delete", 1, 0), ("merge", 2, 0), ("branch", 1, 0), ("merge", 1, 0)])
def test_no_row_comes_twice_and_none_stays_out(steps: list[Step]) -> None:
    with TemporaryDirectory() as directory:
        model = Model(LocalFiles(directory))
        for step in [*MADE, *steps]:
            model.do(step)


@pytest.mark.parametrize(
    "steps",
    [
        # A branch is brought up to date with main, and merged into it later.
        [("merge", 0, 1), ("merge", 1, 0), ("commit", 1, 0), ("merge", 0, 1), ("merge", 1, 0)],
        # A release gets two branches, main the release, and a branch main.
        [
            ("merge", 1, 3),
            ("merge", 2, 3),
            ("merge", 3, 0),
            ("merge", 0, 1),
            ("merge", 0, 2),
            ("merge", 1, 0),
        ],
        [("merge", 1, 2), ("merge", 0, 2), ("merge", 2, 0), ("commit", 1, 0), ("merge", 1, 0)],
        [
            ("merge", 1, 2),
            ("merge", 1, 0),
            ("merge", 2, 0),
            ("merge", 0, 2),
            ("merge", 0, 1),
            ("merge", 1, 2),
        ],
    ],
)
def test_usual_ways_are_not_refused(steps: list[Step], tmp_path: Path) -> None:
    model = Model(LocalFiles(str(tmp_path)), may_refuse=False)
    for step in [*MADE, *OWN, *steps]:
        model.do(step)


def test_a_branch_that_went_along_another_gets_main(tmp_path: Path) -> None:
    model = Model(LocalFiles(str(tmp_path)), may_refuse=False)
    ways = [("forward", 1, 2), ("merge", 0, 2), ("merge", 2, 0), ("merge", 1, 0), ("merge", 0, 1)]
    for step in [*MADE, ("commit", 1, 0), ("commit", 0, 0), *ways]:
        model.do(step)
    assert model.of(model.at(MAIN, model.heads[MAIN])) == Counter({0: 1, 2: 1, 4: 1})

"""The base of the next merge against a model, over any order of merges, rollbacks, undos and truncations."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory

from hypothesis import example, given
from hypothesis import strategies as st

from paimark.core.actions.merge import history as merge_history
from paimark.core.actions.merge.base import base_of
from paimark.core.actions.merge.history import MergeEvent
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.forks import Side
from paimark.core.table.records import Point, Snapshot, is_same_commit, point_of
from tests.long import unhurried

TABLE = TablePath("shop", "t")
MAIN, FIX = TABLE.root(), TABLE.root("fix")
FORK = 3
Step = tuple[str, int]
KINDS = ("branch", "main", "merge", "forward", "back", "undo", "cut", "uncut")
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 9)), max_size=14)


def write_commit(files: LocalFiles, root: Root, number: int, made: int) -> None:
    """A snapshot whose lists are named after the number of commits that were `made`."""
    snapshot = {
        "version": 3,
        "id": number,
        "schemaId": 0,
        "baseManifestList": f"base-{made}",
        "deltaManifestList": f"delta-{made}",
        "commitUser": "u",
        "commitIdentifier": 1,
        "commitKind": "APPEND",
        "timeMillis": made,
    }
    assert files.create(root.snapshot(number), json.dumps(snapshot).encode())


@dataclass
class Model:
    """`has` says of each of main's commits up to which of the branch's it has the rows."""

    files: LocalFiles
    has: dict[int, int] = field(default_factory=dict)
    branch: int = FORK
    made: int = 0
    archives: int = 0
    cuts: list[tuple[Root, dict[int, int]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.files.create(MAIN.schema(0), b"{}")
        self.files.create(FIX.schema(0), b"{}")
        for number in range(1, FORK + 1):
            self.has[number] = FORK
            self.write(MAIN, number)
        self.copy(MAIN, FIX, FORK)

    @property
    def head(self) -> int:
        return max(self.has)

    def write(self, root: Root, number: int) -> None:
        """A commit of its own: nobody names its lists so again."""
        self.made += 1
        write_commit(self.files, root, number, self.made)

    def copy(self, source: Root, target: Root, number: int) -> None:
        assert self.files.create(target.snapshot(number), self.files.read(source.snapshot(number)))

    def point(self, root: Root, number: int) -> Point:
        return point_of(Snapshot.from_path(self.files, root.snapshot(number)))

    def commit(self, has: int) -> Point:
        number = self.head + 1
        self.has[number] = has
        self.write(MAIN, number)
        self.cuts.clear()
        return self.point(MAIN, number)

    def base(self) -> tuple[Snapshot, Snapshot]:
        """The branch's commit that main has, and main's that has it, which is where it is said to be."""
        base = base_of(self.files, Side(self.files, MAIN), Side(self.files, FIX))
        root = base.root if is_same_commit(base.state, base.target_state) else MAIN
        assert point_of(base.target_state) == self.point(root, base.target_state.id)
        return base.state, base.target_state

    def merge(self, *, along: bool) -> None:
        head, main = self.base()
        if self.branch == head.id:
            return
        if along and self.point(MAIN, self.head) == point_of(head):
            for number in range(head.id + 1, self.branch + 1):
                self.has[number] = number
                self.copy(FIX, MAIN, number)
            self.cuts.clear()
            made = self.point(MAIN, self.branch)
        else:
            made = self.commit(self.branch)
        event = MergeEvent(
            kind="merge",
            main=made,
            branch="fix",
            head=self.point(FIX, self.branch),
            base_head=point_of(head),
            base_main=point_of(main),
        )
        merge_history.record(self.files, TABLE, event)

    def back(self, to: int) -> None:
        then = self.point(MAIN, to)
        event = MergeEvent(kind="rollback", main=self.commit(self.has[to]), to=to, then=then)
        merge_history.record(self.files, TABLE, event)

    def cut(self, to: int) -> None:
        self.archives += 1
        archive = TABLE.root(f"archive-{self.archives}")
        later = {number: has for number, has in self.has.items() if number > to}
        self.move(MAIN, archive, later, to)
        self.has = {number: has for number, has in self.has.items() if number <= to}
        self.cuts.append((archive, later))

    def uncut(self) -> None:
        if self.cuts:
            archive, later = self.cuts.pop()
            self.move(archive, MAIN, later, self.head)
            self.has |= later

    def move(self, source: Root, target: Root, numbers: dict[int, int], after: int) -> None:
        for number in numbers:
            self.copy(source, target, number)
            self.files.delete(source.snapshot(number))
        merge_history.move(self.files, source, target, after)

    def do(self, step: Step) -> None:
        what, number = step
        earlier = [each for each in sorted(self.has) if FORK <= each < self.head]
        if what == "branch":
            self.branch += 1
            self.write(FIX, self.branch)
        elif what == "main":
            self.commit(self.has[self.head])
        elif what in ("merge", "forward"):
            self.merge(along=what == "forward")
        elif what == "uncut":
            self.uncut()
        elif earlier:
            to = earlier[-1] if what == "undo" else earlier[number % len(earlier)]
            (self.cut if what == "cut" else self.back)(to)


@unhurried(100)
@given(STEPS)
@example([("branch", 0), ("branch", 0), ("forward", 0), ("cut", 1), ("back", 0)])
@example([("branch", 0), ("forward", 0), ("cut", 0), ("forward", 0), ("cut", 0)])
def test_what_main_has_of_a_branch_is_known_whatever_was_done(steps: list[Step]) -> None:
    with TemporaryDirectory() as directory:
        model = Model(LocalFiles(directory))
        for step in steps:
            model.do(step)
            head, main = model.base()
            assert head.id == model.has[model.head]
            assert model.has.get(main.id, head.id) == head.id

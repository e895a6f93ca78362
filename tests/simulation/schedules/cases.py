"""The cases of the crash points: every action in each of its variants, on a table prepared for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.simulation.actors.deterministic import deterministic
from tests.simulation.actors.scheduler import Actor
from tests.simulation.memory import StoreKind
from tests.simulation.schedules.bench import Bench
from tests.simulation.stock.writer import StockWriter
from tests.simulation.world import RENAMED, TABLE

Step = Callable[[Bench], object]


@dataclass(frozen=True)
class Case:
    """`action` with `arguments`, after `steps`, on a table of four commits with a tag `fork` at the third."""

    name: str
    action: str
    arguments: dict[str, object] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    keyed: bool = False

    def prepared(self, kind: StoreKind = "local") -> Bench:
        """Prepare the table, in the same way each time."""
        bench = Bench(Random(self.name), kind, keyed=self.keyed)
        with deterministic(bench.scheduler, Random("names of the table")):
            self._prepare(bench)
        return bench

    def _prepare(self, bench: Bench) -> None:
        bench.create_table({"savepoint.create-interval": "1 h"} if self.action == "auto-savepoint" else {})
        for _ in range(3):
            bench.write()
        bench.act("create-tag", name="fork")
        bench.write()
        for step in self.steps:
            step(bench)


def _act(action: str, /, **arguments: object) -> Step:
    def step(bench: Bench) -> None:
        done = bench.act(action, **arguments)
        assert done is not None and done.state == "acknowledged", bench.world.trace[-3:]

    return step


def _commits(branch: str | None = None, count: int = 1, *, alters: bool = False) -> Step:
    def step(bench: Bench) -> None:
        for _ in range(count):
            bench.write(branch, alters=alters)

    return step


def _new_branch(bench: Bench) -> None:
    """Create a branch at main's newest snapshot with two commits, so that main can fast-forward."""
    _act("create-tag", name="now")(bench)
    _act("create-branch", name="b", tag="now")(bench)
    bench.write("b")
    bench.write("b")


def _tag_by_itself(bench: Bench) -> None:
    """Create an automatic tag, which engines delete later, and expire its snapshot."""
    bench.maintenance().create_tag("2026-05-01", 4)
    bench.write(None, "overwrite")
    bench.expire()


def _others_are_faster(bench: Bench) -> None:
    """Let main get commits while the next rewrite writes its rows, so that the rewrite tries again."""
    bench.world.faster_commits = 2


def _stray(bench: Bench) -> None:
    """Leave a stray commit: a session that was opened before a branch became main commits."""
    writer = StockWriter(bench.world, Actor("stale"), TABLE.root())
    latest = writer.latest()
    writer.latest = lambda: latest  # type: ignore[method-assign]
    _act("replace-main-branch", name="b")(bench)
    writer.commit()


_BRANCH = (_act("create-branch", name="b", tag="fork"), _commits("b", 2))
_ALTERED = (_act("create-branch", name="b", tag="fork"), _commits("b", alters=True), _commits("b"))
# The branch drops a column that main has.
_DROPPED = (
    *(_act("alter-branch-schema", add="c INT"), _commits(), _act("create-tag", name="wide")),
    *(_act("create-branch", name="b", tag="wide"), _act("alter-branch-schema", drop="c", branch="b")),
    *(_commits("b"), _commits()),
)
_MERGED = (*_BRANCH, _act("merge-branch", name="b", on_conflict="branch"))
# Another branch, which gets what `b` has.
_C = _act("create-branch", name="c", tag="fork")
_TWO = (*_BRANCH, _C, _commits("c"))
_ALONG = (*_BRANCH, _C, _act("merge-branch", name="b", into="c"))
_KEEPS_ONE: dict[str, object] = {"retain_last": 1, "branch": "c"}
_BETWEEN = (*_TWO, _act("merge-branch", name="b", into="c", on_conflict="branch"))
_CAME = (*_BETWEEN, _act("merge-branch", name="c", on_conflict="branch"))
_POINTED = (*_BRANCH, _act("replace-main-branch", name="b"))
_SCRIPT = {"name": "b", "statement": "merge-into", "key": 1, "value": 70, "wrong": 0}
_SAVED = (_act("create-savepoint"), _commits())

CASES = (
    Case("savepoint of the newest", "create-savepoint"),
    Case("savepoint of an older one", "create-savepoint", {"snapshot": 2}),
    Case("savepoint on a branch", "create-savepoint", {"branch": "b"}, _BRANCH),
    Case("savepoint that is due", "auto-savepoint"),
    Case("tag", "create-tag", {"name": "new", "snapshot": 2}),
    Case("tag on a branch", "create-tag", {"name": "new", "branch": "b"}, _BRANCH),
    Case("tag is renamed", "rename-tag", {"name": "fork", "to": "new"}, (lambda bench: bench.expire(),)),
    Case("tag of a branch that is main is renamed", "rename-tag", {"name": "fork", "to": "new"}, _POINTED),
    Case("branch", "create-branch", {"name": "new", "tag": "fork"}),
    Case("branch from a savepoint", "create-branch", {"name": "new", "tag": "savepoint.1"}, _SAVED),
    Case("branch from the newest snapshot", "create-branch", {"name": "b", "snapshot": 4}),
    Case("branch from an older snapshot", "create-branch", {"name": "b", "snapshot": 2}),
    Case(
        "branch from a tag of engines", "create-branch", {"name": "b", "tag": "2026-05-01"}, (_tag_by_itself,)
    ),
    Case("tag goes", "delete-tag", {"name": "fork"}, (lambda bench: bench.expire(),)),
    Case("savepoint goes", "delete-savepoint", {"id": 1}, (*_SAVED, lambda bench: bench.expire())),
    Case("compaction", "compact", {"full": True}),
    Case("compaction of keys on a branch", "compact", {"branch": "b"}, _BRANCH, keyed=True),
    Case("statistics", "analyze", {"columns": "*"}),
    Case("undo of what was compacted", "undo", {}, (*_MERGED, _act("compact"))),
    Case("rows go", "delete-from", {"key": 1}),
    Case("rows of a key go", "delete-from", {"key": 1}, keyed=True),
    Case("rows change", "update", {"key": 1, "value": 70}),
    Case(
        "rows of a key change on a branch",
        "update",
        {"key": 1, "value": 70, "branch": "b"},
        _BRANCH,
        keyed=True,
    ),
    Case("rows are merged", "merge-into", {"key": 1, "value": 70}),
    Case("a new key is merged", "merge-into", {"key": 7, "value": 70}, keyed=True),
    Case("all rows go", "insert-overwrite"),
    Case("all rows of keys on a branch go", "insert-overwrite", {"branch": "b"}, _BRANCH, keyed=True),
    Case("undo of rows that went", "undo", {}, (_act("delete-from", key=1), _act("compact"))),
    Case("undo of rows that changed", "undo", {}, (_act("update", key=2, value=70),), keyed=True),
    Case("commit is taken back", "revert", {"snapshot": 3}),
    Case("commit that was compacted is taken back", "revert", {"snapshot": 3}, (_act("compact"),)),
    Case("commit of keys is taken back", "revert", {"snapshot": 4}, keyed=True),
    Case(
        "commit of keys is taken back on a branch",
        "revert",
        {"snapshot": 4, "branch": "b", "on_conflict": "then"},
        _BRANCH,
        keyed=True,
    ),
    Case(
        "rows come back",
        "restore-rows",
        {"from_version": "fork", "where": "k = 1"},
        (_act("delete-from", key=1),),
    ),
    Case(
        "rows of a key come back",
        "restore-rows",
        {"from_version": "fork", "where": "k = 1", "on_conflict": "then"},
        (_act("merge-into", key=1, value=70),),
        keyed=True,
    ),
    Case("a row is edited", "edit-rows", {"word": "set", "key": 1, "value": 70}, keyed=True),
    Case(
        "a row that was deleted since is edited on a branch",
        "edit-rows",
        {"word": "set", "key": 1, "value": 70, "read_at": "fork", "on_conflict": "edited", "branch": "b"},
        (*_BRANCH, _act("delete-from", key=1, branch="b")),
        keyed=True,
    ),
    Case("tag is protected", "protect", {"tag": "fork", "reason": "kept"}),
    Case(
        "tag is protected no longer",
        "unprotect",
        {"tag": "fork"},
        (_act("protect", tag="fork", reason="kept"),),
    ),
    Case("undo of a revert", "undo", {}, (_act("revert", snapshot=3),)),
    Case("branch goes", "delete-branch", {"name": "b"}, _BRANCH),
    Case("branch without commits goes", "delete-branch", {"name": "b"}, _BRANCH[:1]),
    Case("merged branch goes", "delete-branch", {"name": "b"}, _MERGED),
    Case(
        "branch goes with a pin that alone kept its files",
        "delete-branch",
        {"name": "b"},
        (*_MERGED, lambda bench: bench.write(None, "overwrite"), lambda bench: bench.expire()),
    ),
    Case("branch goes that another went along", "delete-branch", {"name": "b"}, _ALONG),
    Case("expiry of a branch that went along another", "expire-snapshots", _KEEPS_ONE, _ALONG),
    Case("branch is retired", "delete-branch", {"name": "b", "keep": True}, _BRANCH),
    Case("branch is renamed", "rename-branch", {"name": "b", "to": "new"}, _BRANCH),
    Case("merged branch is renamed", "rename-branch", {"name": "b", "to": "new"}, _BETWEEN),
    Case("expiry", "expire-snapshots", {"retain_last": 2}, _SAVED),
    Case("expiry of a branch", "expire-snapshots", {"retain_last": 1, "branch": "b"}, _BRANCH),
    Case("fast-forward", "merge-branch", {"name": "b"}, (_new_branch,)),
    Case(
        "fast-forward with a column", "merge-branch", {"name": "b"}, (_new_branch, _commits("b", alters=True))
    ),
    Case("merge", "merge-branch", {"name": "b"}, _BRANCH),
    Case("merge with a column", "merge-branch", {"name": "b"}, _ALTERED),
    Case("merge that drops a column", "merge-branch", {"name": "b", "drop_columns": True}, _DROPPED),
    Case("second merge", "merge-branch", {"name": "b"}, (*_MERGED, _commits("b"), _commits())),
    Case(
        "merge on a main that moves",
        "merge-branch",
        {"name": "b"},
        (*_BRANCH, _commits(), _others_are_faster),
    ),
    Case("merge by key", "merge-branch", {"name": "b", "on_conflict": "branch"}, _BRANCH, keyed=True),
    # Keys are chosen by the case's name. Here others commit to a key that the branch changed, ...
    Case(
        "merge by key on a main that moves",
        "merge-branch",
        {"name": "b", "on_conflict": "branch"},
        (*_BRANCH, _others_are_faster),
        keyed=True,
    ),
    # ... and here only to other keys, so the rows are written once.
    Case(
        "merge by key beside other keys",
        "merge-branch",
        {"name": "b", "on_conflict": "branch"},
        (*_BRANCH, _others_are_faster),
        keyed=True,
    ),
    Case("script is tried", "try", {**_SCRIPT, "publish": "merge"}),
    Case("script is tried on a main that moves", "try", {**_SCRIPT, "publish": "merge"}, keyed=True),
    Case("script is tried, and the branch made main", "try", {**_SCRIPT, "publish": "replace"}),
    Case("fast-forward of a branch", "merge-branch", {"name": "b", "into": "c"}, (*_BRANCH, _C)),
    Case("merge into a branch", "merge-branch", {"name": "b", "into": "c"}, _TWO),
    Case(
        "merge into a branch that moves",
        "merge-branch",
        {"name": "b", "into": "c"},
        (*_TWO, _others_are_faster),
    ),
    Case("merge of main into a branch", "merge-branch", {"name": "main", "into": "b"}, _BRANCH),
    Case(
        "merge by key into a branch",
        "merge-branch",
        {"name": "b", "into": "c", "on_conflict": "branch"},
        _TWO,
        keyed=True,
    ),
    Case("merge of what a branch has of another", "merge-branch", {"name": "c"}, _BETWEEN),
    Case("merge of a branch that came by another", "merge-branch", {"name": "b"}, (*_CAME, _commits("b"))),
    Case("rollback", "rollback", {"to": "fork"}, _SAVED),
    Case("rollback on a main that moves", "rollback", {"to": "fork"}, (*_SAVED, _others_are_faster)),
    Case("rollback of a merge", "rollback", {"to": "snapshot.4"}, _MERGED),
    Case("truncation", "rollback", {"to": "fork", "truncate": True}, _SAVED),
    Case("truncation of commits", "rollback", {"to": "snapshot.1", "truncate": True}, (_commits(),)),
    Case("overwrite", "replace-main-branch", {"name": "b", "layout": "overwrite"}, _ALTERED),
    Case("pointer", "replace-main-branch", {"name": "b"}, (*_BRANCH, *_SAVED)),
    Case(
        "pointer, the old main dropped", "replace-main-branch", {"name": "b", "drop_previous": True}, _BRANCH
    ),
    Case(
        "second pointer",
        "replace-main-branch",
        {"name": "c"},
        (_act("create-branch", name="c", tag="fork"), _commits("c"), *_POINTED),
    ),
    Case("undo of a merge", "undo", {}, _MERGED),
    Case("undo of a merge into a branch", "undo", {}, _BETWEEN),
    Case(
        "undo of a merge that dropped a column",
        "undo",
        {},
        (*_DROPPED, _act("merge-branch", name="b", drop_columns=True)),
    ),
    Case("undo of a fast-forward", "undo", {}, (_new_branch, _act("merge-branch", name="b"))),
    Case("undo of a rollback", "undo", {}, (_act("rollback", to="fork"),)),
    Case("undo of a truncation", "undo", {}, (_act("rollback", to="fork", truncate=True),)),
    Case("undo of a pointer", "undo", {}, (*_POINTED, _commits("b"))),
    Case(
        "undo of a pointer, a savepoint of the newest",
        "undo",
        {},
        (*_BRANCH, _act("create-savepoint"), _act("replace-main-branch", name="b")),
    ),
    Case(
        "undo of a pointer, a tag of main's past",
        "undo",
        {},
        (_act("create-tag", name="past", snapshot=2), *_POINTED, _commits("b")),
    ),
    Case("undo of a retirement", "undo", {}, (*_BRANCH, _act("delete-branch", name="b", keep=True))),
    Case("column", "alter-branch-schema", {"add": "c INT"}),
    Case("column of a branch", "alter-branch-schema", {"add": "c INT", "branch": "b"}, _BRANCH),
    Case("table is dropped", "drop-table", {}, (*_BRANCH, *_SAVED)),
    Case("table is renamed", "rename-table", {"to": RENAMED.name}, (*_BRANCH, *_SAVED)),
    Case("table comes back", "undrop", {}, (*_BRANCH, *_SAVED, _act("drop-table"))),
    Case("rescue", "rescue-commits", {"name": "rescued"}, (*_BRANCH, _stray)),
)

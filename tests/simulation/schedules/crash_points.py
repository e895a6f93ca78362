"""Kill each case at each of its writes, let others act, and recover."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from paimark.core.table.layout import BARRIER_ID
from tests.simulation.actors.deterministic import deterministic
from tests.simulation.actors.operations import MOVES
from tests.simulation.actors.scheduler import Actor, Fate
from tests.simulation.actors.server import Server
from tests.simulation.judging import view
from tests.simulation.memory import StoreKind
from tests.simulation.schedules.bench import Bench
from tests.simulation.schedules.cases import Case
from tests.simulation.schedules.jobs import OpenJobs
from tests.simulation.stock.orphans import OrphanCleaning
from tests.simulation.world import TABLE, Violation

LATE: tuple[Fate, ...] = ("late", "die late")
# Jobs open the table before the action, and right after its death. They commit before the recovery and
# after it, or only after it.
JOBS_GO_ON, JOBS_WAIT = "open jobs go on", "open jobs wait"
# Known faults, left out until they are fixed: a case, and the event before its recovery.
KNOWN_FAULTS = frozenset(
    {
        ("expiry of a branch", "main is fast-forwarded"),
        ("pointer", "main is fast-forwarded"),
        ("merge that drops a column", JOBS_WAIT),
        ("truncation of commits", "others commit and all that is old expires"),
        ("undo of a truncation", "others commit and all that is old expires"),
    }
)


class Point(NamedTuple):
    """A case killed at a write, counted from 1, and the event before its recovery."""

    case: str
    write: int
    fate: Fate
    meanwhile: str

    def __str__(self) -> str:
        return f"{self.case}: {self.fate} write {self.write}, {self.meanwhile}"


def _commits(bench: Bench) -> None:
    """Stock jobs commit to main's plain name and to every branch that existed."""
    for root in bench.watch.doubts[-1].begun.heads if bench.watch.doubts else ():
        if view.head(bench.world.store, root):
            bench.alone(lambda root=root: bench.write(root.branch, "append", "append"))  # type: ignore[misc]


def _expires(bench: Bench) -> None:
    bench.alone(bench.expire)


def _commits_and_expires(bench: Bench) -> None:
    _commits(bench)
    _expires(bench)


def _overwrites_and_expires(bench: Bench) -> None:
    """A stock job overwrites main, and what it replaced expires: only references hold files of the past."""
    if view.head(bench.world.store, TABLE.root()):
        bench.alone(lambda: bench.write(None, "overwrite"))
    _expires(bench)


def _commits_and_expires_all(bench: Bench) -> None:
    """Others commit, consumers expire, automatic tags are deleted, and then main expires."""
    _commits(bench)
    bench.alone(lambda: bench.maintenance().expire_consumers())
    bench.alone(lambda: bench.maintenance().delete_own_tags())
    _expires(bench)


def _names(bench: Bench) -> None:
    """A stock engine creates a tag and a branch of main, and Paimark a tag on each branch."""
    store = bench.world.store
    head = view.head(store, TABLE.root())
    if head is not None:
        bench.alone(lambda: bench.maintenance().create_tag("stock", head.id))
        bench.alone(lambda: bench.maintenance().create_branch("stocks", "stock"))
    for root in bench.watch.doubts[-1].begun.heads if bench.watch.doubts else ():
        if root.branch and view.head(store, root):
            bench.alone(lambda root=root: bench.act("create-tag", name="mine", branch=root.branch))  # type: ignore[misc]


def _rolls_back(bench: Bench) -> None:
    """A stock engine rolls the table directory back, which it takes for main until the barrier exists."""
    store, root = bench.world.store, TABLE.root()
    ids = list(view.snapshots(store, root))
    if len(ids) < 2 or root.snapshot(BARRIER_ID) in store.files:
        return
    bench.world.stock_may_drop = TABLE.root()
    bench.alone(lambda: bench.maintenance().roll_back(ids[-2]))
    bench.world.stock_may_drop = None


def _fast_forwards(bench: Bench) -> None:
    """A stock engine fast-forwards the table directory, its main until the barrier exists, to branch b."""
    store, root = bench.world.store, TABLE.root()
    if view.head(store, TABLE.root("b")) is None or root.snapshot(BARRIER_ID) in store.files:
        return
    bench.world.stock_may_drop = root
    bench.alone(lambda: bench.maintenance().fast_forward("b"))
    bench.world.stock_may_drop = None


def _deletes(bench: Bench) -> None:
    """A stock engine deletes branch b, unless only b has the tag of a savepoint."""
    own = {each for each in view.tags(bench.world.store, TABLE.root("b")) if each.startswith("savepoint.")}
    if _is_open(bench) and own <= view.tags(bench.world.store, TABLE.root()).keys():
        bench.delete(TABLE.root("b"))


def _makes_anew(bench: Bench) -> None:
    """A stock engine deletes the rest of branch b, creates another of that name, and a job writes to it.

    If main has a tag `past`, the other branch begins there, and has a snapshot that the first one copied.
    """
    tags = view.tags(bench.world.store, TABLE.root())
    there = [each for each in ("past", "fork") if each in tags]
    if _is_open(bench) and there:
        bench.make_anew(TABLE.root("b"), there[0])


def _tags_again(bench: Bench) -> None:
    """A job commits, and a stock engine makes each tag of main again, there, on which no branch stands.

    So it does for the names that the interrupted action was about.
    """
    if not _is_open(bench) or view.head(bench.world.store, TABLE.root()) is None:
        return
    bench.alone(bench.write)
    for name in _names_of_tags(bench):
        bench.tag_again(name)


def _we_tag_again(bench: Bench) -> None:
    """A job commits, and we make each tag that is missing."""
    if view.head(bench.world.store, TABLE.root()) is None:
        return
    bench.alone(bench.write)
    there = view.tags(bench.world.store, TABLE.root())
    for name in _names_of_tags(bench):
        if name not in there:
            bench.alone(lambda name=name: bench.act("create-tag", name=name))  # type: ignore[misc]


def _names_of_tags(bench: Bench) -> list[str]:
    """The names of tags that users of main may make again."""
    store = bench.world.store
    roots = [each for each in view.roots(store) if each.branch]
    on = {found for each in roots for found in bench.world.ancestors(view.head(store, each))}
    tags = view.tags(store, TABLE.root())
    free = [name for name, found in tags.items() if found not in on and not view.is_of_engines(name)]
    about = bench.watch.doubts[-1].tags_named() if bench.watch.doubts else []
    kept = {name for each in roots for name in view.tags(store, each)}
    found = [each for each in (*free, *about) if each not in kept]
    return sorted({each for each in found if not each.startswith(("paimark.", "savepoint."))})


def _is_open(bench: Bench) -> bool:
    """Whether stock engines can open the table, and an actor has died."""
    store, root = bench.world.store, TABLE.root()
    is_main = view.main_root(store) == root and root.snapshot(BARRIER_ID) not in store.files
    return is_main and bool(bench.watch.doubts) and bool(view.schema_ids(store, root))


def _cleans_orphans(bench: Bench) -> None:
    """Days later, a stock engine deletes all orphan files."""
    bench.alone(lambda: OrphanCleaning(bench.world, Actor("cleaner")).clean())


def _another(bench: Bench) -> None:
    """Other actions of Paimark start: one that does not lock the table, and one that does."""
    bench.alone(lambda: bench.act("create-savepoint"))
    bench.alone(lambda: bench.act("expire-snapshots", retain_last=1))


def _recovery_dies(bench: Bench) -> None:
    bench.dies(bench.random.randint(1, 6), "die after", "recover")
    _commits_and_expires(bench)


MEANWHILE: dict[str, Callable[[Bench], object]] = {
    "nothing happens": lambda bench: None,
    "others commit": _commits,
    "main expires": _expires,
    "others commit and main expires": _commits_and_expires,
    "main is overwritten and expires": _overwrites_and_expires,
    "others commit and all that is old expires": _commits_and_expires_all,
    "tags and branches are made": _names,
    "main is rolled back": _rolls_back,
    "main is fast-forwarded": _fast_forwards,
    "orphans are removed": _cleans_orphans,
    "the branch is deleted": _deletes,
    "another branch gets its name": _makes_anew,
    "its tags are made again": _tags_again,
    "we make its tags again": _we_tag_again,
    JOBS_GO_ON: lambda bench: None,
    JOBS_WAIT: lambda bench: None,
    "others of our actions start": _another,
    "a recovery dies half-way": _recovery_dies,
}


class CrashPoints:
    """All points of one case, each on a copy of the same table. `opened` opens real stores of the kind."""

    def __init__(
        self, case: Case, kind: StoreKind = "local", opened: Callable[[], Server] | None = None
    ) -> None:
        self.case = case
        self._opened = opened
        self._prepared = case.prepared(kind)
        counted = self._prepared.copy()
        with deterministic(counted.scheduler, Random("names")):
            done = counted.act(case.action, **case.arguments)
        if done is None or done.state != "acknowledged":
            raise Violation(f"{case.name} can't be done at all: {counted.world.trace[-1]}")
        self._writes = done.actor.writes
        # The trace of the last run.
        self.trace: list[str] = []

    def points(self) -> Iterator[Point]:
        """Kills before the first write, in the middle of it, and after each write."""
        fates: list[tuple[int, Fate]] = [(1, "die before"), (1, "die half")]
        fates += [(number, "die after") for number in range(1, self._writes + 1)]
        for number, fate in fates:
            for meanwhile in self._events:
                yield Point(self.case.name, number, fate, meanwhile)

    @property
    def _events(self) -> list[str]:
        # A job that goes on after its table was moved writes to a new one, as its plan says.
        is_move = self.case.action in MOVES
        return [each for each in MEANWHILE if not (is_move and each in (JOBS_GO_ON, JOBS_WAIT))]

    def late_points(self) -> Iterator[Point]:
        """Late writes: the object store carries a write out once the change is recovered."""
        for number in range(1, self._writes + 1):
            for fate in LATE:
                for meanwhile in ("nothing happens", "others commit"):
                    yield Point(self.case.name, number, fate, meanwhile)

    def run(self, point: Point) -> Bench:
        """Run a point; returns the table afterwards. Raises `Violation`."""
        bench = self._prepared.copy()
        if self._opened:
            bench.world.server = self._opened()
            bench.world.server.fill(bench.world.store)
        with deterministic(bench.scheduler, Random(f"names of {point}")):
            self._run(bench, point)
        return bench

    def _run(self, bench: Bench, point: Point) -> None:
        world, self.trace = bench.world, bench.world.trace
        world.late.are_latest = True
        world.may_be_late = point.fate in LATE
        jobs = OpenJobs(bench, are_wanted=point.meanwhile in (JOBS_GO_ON, JOBS_WAIT))
        world.begin_round(1)
        jobs.open()
        bench.dies(point.write, point.fate, self.case.action, **self.case.arguments)
        world.begin_round(2)
        jobs.open()
        if point.meanwhile == JOBS_GO_ON:
            jobs.go_on()
        MEANWHILE[point.meanwhile](bench)
        world.begin_round(3)
        bench.rest()
        jobs.go_on()
        if point.fate in LATE:
            world.late.wait()
            bench.rest()
        world.begin_round(4)
        self._go_on(bench)
        bench.rest()
        bench.act("undo")
        jobs.go_on()
        bench.rest()
        self._much_later(bench)

    def _much_later(self, bench: Bench) -> None:
        """Main is overwritten, and its past expires: what other roots share with it must be held.

        Not after a stock engine rolled main back, with main's tags.
        """
        world, main = bench.world, TABLE.root()
        if view.main_root(world.store) != main or world.shares_snapshots or bench.watch.rolled_back:
            return
        world.begin_round(5)
        bench.alone(lambda: bench.write(None, "overwrite"))
        bench.alone(bench.expire)
        bench.rest()

    def _go_on(self, bench: Bench) -> None:
        """Use the table further: a merge, above all, must know which commits main already has."""
        branches = [root for root in view.roots(bench.world.store) if root.branch == "b"]
        for root in branches:
            if view.head(bench.world.store, root):
                bench.alone(lambda root=root: bench.write(root.branch))  # type: ignore[misc]
                bench.alone(lambda: bench.act("merge-branch", name="b", on_conflict="branch"))


def is_known_fault(point: Point) -> bool:
    return (point.case, point.meanwhile) in KNOWN_FAULTS

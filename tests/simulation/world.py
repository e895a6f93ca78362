"""The shared state of a run's actors: the store, the scheduler, all known commits, and the trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from random import Random

from paimark.core.table.layout import Root, TablePath
from tests.simulation.actors.late_writes import LateWrites
from tests.simulation.actors.scheduler import Actor, Scheduler
from tests.simulation.actors.server import Server
from tests.simulation.formats import Entry, Format, Identity, Manifest, Rows, entries_of, manifests_of
from tests.simulation.memory import MemoryStore

TABLE, RENAMED = TablePath("shop", "t"), TablePath("shop", "u")


class StockFault(BaseException):
    """A stock engine damaged the table by a fault of its own: the schedule ends without a judgement."""


class Violation(BaseException):
    """An invariant is broken, in one sentence. A `BaseException`, so that code under test can't catch it."""


@dataclass
class Commit:
    """The model of a commit since it was prepared, for all of its copies.

    `parent` is the commit before it; `content` the commit whose rows it continues, for a rollback an
    earlier one. `merged` has, by branch, its newest merged commit, and the commit of main that merged it.
    """

    identity: Identity
    rows: Rows
    parent: Identity | None
    content: Identity | None
    maker: Actor | None
    time: int
    merged: dict[str, tuple[Identity, Identity]] = field(default_factory=dict)
    is_acknowledged: bool = False
    has_landed: bool = False


# Called with the actor, the path, and the file's content before and after; None for no file.
Watcher = Callable[[Actor, str, bytes | None, bytes | None], None]


class World:
    """One table of a run."""

    def __init__(
        self, store: MemoryStore, scheduler: Scheduler, random: Random, formats: Format, *, keyed: bool
    ) -> None:
        self.store = store
        self.scheduler = scheduler
        self.random = random
        self.format = formats
        self.keyed = keyed
        self.commits: dict[Identity, Commit] = {}
        # By branch: the commit that it was created from.
        self.forks: dict[str, Identity] = {}
        # By root: the snapshots that it has or had.
        self.held: dict[Root, set[Identity]] = {}
        self.trace: list[str] = []
        self.watchers: list[Watcher] = []
        self.late = LateWrites(scheduler, random)
        # Whether the store may carry out requests that the client gave up.
        self.may_be_late = False
        # A real store that repeats each operation on `store`.
        self.server: Server | None = None
        # Behaviour of stores that the product may not withstand.
        self.s3_overwrites = False
        self.hdfs_replaces_in_two_steps = False
        # Files that dead or failed writers left.
        self.litter: set[str] = set()
        # The rows of the last check of each actor.
        self.checked: dict[Actor, Rows] = {}
        # The number of commits that others make between the plan of the next rewrite and its own commit.
        self.faster_commits = 0
        # Commits whose files a stock expiry began to delete, each with its round.
        self.expiring: dict[Identity, int] = {}
        # The root that a stock engine was told to roll back or to delete.
        self.stock_may_drop: Root | None = None
        # Branches that a stock engine deleted and created again.
        self.made_anew: set[Root] = set()
        # Whether main was fast-forwarded to a branch: since then they share some snapshots.
        self.shares_snapshots = False
        # Whether a branch was merged into another than main.
        self.merges_between = False
        # Whether something happened that leaves unneeded files behind.
        self.has_leaked = False
        # Whether snapshot ids were reused, so that the needed files are no longer known exactly.
        self.always_leaks = False
        self.round = 0
        self._numbers = 0

    def number(self) -> int:
        """A unique number, for keys, values and names."""
        self._numbers += 1
        return self._numbers

    def begin_round(self, number: int) -> None:
        self.round = number
        self.trace.append(f"{'':9} round {number}" if number >= 0 else f"{'':9} everything is taken back")

    def tell(self, actor: Actor | None, line: str) -> None:
        self.trace.append(f"{self.scheduler.elapsed / 1000:9.3f} {actor.name if actor else '-':<10} {line}")

    def changed(self, actor: Actor, path: str, before: bytes | None, after: bytes | None) -> None:
        for watcher in self.watchers:
            watcher(actor, path, before, after)

    def is_of_ours(self, path: str) -> bool:
        """Whether the path is a snapshot that an action of Paimark committed."""
        data = self.store.files.get(path)
        return data is not None and b'"commitUser": "paimark-' in data

    def ancestors(self, identity: Identity | None) -> list[Identity]:
        """The commit and its ancestors, newest first."""
        found = []
        while identity is not None and identity in self.commits:
            found.append(identity)
            identity = self.commits[identity].parent
        return found

    def had(self, root: Root, identity: Identity) -> bool:
        """Whether a commit is in the history of a root, or was."""
        return any(self.descends(each, identity) for each in self.held.get(root, ()))

    def descends(self, identity: Identity, ancestor: Identity) -> bool:
        """Whether `ancestor` is the commit itself or one of its ancestors."""
        return ancestor in self.ancestors(identity)


@cache
def manifest_entries(data: bytes) -> tuple[Entry, ...]:
    return tuple(entries_of(data))


@cache
def list_manifests(data: bytes) -> tuple[Manifest, ...]:
    return tuple(manifests_of(data))

"""What the actors of a run share: the store, the turn, what is known of every commit, and the trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from random import Random

from core.table.layout import Root, TablePath
from tests.simulation.actors.late_writes import LateWrites
from tests.simulation.actors.scheduler import Actor, Scheduler
from tests.simulation.actors.server import Server
from tests.simulation.formats import Entry, Format, Identity, Manifest, Rows, entries_of, manifests_of
from tests.simulation.memory import MemoryStore

TABLE = TablePath("shop", "t")


class StockFault(BaseException):
    """A stock engine did by itself what no one can judge: the schedule ends there."""


class Violation(BaseException):
    """The promise is broken. One sentence; nothing that is judged may catch it."""


@dataclass
class Commit:
    """What is known of a commit since it was prepared, wherever copies of it lie.

    `parent` is what it was made on, `content` whose rows it goes on from: an earlier commit for a rollback.
    `merged` are the branches whose rows it has: up to which of their commits, and main's that brought them.
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


# Who changed which file, from what to what; None for no file.
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
        # Which commit each branch was made from.
        self.forks: dict[str, Identity] = {}
        # The snapshots that each root has, or had.
        self.held: dict[Root, set[Identity]] = {}
        self.trace: list[str] = []
        self.watchers: list[Watcher] = []
        self.late = LateWrites(scheduler, random)
        # Whether the store may carry out what was given up.
        self.may_be_late = False
        # A real store, to which all is done that is done to `store`.
        self.server: Server | None = None
        # What the stores do, that the product may not be proof against.
        self.s3_overwrites = False
        self.hdfs_replaces_in_two_steps = False
        # Files that dead or beaten writers left, which nobody owns.
        self.litter: set[str] = set()
        # How many commits others make between the plan of the next rewriting and its own commit.
        self.faster_commits = 0
        # Commits whose files a stock expiry began to delete, with the round.
        self.expiring: dict[Identity, int] = {}
        # The root that a stock engine was told to roll back, or to delete.
        self.stock_may_drop: Root | None = None
        # Branches that a stock engine made in the place of others of their names.
        self.made_anew: set[Root] = set()
        # Whether main was moved along a branch: from then on both have some snapshots.
        self.shares_snapshots = False
        # Whether something happened that leaves files behind which nobody needs.
        self.has_leaked = False
        # Whether ids were given twice, after which nobody can tell what is needed as exactly.
        self.always_leaks = False
        self.round = 0
        self._numbers = 0

    def number(self) -> int:
        """A number that nobody had before: for keys, values and names."""
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
        """Whether there is a snapshot that an action of ours committed."""
        data = self.store.files.get(path)
        return data is not None and b'"commitUser": "paimark-' in data

    def ancestors(self, identity: Identity | None) -> list[Identity]:
        """The commit, the one it was made on, and so on."""
        found = []
        while identity is not None and identity in self.commits:
            found.append(identity)
            identity = self.commits[identity].parent
        return found

    def had(self, root: Root, identity: Identity) -> bool:
        """Whether a commit is in the history of a root, or was."""
        return any(self.descends(each, identity) for each in self.held.get(root, ()))

    def descends(self, identity: Identity, ancestor: Identity) -> bool:
        """Whether a commit is, or was made on top of, another."""
        return ancestor in self.ancestors(identity)


@cache
def manifest_entries(data: bytes) -> tuple[Entry, ...]:
    return tuple(entries_of(data))


@cache
def list_manifests(data: bytes) -> tuple[Manifest, ...]:
    return tuple(manifests_of(data))

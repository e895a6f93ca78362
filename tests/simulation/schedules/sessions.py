"""A session that stays open: it makes a plan, others act meanwhile, and then it applies the old plan.

The others are another session of Paimark, which may die, and stock engines, one after the other. The plan may
be saved as JSON in between, and may be applied twice.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from paimark.core.actions.plan import Plan
from paimark.core.table.layout import Root
from tests.simulation.actors.scheduler import Actor
from tests.simulation.formats import Format
from tests.simulation.judging import view
from tests.simulation.memory import StoreKind
from tests.simulation.schedules.hazards import Hazard
from tests.simulation.schedules.seeded import Seeded
from tests.simulation.stock.orphans import OrphanCleaning
from tests.simulation.world import TABLE

_MOST_UNDONE = 4


class Session(Seeded):
    """A session of Paimark with a plan, beside others."""

    def __init__(self, seed: int, kind: StoreKind, hazards: frozenset[Hazard], formats: Format) -> None:
        super().__init__(seed, kind, hazards, formats, salt="session ")

    def _run(self) -> None:
        self._begin({})
        for _ in range(self.random.randint(0, 3)):
            self._acts()
        for number in range(self.random.randint(1, 3)):
            self.world.begin_round(number)
            self._round()
            self.bench.rest()
        for _ in range(self.random.randint(0, _MOST_UNDONE)):
            self.bench.alone(lambda: self.bench.act("undo"))
            self.bench.rest()

    def _round(self) -> None:
        self.choices.cast()
        name, arguments = self.choices.action()
        console = self.bench.ours("console")
        planned = console.plan(name, **arguments)
        for _ in range(self.random.randint(1, 4)):
            self.random.choice(self._others)()
        if planned is None:
            return
        if self.random.random() < 0.5:
            saved = msgspec.json.decode(msgspec.json.encode(planned.plan), type=Plan)
            planned = planned._replace(plan=saved)
        if self.random.random() < 0.2:
            console.actor.dies_at = self.random.randint(1, 25)
        self.bench.alone(lambda: console.apply(planned))
        if self.random.random() < 0.3 and not console.actor.is_dead:
            self.world.tell(None, "the same plan is applied again")
            self.bench.alone(lambda: console.apply(planned))

    @property
    def _others(self) -> list[Callable[[], object]]:
        acts = (self._acts, self._acts, self._dies, self._dies, self._undoes, self._recovers)
        stock = (self._commits, self._commits, self._alters, self._maintains, self._moves_tag)
        return [*acts, *stock, self._makes_anew, self._deletes, self._cleans]

    def _acts(self) -> None:
        name, arguments = self.choices.action()
        self.bench.alone(lambda: self.bench.act(name, **arguments))

    def _dies(self) -> None:
        name, arguments = self.choices.action()
        self.bench.dies(self.random.randint(1, 25), "die after", name, **arguments)

    def _undoes(self) -> None:
        self.bench.alone(lambda: self.bench.act(self.random.choice(("undo", "undo", "redo"))))

    def _recovers(self) -> None:
        self.bench.alone(lambda: self.bench.act("recover"))

    def _commits(self) -> None:
        branch, kind = self.choices.written_root().branch, self.choices.commit_kind()
        self.bench.alone(lambda: self.bench.write(branch, kind))

    def _alters(self) -> None:
        branch = self.choices.written_root().branch
        self.bench.alone(lambda: self.bench.write(branch, alters=True))

    def _maintains(self) -> None:
        self.bench.alone(lambda: self.choices.maintain(self.bench.maintenance()))

    def _cleans(self) -> None:
        self.bench.alone(lambda: OrphanCleaning(self.world, Actor("cleaner")).clean())

    def _moves_tag(self) -> None:
        """A stock engine deletes one of its tags, and creates another with that name."""
        store, root = self.world.store, TABLE.root()
        own = [each for each in view.tags(store, root) if each.startswith("stock")]
        ids = list(view.snapshots(store, root))
        free = [each for each in own if not self.choices.is_branched_from(each)]
        if free and ids:
            name, to = self.random.choice(free), self.random.choice(ids)
            self.bench.alone(lambda: self.bench.maintenance().delete_tag(name))
            self.bench.alone(lambda: self.bench.maintenance().create_tag(name, to))

    def _deletes(self) -> None:
        """A stock engine deletes a branch. A later branch of that name is another one."""
        if roots := self._deletable():
            self.bench.delete(self.random.choice(roots))

    def _makes_anew(self) -> None:
        """A stock engine deletes a branch, creates another of its name, and a job writes to that one."""
        tags = [each for each in view.tags(self.world.store, TABLE.root()) if not each.startswith("paimark.")]
        if tags and (roots := self._deletable()):
            self.bench.make_anew(self.random.choice(roots), self.random.choice(tags))

    def _deletable(self) -> list[Root]:
        """The branches that a stock engine may delete: none while it can't open the table.

        A deletion removes the branch's tags, so branches with promised tags are left out, and those with tags
        of savepoints, which an undo makes by itself.
        """
        store = self.world.store
        promised = {root for root, _ in self.bench.watch.promised}
        promised |= {
            root
            for root in view.roots(store)
            if any(each.startswith("savepoint.") for each in view.tags(store, root))
        }
        if view.main_root(store) != TABLE.root():
            return []
        return [each for each in view.roots(store) if each.branch and each not in promised]

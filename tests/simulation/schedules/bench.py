"""A table with its judges, and deeds of one actor at a time. It can be copied in any state."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from random import Random

from paimark.core.actions.context import Context
from paimark.core.actions.registry import action
from paimark.core.errors import PaimarkError
from paimark.core.table.catalog import is_made
from paimark.core.table.layout import DATABASE_SUFFIX, Root, TablePath
from paimark.core.table.trash import dropped_tables
from tests.simulation.actors.operations import Operation
from tests.simulation.actors.ours import Ours, context_of
from tests.simulation.actors.scheduler import Actor, Death, Fate, Scheduler
from tests.simulation.formats import Format, Lean, schema_json
from tests.simulation.judging import view
from tests.simulation.judging.judge import Judge
from tests.simulation.judging.our_eyes import OurEyes
from tests.simulation.judging.outcomes import Outcomes
from tests.simulation.judging.watch import Watch
from tests.simulation.memory import MemoryStore, StoreKind
from tests.simulation.stock.expiry import StockMaintenance
from tests.simulation.stock.writer import Kind, StockError, StockWriter
from tests.simulation.world import RENAMED, TABLE, Violation, World

_MOST_RECOVERIES = 8


class Bench:
    """`random` is the source of all random choices."""

    def __init__(
        self, random: Random, kind: StoreKind, *, keyed: bool = False, formats: Format | None = None
    ) -> None:
        self.random = random
        self.scheduler = Scheduler(Random(random.random()), random.choice((0.05, 0.3, 0.8)))
        self.world = World(MemoryStore(kind), self.scheduler, random, formats or Lean(), keyed=keyed)
        self.watch = Watch(self.world)
        self.outcomes = Outcomes(self.world, self.watch)
        self.judge = Judge(self.world, self.watch)
        self.our_eyes = OurEyes(self.world)

    def copy(self) -> Bench:
        return deepcopy(self)

    def create_table(self, options: dict[str, str]) -> None:
        keyed = self.world.keyed
        wanted = {"bucket": "1" if keyed else "-1", **options}
        schema = schema_json(0, keyed=keyed, options=wanted)
        self.world.store.put(TABLE.root().schema(0), schema, 0)
        if self.world.server:
            self.world.server.fill(self.world.store)

    def ours(self, name: str) -> Ours:
        return Ours(self.world, self.watch, self.outcomes, Actor(name))

    def act(self, action: str, /, **arguments: object) -> Operation | None:
        """Run one of Paimark's actions, without other actors."""
        return self.ours("ours").do(action, **arguments)

    def dies(self, at: int, fate: Fate, action: str, /, **arguments: object) -> int:
        """Run an action whose actor dies at a write, counted from 1. Returns the number of its writes."""
        ours = self.ours("dying")
        ours.actor.dies_at, ours.actor.fate = at, fate
        self.alone(lambda: ours.do(action, **arguments))
        return ours.actor.writes

    def write(self, branch: str | None = None, *kinds: Kind, alters: bool = False) -> None:
        """Commit as a stock engine, one commit for each kind; with `alters`, after adding a column."""
        writer = StockWriter(self.world, Actor("stock"), TABLE.root(branch))
        if alters:
            writer.add_column()
        for kind in kinds or ("append",):
            writer.commit(kind)
            self.maintenance(branch).tag_by_itself()

    def expire(self, branch: str | None = None, retain: int = 1) -> None:
        """Run a stock expiry that keeps the newest `retain` snapshots."""
        table = StockMaintenance(self.world, Actor("expiry"), TABLE.root(branch))
        table.expire(1, retain, self.scheduler.now_ms())

    def delete(self, branch: Root) -> None:
        """Delete a branch, or the rest of one, as a stock engine."""
        world = self.world
        world.stock_may_drop = branch
        self.alone(lambda: self.maintenance().delete_branch(str(branch.branch)))
        world.stock_may_drop = None
        # Files that only it needed stay behind, and a later branch of its name is another one.
        world.always_leaks = True
        self.watch.made_anew(branch)

    def make_anew(self, branch: Root, tag: str) -> None:
        """Delete a branch as a stock engine, create another of its name from a tag, and commit to it."""
        self.delete(branch)
        world, name = self.world, str(branch.branch)
        world.forks[name] = view.tags(world.store, TABLE.root())[tag]
        world.made_anew.add(branch)
        self.alone(lambda: self.maintenance().create_branch(name, tag))
        self.alone(lambda: self.write(name, "append", "append"))

    def tag_again(self, name: str) -> None:
        """As a stock engine, delete main's tag of this name, if there is one, and tag its newest snapshot."""
        store, main = self.world.store, TABLE.root()
        head = view.head(store, main)
        if head is None or view.tags(store, main).get(name) == head:
            return
        if name in view.tags(store, main):
            self.watch.forget(name, view.tags(store, main)[name])
            self.alone(lambda: self.maintenance().delete_tag(name))
        self.alone(lambda: self.maintenance().create_tag(name, head.id))
        self.watch.tagged_again(main, name, head)

    def maintenance(self, branch: str | None = None) -> StockMaintenance:
        return StockMaintenance(self.world, Actor("stock"), TABLE.root(branch))

    def alone(self, program: Callable[[], object]) -> None:
        """Run a program that may end by a death, or by an error of a stock engine or of Paimark."""
        try:
            program()
        except Death:
            return
        except (StockError, PaimarkError) as error:
            self.world.tell(None, f"fails: {error}")

    def rest(self, doom: Callable[[Actor], None] = lambda actor: None) -> None:
        """Recover all interrupted changes, and judge the table. `doom` may let a recovery die."""
        self._bring_back()
        self._restore_main()
        for attempt in range(_MOST_RECOVERIES):
            ours = self.ours(f"recover{attempt}")
            if attempt < 2:
                doom(ours.actor)
            self.alone(lambda ours=ours: ours.do("recover"))  # type: ignore[misc]
            if ours.asks:
                self.alone(self._answer)
            if ours.had_nothing_to_do and not self._is_held():
                break
            if attempt == _MOST_RECOVERIES // 2:
                # A killed stock expiry leaves snapshots with missing files; the next expiry deletes them.
                self.alone(self.expire)
        else:
            raise Violation(f"{_MOST_RECOVERIES} recoveries did not free the table")
        doubts, self.watch.doubts = self.watch.doubts, []
        for each in doubts:
            self.outcomes.recovered(each)
        self.world.late.are_held = True
        self.judge.judge()
        self.our_eyes.look(self.judge)
        self.world.late.are_held = False
        if self.world.server:
            self.world.server.compare(self.world.store)

    def _answer(self) -> None:
        """Answer for the person: whether main has the commit of the interrupted change."""
        operation = self.watch.interrupted
        assert operation is not None, "a recovery asks, and nothing was interrupted"
        moved = any(each.root == operation.begun.main for each in operation.moves)
        self.act("recover", assume="committed" if moved else "not-committed")

    def _bring_back(self) -> None:
        """A table that was dropped or renamed gets its name again: the judges look there."""
        store, context = self.world.store, context_of(self.world, Actor("returns"))
        trash = f"{TABLE.database}{DATABASE_SUFFIX}/.paimark-trash/"
        if not any(path.startswith((trash, f"{RENAMED.directory}/")) for path in store.files):
            return
        if TABLE.journal in store.files:
            self.alone(lambda: self.act("recover"))
        if RENAMED.journal in store.files:
            self.alone(lambda: _done_on(context, "recover", RENAMED))
        if not view.schema_ids(store, TABLE.root()) and TABLE.journal not in store.files:
            # What came late to where the table was is in the way: somebody looks, and removes it.
            for path in store.below(TABLE.directory):
                store.drop(path)
                if self.world.server:
                    self.world.server.delete(path)
        # A request that came to the table's place meanwhile would rightly stop the move.
        self.world.late.are_held = True
        if is_made(context.files, RENAMED):
            self.alone(lambda: _done_on(context, "rename-table", RENAMED, to=TABLE.full_name))
        elif find := dropped_tables(context.files, TABLE.database):
            self.alone(lambda: _done_on(context, "undrop", TABLE, id=find[0].id))
        self.world.late.are_held = False

    def _restore_main(self) -> None:
        """If a stock engine deleted the branch that is main, make another branch main."""
        store = self.world.store
        others = [root.branch for root in view.roots(store) if root.branch and view.head(store, root)]
        gone = view.main_root(store)
        if gone.branch is not None and view.head(store, gone) is None and others:
            self.alone(lambda: self.act("recover"))
            self.alone(lambda: self.act("recover", main=max(others)))

    def _is_held(self) -> bool:
        store = self.world.store
        claims = [name for name in store.names(TABLE.savepoints) if name.startswith("CLAIM-")]
        return TABLE.journal in store.files or bool(claims)


def _done_on(context: Context, name: str, table: TablePath, **arguments: object) -> None:
    called = action(name)
    plan = called.plan(context, table, arguments)
    if not plan.empty:
        called.apply(context, plan, lambda line: None)

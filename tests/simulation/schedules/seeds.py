"""The schedule of a seed: a few rounds of concurrent actors on a table, which is judged after each round."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from paimark.core.errors import PaimarkError
from paimark.core.table.layout import Root
from tests.simulation.actors.operations import Operation, References
from tests.simulation.actors.ours import Ours
from tests.simulation.actors.scheduler import Actor, Fate
from tests.simulation.actors.server import Server
from tests.simulation.formats import Format, Rows
from tests.simulation.judging import view
from tests.simulation.memory import StoreKind
from tests.simulation.schedules.crash_points import LATE
from tests.simulation.schedules.hazards import Hazard
from tests.simulation.schedules.seeded import Seeded
from tests.simulation.stock.expiry import StockMaintenance
from tests.simulation.stock.reader import StockReader
from tests.simulation.stock.writer import StockError, StockWriter
from tests.simulation.world import RENAMED, TABLE, Violation

Program = Callable[[], None]
_FATES: dict[StoreKind, tuple[Fate, ...]] = {
    "local": ("die before", "die after", "die half"),
    "hdfs": ("die before", "die after", "die half", "die between"),
    "s3": ("die before", "die after", "lost", "fail before"),
}
_MOST_UNDONE = 10


class Run(Seeded):
    """Concurrent actors. `server` is an empty real store of the kind."""

    def __init__(
        self,
        seed: int,
        kind: StoreKind,
        hazards: frozenset[Hazard],
        formats: Format,
        server: Server | None = None,
    ) -> None:
        super().__init__(seed, kind, hazards, formats)
        # By numbers of their own: other deeds of a seed do not depend on them.
        self._moves = Random(f"moves {seed} {kind}")
        self.world.server = server
        self.world.may_be_late = kind == "s3" and Hazard.LATE_WRITES in hazards
        self.world.s3_overwrites = Hazard.S3_OVERWRITES in hazards
        self.world.hdfs_replaces_in_two_steps = Hazard.HDFS_REPLACES_IN_TWO_STEPS in hazards

    def _run(self) -> None:
        self._begin(self.choices.retention())
        for number in range(self.random.randint(2, 4)):
            self.world.begin_round(number)
            self._round()
            self.bench.rest(self._perhaps_doom)
            self._perhaps_move()
        if self.random.random() < 0.5:
            self._undo_all()
        if self.world.may_be_late:
            self.world.late.wait()
            self.bench.rest()

    def _perhaps_move(self) -> None:
        """Somebody drops or renames the table, and may die; a job commits. The table gets its name back."""
        chosen = self._moves
        if chosen.random() >= 0.3:
            return
        action, arguments = chosen.choice((("drop-table", {}), ("rename-table", {"to": RENAMED.name})))
        kind = self.world.store.kind
        fates = LATE if self.world.may_be_late and chosen.random() < 0.4 else _FATES[kind]
        # An object store copies each file, and deletes each.
        at = chosen.randint(1, 2 * len(self.world.store.files) + 30 if kind == "s3" else 8)
        self.bench.dies(at, chosen.choice(fates), action, **arguments)
        if chosen.random() < 0.5:
            self.bench.alone(self.bench.write)
        self.bench.rest()

    def _round(self) -> None:
        programs: dict[Actor, Program] = {}
        for number, role in enumerate(self.choices.cast()):
            actor = Actor(f"{role}{number}", skew=self.choices.skew())
            programs[actor] = self._program(actor, role)
            if self.choices.doomed(role):
                self._doom(actor)
            if actor.fate in (*LATE, "again") and role != "ours":
                actor.fate = "die after"
        self.bench.scheduler.run(programs)
        if self.choices.has(Hazard.LATE_RECOVERY, 0.5):
            self._time_passes()
        self._accident()

    def _time_passes(self) -> None:
        """Let others commit and expire before a recovery."""
        self.world.tell(None, "time passes")
        # A late commit relies on its consumer: without it, its id could be used and expire before it comes.
        if self.choices.has(Hazard.CONSUMERS_EXPIRE, 0.3) and not self.world.late.are_under_way:
            self.bench.alone(lambda: self.bench.maintenance().expire_consumers())
        for _ in range(self.random.randint(1, 2)):
            self.bench.alone(lambda: self.bench.write(self.choices.written_root().branch))
        if self.random.random() < 0.7 and self.choices.may_expire():
            self.bench.alone(self.bench.expire)

    def _program(self, actor: Actor, role: str) -> Program:
        if role == "ours":
            ours = Ours(self.world, self.bench.watch, self.bench.outcomes, actor)
            return lambda: self._act(ours)
        if role == "clock":
            return lambda: self.choices.turn_clock(actor)
        return lambda: self._stock(actor, role)

    def _act(self, ours: Ours) -> None:
        for _ in range(self.random.randint(1, 3)):
            name, arguments = self.choices.action()
            ours.do(name, **arguments)

    def _stock(self, actor: Actor, role: str) -> None:
        """Run a session of a stock engine, opened once. An error ends the session, and is no violation."""
        try:
            if role == "writer":
                root = self.choices.written_root()
                writer, tagger = (
                    StockWriter(self.world, actor, root),
                    StockMaintenance(self.world, actor, root),
                )
                for _ in range(self.random.randint(1, 4)):
                    if self.random.random() < 0.15:
                        writer.add_column()
                    writer.commit(self.choices.commit_kind())
                    tagger.tag_by_itself()
            elif role == "reader":
                reader = StockReader(self.world, actor, self.choices.read_root())
                for _ in range(self.random.randint(2, 5)):
                    reader.read()
                    self.bench.scheduler.sleep(self.random.random() / 4)
            else:
                maintenance = StockMaintenance(self.world, actor, TABLE.root())
                for _ in range(self.random.randint(1, 2)):
                    self.choices.maintain(maintenance)
        except (StockError, PaimarkError) as error:
            self.world.tell(actor, f"fails: {error}")

    def _undo_all(self) -> None:
        """Undo every change that the log allows, one by one, then redo them; each step is judged."""
        self.world.begin_round(-1)
        rows, heads = self._main_rows(), References.now(self.world.store).heads
        count = self._until_refused("undo")
        # The redo of a merge brings the branch's current commits.
        is_same = all(each.begun.heads.get(root) == heads.get(root) for each, root in self._merged())
        is_same = is_same and self.choices.has(Hazard.REDO_OF_THE_NEWEST)
        if count and is_same and self._until_refused("redo") == count and self._main_rows() != rows:
            raise Violation(f"{count} undone and redone: main has {self._main_rows()}, and had {rows}")

    def _accident(self) -> None:
        """Let a stock engine do one of the dangerous operations, by chance."""
        bench, world, choices = self.bench, self.world, self.choices
        main = view.main_root(world.store)
        root = TABLE.root()
        if choices.has(Hazard.STOCK_ROLLBACK, 0.1) and main == root:
            ids = list(view.snapshots(world.store, root))[:-1]
            if ids:
                world.tell(None, "a stock engine rolls main back")
                world.stock_may_drop = root
                bench.alone(lambda: bench.maintenance().roll_back(self.random.choice(ids)))
        elif choices.has(Hazard.STOCK_DELETES_MAIN, 0.1) and main.branch is not None:
            world.tell(None, "a stock engine deletes the branch that is main")
            world.stock_may_drop = main
            bench.alone(lambda: bench.maintenance(main.branch).delete_branch(str(main.branch)))
        elif choices.has(Hazard.STOCK_EXPIRES_BRANCH, 0.2):
            branch = choices.written_root().branch
            world.tell(None, f"a stock engine expires {branch}")
            bench.alone(lambda: bench.expire(branch))
        world.stock_may_drop = None

    def _until_refused(self, name: str) -> int:
        for number in range(_MOST_UNDONE):
            operation = self.bench.act(name)
            if operation is None or operation.state != "acknowledged":
                return number
            self.bench.rest()
        return _MOST_UNDONE

    def _merged(self) -> list[tuple[Operation, Root]]:
        done = self.bench.outcomes.by_token.values()
        merges = ("merge-branch", "replace-main-branch")
        return [(each, TABLE.root(each.name)) for each in done if each.action in merges]

    def _main_rows(self) -> Rows:
        store = self.world.store
        return self.bench.outcomes.rows(view.head(store, view.main_root(store)))

    def _perhaps_doom(self, actor: Actor) -> None:
        if self.random.random() < 0.3:
            self._doom(actor)

    def _doom(self, actor: Actor) -> None:
        actor.dies_at = self.random.randint(1, 25)
        kind = self.world.store.kind
        fates = _FATES[kind]
        if kind == "s3" and self.choices.has(Hazard.LATE_WRITES, 0.4):
            fates = LATE
        elif kind == "s3" and self.choices.has(Hazard.REPEATED_WRITES, 0.5):
            fates = ("again",)
        actor.fate = self.random.choice(fates)

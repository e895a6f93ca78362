"""Choose the next deed of an actor by the seed, from the current state of the table."""

from __future__ import annotations

from random import Random

from paimark.core.table.layout import MAIN, Root
from tests.simulation.actors.edits import WORDS
from tests.simulation.actors.repairs import REPAIRS, condition
from tests.simulation.actors.scheduler import Actor
from tests.simulation.actors.statements import STATEMENTS
from tests.simulation.judging import view
from tests.simulation.judging.expected import another_name
from tests.simulation.judging.protection import protected
from tests.simulation.schedules.hazards import Hazard
from tests.simulation.stock.expiry import StockMaintenance
from tests.simulation.stock.writer import Kind
from tests.simulation.world import TABLE, World

_ROLES = {"ours": 5, "writer": 6, "maintenance": 3, "reader": 1, "clock": 1}
_ACTIONS = {
    "create-savepoint": 3,
    "create-tag": 3,
    "create-branch": 2,
    "delete-tag": 2,
    "rename-tag": 2,
    "delete-savepoint": 2,
    "delete-branch": 3,
    "expire-snapshots": 2,
    "merge-branch": 7,
    "rollback": 4,
    "replace-main-branch": 4,
    "undo": 4,
    "alter-branch-schema": 2,
    "rescue-commits": 1,
    "compact": 2,
    **dict.fromkeys((*STATEMENTS, *REPAIRS), 2),
    "try": 3,
    "rename-branch": 1,
    "protect": 1,
    "unprotect": 2,
    "recover": 1,
}
# The actions that remove a root or its tags; and those that rename a root.
_REMOVALS = ("delete-branch", "rename-branch", "replace-main-branch", "undo", "rollback")
_RENAMES = ("delete-branch", "rename-branch", "undo")
_MOST_BRANCHES = 4
Arguments = dict[str, object]


class Choices:
    """`hazards` are those that the schedule may have."""

    def __init__(self, world: World, random: Random, hazards: frozenset[Hazard]) -> None:
        self._world = world
        self._store = world.store
        self._random = random
        self._hazards = hazards
        # The branch that most deeds of a round use.
        self._focus: str | None = None
        self._roles: list[str] = []

    def has(self, hazard: Hazard, chance: float = 1.0) -> bool:
        """Whether the schedule may have the hazard, and, by chance, has it now."""
        return hazard in self._hazards and self._random.random() < chance

    def retention(self) -> dict[str, str]:
        """Table options: the snapshots that stock engines keep on main, and the tags that they create."""
        least = self._random.randint(1, 3)
        options = {
            "snapshot.num-retained.min": str(least),
            "snapshot.num-retained.max": str(least + self._random.randint(0, 4)),
        }
        if self._random.random() < 0.3:
            options["tag.automatic-creation"] = "process-time"
            options["tag.num-retained-max"] = str(self._random.randint(1, 3))
        return options

    def cast(self) -> list[str]:
        """The roles of the two to four actors of a round."""
        branches = [each.branch for each in self._branches()]
        self._focus = self._random.choice(branches) if branches else None
        more = self._random.choices(list(_ROLES), list(_ROLES.values()), k=self._random.randint(1, 3))
        self._roles = ["ours", *more]
        return self._roles

    def skew(self) -> int:
        return self._random.randint(-3_600_000, 3_600_000) if self.has(Hazard.SKEWED_CLOCKS, 0.3) else 0

    def turn_clock(self, actor: Actor) -> None:
        """Set all clocks forward by at most a day, or back."""
        sign = -1 if self.has(Hazard.SKEWED_CLOCKS, 0.5) else 1
        self._world.scheduler.jump += sign * self._random.randint(1, 86_400_000)
        self._world.tell(actor, "sets the clock")

    def commit_kind(self) -> Kind:
        kinds: tuple[Kind, ...] = ("append", "append", "append", "overwrite", "compact")
        return self._random.choice((*kinds, "delete") if self._world.keyed else kinds)

    def written_root(self) -> Root:
        """The table directory or a branch; stock engines take the table directory for main."""
        unfinished = self.has(Hazard.UNFINISHED_BRANCH, 0.1)
        # An unfinished rename or deletion of a root would take the new commits along.
        if not self.has(Hazard.RETIRE_BESIDE_WRITER) and self._renames():
            return TABLE.root()
        made = [each for each in self._branches() if unfinished or view.head(self._store, each)]
        focus = [each for each in made if each.branch == self._focus]
        return self._random.choice([TABLE.root(), *made, *focus, *focus])

    def read_root(self) -> Root:
        """The root that a reader's session opens."""
        if self.has(Hazard.OPEN_SESSIONS, 0.7):
            return TABLE.root()
        return self._random.choice(self._branches() or [TABLE.root()])

    def doomed(self, role: str) -> bool:
        """Whether an actor dies."""
        if role == "maintenance" and not self.has(Hazard.DYING_EXPIRY):
            return False
        return self._random.random() < 0.45

    def may_expire(self) -> bool:
        """Whether snapshots of main may expire: after a fast-forward it shares some with the branch."""
        return not self._world.shares_snapshots or self.has(Hazard.SHARED_SNAPSHOTS)

    def maintain(self, table: StockMaintenance) -> None:
        """Expire snapshots, or create or delete a tag of the stock engine."""
        now = self._world.scheduler.now_ms()
        choice = self._random.random()
        own = [each for each in view.tags(self._store, table.root) if each.startswith("stock")]
        free = [each for each in own if not self.is_branched_from(each)]
        if choice < 0.6 and not self.may_expire():
            return
        if choice < 0.45:
            table.expire(1, self._random.randint(1, 3), now)
        elif choice < 0.6:
            table.expire_by_options()
        elif choice < 0.8 and free:
            table.delete_tag(self._random.choice(free))
        elif (latest := table.latest_id()) is not None:
            table.create_tag(f"stock{self._world.number()}", latest)

    def action(self) -> tuple[str, Arguments]:
        """An action of Paimark and its arguments, which may be invalid."""
        weights = [0 if self._is_left_out(name) else weight for name, weight in _ACTIONS.items()]
        name = self._random.choices(list(_ACTIONS), weights)[0]
        return name, self._arguments(name)

    def _is_left_out(self, name: str) -> bool:
        """Whether the other roles of this round rule the action out."""
        if (
            name in _REMOVALS
            and self._roles.count("ours") > 1
            and not self.has(Hazard.REFERENCE_BESIDE_REMOVAL)
        ):
            return True
        return name in _RENAMES and not self.has(Hazard.RETIRE_BESIDE_WRITER) and "writer" in self._roles

    def _renames(self) -> bool:
        """Whether an action of this round may have begun to rename a root."""
        return "ours" in self._roles

    def _arguments(self, name: str) -> Arguments:
        pick, world = self._random, self._world
        main = view.main_root(self._store)
        tags = [each for each in view.tags(self._store, main) if not each.startswith("stock")] or ["none"]
        branch = pick.choice([None, None, self._branch()])
        match name:
            case "create-savepoint":
                return {"branch": branch, "snapshot": self._maybe_id(branch)}
            case "create-tag":
                made = f"t{world.number()}"
                return {"name": made, "branch": branch, "snapshot": self._maybe_id(branch)}
            case "create-branch":
                many = len(self._branches()) >= _MOST_BRANCHES
                return {"name": self._branch() if many else f"b{world.number()}", "tag": pick.choice(tags)}
            case "delete-tag":
                return {"name": pick.choice(tags)}
            case "rename-tag":
                return {
                    "name": pick.choice(tags),
                    "to": pick.choice([f"t{world.number()}", pick.choice(tags)]),
                }
            case "delete-savepoint":
                return {"id": pick.choice(self._saved())}
            case "delete-branch":
                return {"name": self._branch(), "keep": pick.random() < 0.6}
            case "rename-branch":
                return {"name": (named := self._branch()), "to": another_name(named, world.number())}
            case "expire-snapshots":
                return {"retain_last": pick.randint(1, 3), "branch": branch}
            case "merge-branch":
                choice = pick.choice(("fail", "branch", "main"))
                given: Arguments = {"name": self._branch(), "on_conflict": choice}
                if pick.random() < 0.4:
                    given["into"] = pick.choice(["main", self._branch()])
                    given["name"] = pick.choice(["main", self._branch(), self._branch()])
                return given
            case "rollback":
                ids = list(view.snapshots(self._store, main))
                to = pick.choice([*tags, *(f"snapshot.{each}" for each in ids)])
                return {"to": to, "truncate": self._may_truncate() and pick.random() < 0.3}
            case "replace-main-branch":
                layout = pick.choice(("pointer", "pointer", "overwrite"))
                drops = layout == "pointer" and pick.random() < 0.2
                return {"name": self._branch(), "layout": layout, "drop_previous": drops}
            case "alter-branch-schema":
                return {"branch": branch, "add": f"a{world.number()} INT"}
            case "compact":
                return {"branch": branch, "full": pick.random() < 0.5}
            case "delete-from" | "update" | "merge-into":
                return {"branch": branch, "key": self._key(branch), "value": world.number()}
            case "revert":
                choice = pick.choice(("fail", "now", "then"))
                return {"branch": branch, "snapshot": self._id(branch), "on_conflict": choice}
            case "restore-rows":
                choice = pick.choice(("fail", "now", "then"))
                version = pick.choice([*tags, f"snapshot.{self._id(branch)}"])
                where = condition(self._key(branch))
                return {"branch": branch, "from_version": version, "where": where, "on_conflict": choice}
            case "try":
                word, value = pick.choice(STATEMENTS), world.number()
                changed = {"statement": word, "key": self._key(None), "value": value}
                publish = pick.choice(("merge", "merge", "replace", "no"))
                return {
                    "name": f"t{value}",
                    **changed,
                    "wrong": pick.choice((0, 0, value)),
                    "publish": publish,
                }
            case "edit-rows":
                read_at = pick.choice([None, f"snapshot.{self._id(branch)}"])
                choice = pick.choice(("fail", "now", "edited"))
                edit = {"word": pick.choice(WORDS), "key": self._key(branch), "value": world.number()}
                return {"branch": branch, **edit, "read_at": read_at, "on_conflict": choice}
            case "protect":
                things = {"tag": pick.choice(tags), "savepoint": pick.choice(self._saved())}
                what = pick.choice(("tag", "savepoint", "branch"))
                return {what: things.get(what, branch or self._branch()), "reason": "kept"}
            case "unprotect":
                if not (held := protected(self._store)):
                    return {"tag": "none"}
                thing = pick.choice(held)
                of = None if thing.branch == MAIN else thing.branch
                return {str(thing.what): thing.name, **({} if of is None else {"branch": of})}
            case "rescue-commits":
                return {"name": f"rescued{world.number()}"}
        return {}

    def _key(self, branch: str | None) -> int:
        """A key of a row that is there, or of none."""
        root = TABLE.root(branch) if branch else view.main_root(self._store)
        head = view.head(self._store, root)
        rows = self._world.commits[head].rows if head in self._world.commits else ()
        return self._random.choice([*(key for key, _ in rows), 7])

    def _may_truncate(self) -> bool:
        """Whether no other writer is active: the plan of a truncation tells the user to stop them first."""
        others = {"writer", "maintenance"} & {*self._roles}
        return not others or self.has(Hazard.TRUNCATION_BESIDE_OTHERS)

    def _branch(self) -> str:
        branches = [str(each.branch) for each in self._branches()]
        if self._focus in branches and self._random.random() < 0.7:
            return str(self._focus)
        return self._random.choice(branches or ["none"])

    def _saved(self) -> list[int]:
        names = self._store.names(TABLE.savepoints)
        found = [each.removeprefix("savepoint-") for each in names if each.startswith("savepoint-")]
        return [int(each) for each in found] or [1]

    def _maybe_id(self, branch: str | None) -> int | None:
        return self._random.choice([None, None, None, *self._ids(branch)])

    def _id(self, branch: str | None) -> int:
        return self._random.choice([*self._ids(branch)] or [1])

    def _ids(self, branch: str | None) -> list[int]:
        root = TABLE.root(branch) if branch else view.main_root(self._store)
        return list(view.snapshots(self._store, root))

    def _branches(self) -> list[Root]:
        return [root for root in view.roots(self._store) if root.branch is not None]

    def is_branched_from(self, tag: str) -> bool:
        """Whether a branch depends on the tagged snapshot, which stock engines do not check."""
        found = view.tags(self._store, TABLE.root())[tag]
        return any(
            found in self._world.ancestors(view.head(self._store, each))
            or tag in view.tags(self._store, each)
            for each in self._branches()
        )

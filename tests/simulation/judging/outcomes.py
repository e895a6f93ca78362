"""Judge how an action ended: an acknowledged action must be done, and a refused one must leave nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from paimark.core.table.layout import MAIN, Root, merge_tag, savepoint_tag
from tests.simulation.actors.edits import Edit
from tests.simulation.actors.operations import Key, Move, Operation, References
from tests.simulation.actors.repairs import REPAIRS, meant_key, restored, reverted
from tests.simulation.actors.statements import STATEMENTS, Changing
from tests.simulation.formats import Identity, Rows
from tests.simulation.judging import view
from tests.simulation.judging.expected import expected_merge, is_renamed
from tests.simulation.judging.watch import Watch, describe
from tests.simulation.world import TABLE, Violation, World

# An action that does more operations than this after its commit was overwritten must notice it.
_OPERATIONS_TO_LOOK_AGAIN = 20
# A savepoint that somebody asked for. An action may make others by itself, which stay if it is refused.
_SAFETY = b'"createdBy": "manual"'
_TAGGING = ("create-tag", "create-savepoint")


# By action: the deletion that undoes it, that action's argument, and the argument's name in the plan.
OPPOSITES = {
    "create-tag": ("delete-tag", "name", "tag_name"),
    "create-savepoint": ("delete-savepoint", "id", "savepoint_id"),
    "auto-savepoint": ("delete-savepoint", "id", "savepoint_id"),
    "create-branch": ("delete-branch", "name", "name"),
    "rescue-commits": ("delete-branch", "name", "name"),
}


class Outcomes:
    """Judges the ends of actions, and updates the state for later ones: promised tags, forks, operations."""

    def __init__(self, world: World, watch: Watch) -> None:
        self._world = world
        self._store = world.store
        self._watch = watch
        # Acknowledged operations by their name in the operation log.
        self.by_token: dict[str, Operation] = {}

    def acknowledged(self, operation: Operation) -> None:
        """Check that an action that returned is done. Raises `Violation`."""
        check = _CHECKS.get(operation.action)
        if check is not None:
            try:
                check(self, operation)
            except AssertionError as error:
                raise Violation(f"{operation.action} said that it is done: {error}") from error
        if operation.token:
            self.by_token[operation.token] = operation
        for move in operation.moves:
            if move.after is not None:
                self._is_still_there(operation, move.after)
                self._world.commits[move.after].is_acknowledged = True

    def _is_still_there(self, operation: Operation, made: Identity) -> None:
        """Check that the action noticed if a stock engine overwrote its commit on S3."""
        seen = self._watch.overwritten.get(made)
        if seen is not None and operation.actor.operations - seen > _OPERATIONS_TO_LOOK_AGAIN:
            raise Violation(f"{operation.action} said that {describe(made)} is done, and it was overwritten")

    def refused(self, operation: Operation) -> None:
        """Check that an action that raised left nothing. Raises `Violation`."""
        if operation.action in _TAGGING and operation.touched:
            # The tag existed for a moment, so an expiry may have spared its files.
            self._world.has_leaked = True
        if left := self._left_for_itself(operation):
            raise Violation(f"{operation.action} was refused, and left {', '.join(map(str, left))}")

    def recovered(self, operation: Operation) -> None:
        """Check that an interrupted and recovered action is done, or left nothing. Raises `Violation`."""
        if operation.action in _TAGGING:
            # The tag may have existed for a moment, so an expiry may have spared its files.
            self._world.has_leaked = True
        # A pin may remain although its tag was not made: it only keeps a few files while its branch exists.
        left = [each for each in self._left_for_itself(operation) if not str(each[-1]).startswith("paimark.")]
        if left:
            try:
                self.acknowledged(operation)
            except Violation as error:
                told = ", ".join(map(str, left))
                raise Violation(
                    f"{operation.action} is half done after its recovery: {told} ({error})"
                ) from error

    def _left_for_itself(self, operation: Operation) -> list[tuple[object, ...]]:
        """`left_of`, without additions to an archive or retired branch that others wrote to meanwhile."""
        others = {
            key[1]
            for key, writer in self._watch.last_writer.items()
            if writer not in (None, operation) and _is_of_copy(key)
        }
        return [
            each
            for each in self.left_of(operation)
            if not _is_of_copy(each) or operation.touched[each] or each[1] not in others
        ]

    def left_of(self, operation: Operation) -> list[tuple[object, ...]]:
        """The references that the action changed, and that still have the values it gave them."""
        store, found = self._store, []
        for key, before in operation.touched.items():
            if self._watch.last_writer[key] is not operation:
                continue
            now: object
            if key[0] == "head":
                now = view.head(store, _root(key))
            elif key[0] == "tag":
                now = view.tags(store, _root(key)).get(str(key[2]))
            elif key[0] == "schema":
                if before is None and _root(key) == view.main_root(store):
                    # A job may have opened main with the new schema, so it is never removed.
                    continue
                if view.head(store, _root(key)) != operation.planned.heads.get(_root(key)):
                    # The root has new commits, which may use the schema, so the schema is never removed.
                    continue
                now = store.files.get(_root(key).schema(int(str(key[2]))))
            elif key[0] == "main":
                now = view.main_root(store).branch or ""
            else:
                now = store.files.get(f"{TABLE.savepoints}/savepoint-{key[1]}")
            # A failed creation also deletes the copies of its tag that a replacement of main made.
            is_taken_back = now is None and operation.action in _TAGGING
            if now != before and not (is_taken_back or self._is_safety(key) or self._is_guard(key)):
                found.append(key)
        if operation.action == "try":
            # The branch stays, whatever became of it.
            found = [each for each in found if not _is_of_branch(each, operation.name)]
        return [each for each in found if not self._has_gone_along(operation, each)]

    def _has_gone_along(self, operation: Operation, key: tuple[object, ...]) -> bool:
        """Whether the tag was made in the table directory since the plan, and then moved to an archive."""
        before = operation.touched[key]
        if key[0] != "tag" or _root(key) != TABLE.root() or view.main_root(self._store) == TABLE.root():
            return False
        name, seen = str(key[2]), operation.planned.tags.get(TABLE.root(), {})
        copies = [each for each in view.roots(self._store) if (each.branch or "").startswith("main-")]
        return name not in seen and before in [view.tags(self._store, each).get(name) for each in copies]

    def _is_guard(self, key: tuple[object, ...]) -> bool:
        """Whether the tag is a guard: every action of Paimark writes missing guards."""
        main = view.main_root(self._store)
        is_there = key[0] == "tag" and str(key[2]) in view.tags(self._store, main)
        return is_there and main.branch is not None and _root(key).branch is None

    def _is_safety(self, key: tuple[object, ...]) -> bool:
        """Whether the key is a savepoint that an action made automatically, to keep main's state."""
        number = key[1] if key[0] == "savepoint" else str(key[-1]).removeprefix("savepoint.")
        data = self._store.files.get(f"{TABLE.savepoints}/savepoint-{number}")
        return data is not None and _SAFETY not in data

    def rows(self, identity: Identity | None) -> Rows:
        return self._world.commits[identity].rows if identity else ()

    def tag_made(self, operation: Operation) -> None:
        self._promise(operation, operation.name)

    def savepoint_made(self, operation: Operation) -> None:
        made = operation.outcome.result["savepoint_id"] if operation.outcome else None
        numbers = [made] if made else [key[1] for key in operation.touched if key[0] == "savepoint"]
        for number in numbers:
            self._promise(operation, savepoint_tag(int(str(number))))

    def tag_deleted(self, operation: Operation) -> None:
        self._unpromise(operation.name, self._tags_gone(operation))

    def tag_renamed(self, operation: Operation) -> None:
        self._promise(operation, str(operation.arguments["to"]))
        self._unpromise(operation.name, self._tags_gone(operation))

    def savepoint_deleted(self, operation: Operation) -> None:
        number = operation.arguments["id"]
        assert f"{TABLE.savepoints}/savepoint-{number}" not in self._store.files, "its file is there"
        self._unpromise(f"savepoint.{number}", self._tags_gone(operation))

    def branch_made(self, operation: Operation) -> None:
        branch = TABLE.root(operation.name)
        tag = self._origin_of(operation)
        found = view.head(self._store, branch)
        if branch in self._world.made_anew:
            left = [key for key in self.left_of(operation) if branch in key]
            assert not left, f"another engine's branch has {', '.join(map(str, left))} of it"
            return
        assert found and tag and self._world.descends(found, tag), f"the branch is at {describe(found)}"
        self._world.forks[operation.name] = tag

    def _origin_of(self, operation: Operation) -> Identity | None:
        """The snapshot that a branch was to be made from; None if it was not the one that main had."""
        planned, number = operation.planned, operation.arguments.get("snapshot")
        if number is None:
            return planned.tags[planned.main].get(str(operation.arguments["tag"]))
        head, pin = planned.heads[planned.main], merge_tag(operation.name, int(str(number)))
        made = view.tags(self._store, TABLE.root(operation.name)).get(pin)
        return made if head and made and self._world.descends(head, made) else None

    def branch_deleted(self, operation: Operation) -> None:
        branch = TABLE.root(operation.name)
        if not operation.arguments.get("keep"):
            for name, found in operation.planned.tags.get(branch, {}).items():
                self._unpromise(name, [found])
            return
        # An archive may have no snapshot left, but only tags.
        schemas = [_root(key) for key in operation.touched if key[0] == "schema"]
        kept = any((root.branch or "").startswith("retired-") for root in schemas)
        assert kept, "no retired branch"

    def branch_renamed(self, operation: Operation) -> None:
        name, to = TABLE.root(operation.name), TABLE.root(str(operation.arguments["to"]))
        if operation.outcome is None and (view.head(self._store, name) or name in operation.anew):
            # A stock engine deleted it, or made another branch of one of the names: the recovery let it be.
            return
        planned, found = operation.planned.heads[name], view.head(self._store, to)
        if self._watch.last_writer.get(("head", to)) is operation and found != planned:
            assert planned and found and self._world.descends(found, planned), f"it is at {describe(found)}"
        tags = operation.planned.tags[name].items()
        lost = [each for each, held in tags if not self._is_tagged(each, held)]
        lost = [each for each in lost if self._watch.last_writer.get(_tag_key(name, each)) is operation]
        # A copy of main's pin of the branch is renamed as the pin is.
        pins = {merge_tag(operation.name, held.id): merge_tag(to.label, held.id) for _, held in tags}
        lost = [
            each
            for each in lost
            if not (each in pins and self._is_tagged(pins[each], operation.planned.tags[name][each]))
        ]
        assert not lost, f"it has lost {', '.join(lost)}"

    def merged(self, operation: Operation) -> None:
        branch = operation.begun.main if operation.name == MAIN else TABLE.root(operation.name)
        moves = _moves_of(operation, _written(operation))
        if not moves:
            return
        first, last = moves[0].before, moves[-1].after
        assert first is not None and last is not None
        heads = self._heads_meanwhile(operation, branch)
        # A fast-forward may end at a commit that this actor made on the branch before.
        if self._world.commits[last].maker is operation.actor and last not in heads:
            choice = str(operation.arguments.get("on_conflict", "fail"))
            wanted = [
                rows
                for each in heads
                for rows in expected_merge(self._world, first, operation.name, each, choice)
            ]
            target = moves[0].root.label
            assert len(moves) == 1, f"{target} moved more than once"
            assert self.rows(last) in wanted, f"{target} has {self.rows(last)}, not one of {wanted}"
        else:
            self._world.shares_snapshots = True
            is_whole = last in heads or self._is_followed(operation, last) or self._is_gone(operation, branch)
            assert is_whole, f"main has the branch up to {describe(last)} only"

    def tried(self, operation: Operation) -> None:
        """Main has what was checked, and nothing else; or it is as it was."""
        branch, publish = TABLE.root(operation.name), operation.arguments["publish"]
        checked = self._world.checked.get(operation.actor)
        if publish == "replace" and operation.outcome is not None:
            now = view.main_root(self._store)
            assert now == branch and self.rows(view.head(self._store, now)) == checked, f"{now.label} is main"
            self._fork_archive(operation, view.head(self._store, branch))
        if not (moves := self._main_moves(operation)):
            # Main may have had every row by then; and where the branch has none, nothing is checked.
            line = self._world.ancestors(view.head(self._store, operation.begun.main))
            is_same = operation.outcome is None or checked is None or checked in map(self.rows, line)
            assert publish != "merge" or is_same, "main did not move"
            return
        assert publish == "merge" or view.main_root(self._store) == branch, "main moved"
        last = moves[-1].after
        if publish == "merge":
            assert self.rows(last) == checked, f"main has {self.rows(last)}, and {checked} was checked"
            self._world.shares_snapshots |= self._world.descends(_sure(last), _sure(moves[0].before))

    def rolled_back(self, operation: Operation) -> None:
        moves = self._main_moves(operation)
        if not moves:
            return
        before, after = moves[0].before, moves[-1].after
        assert before is not None and after is not None
        if operation.arguments.get("truncate"):
            assert self._world.descends(before, after), "main did not go back"
            self._fork_archive(operation, after)
        else:
            wanted = self._version(operation, str(operation.arguments["to"]))
            assert self.rows(after) == self.rows(wanted), f"main has {self.rows(after)}"

    def rows_changed(self, operation: Operation) -> None:
        root = _written(operation)
        if moves := _moves_of(operation, root):
            assert len(moves) == 1, f"{root.label} moved more than once"
            # What it was made on: it may have come late, to a branch that is gone.
            on = self._world.commits[_sure(moves[0].after)].parent
            wanted = Changing.of(operation.action, operation.arguments).of_rows(self.rows(on))
            assert self.rows(moves[0].after) == wanted, f"{root.label} has {self.rows(moves[0].after)}"

    def repaired(self, operation: Operation) -> None:
        root, given = _written(operation), operation.arguments
        if not (moves := _moves_of(operation, root)):
            return
        assert len(moves) == 1, f"{root.label} moved more than once"
        now = self.rows(moves[0].before)
        if operation.action == "edit-rows":
            read_at = given.get("read_at")
            read = now if read_at is None else self.rows(self._version(operation, str(read_at), root))
            wanted = Edit.of(given).of_rows(now, read, takes_edits=given.get("on_conflict") == "edited")
        elif operation.action == "restore-rows":
            version = self._version(operation, str(given["from_version"]), root)
            wanted = restored(now, self.rows(version), meant_key(str(given["where"])))
        else:
            commit = self._version(operation, f"snapshot.{given['snapshot']}", root)
            before = self._world.commits[_sure(commit)].parent
            takes_then, keyed = given.get("on_conflict") == "then", self._world.keyed
            wanted = reverted(now, self.rows(before), self.rows(commit), keyed=keyed, takes_then=takes_then)
        assert self.rows(moves[0].after) == wanted, f"{root.label} has {self.rows(moves[0].after)}"

    def replaced(self, operation: Operation) -> None:
        branch = TABLE.root(operation.name)
        if operation.arguments.get("layout") == "overwrite":
            moves = self._main_moves(operation)
            heads = self._heads_meanwhile(operation, branch)
            assert moves, "main did not move"
            assert self.rows(moves[-1].after) in map(self.rows, heads), "main has other rows"
        elif operation.begun.main != branch:
            now = view.main_root(self._store)
            assert now == branch, f"{now.label} is main"
            self._fork_archive(operation, view.head(self._store, branch))
            if operation.arguments.get("drop_previous"):
                for name, found in operation.planned.tags[operation.begun.main].items():
                    self._unpromise(name, [found])

    def undone(self, operation: Operation) -> None:
        undone = operation.undoes
        if undone is None:
            return
        before, main = undone.begun, view.main_root(self._store)
        if undone.action == "delete-branch":
            branch = TABLE.root(undone.name)
            is_moved = self._watch.last_writer.get(("head", branch)) is not operation
            assert is_moved or view.head(self._store, branch), "the branch is not there"
        elif undone.action == "replace-main-branch" and undone.arguments.get("layout") != "overwrite":
            assert main == before.main, f"{main.label} is main, and {before.main.label} was"
            assert self._world.commits[_sure(view.head(self._store, main))], "main is empty"
        elif first_moves := _moves_of(undone, root := _written(undone)):
            # The branch of a row change may have been main then.
            moves, first = _moves_of(operation, root), first_moves[0].before
            assert moves, f"{root.label} did not move"
            if undone.arguments.get("truncate"):
                assert self._world.descends(_sure(moves[-1].after), _sure(first)), "main lacks its past"
            else:
                assert self.rows(moves[-1].after) == self.rows(first), (
                    f"{root.label} has {self.rows(moves[-1].after)}"
                )

    def _fork_archive(self, operation: Operation, main: Identity | None) -> None:
        """Record the fork of the archive: the newest commit that its lineage shares with main's."""
        line = set(self._world.ancestors(main))
        for root in {each.root for each in operation.moves if (each.root.branch or "").startswith("main-")}:
            mine = self._world.ancestors(view.head(self._store, root))
            shared = next((each for each in mine if each in line), None)
            if shared is not None:
                self._world.forks[str(root.branch)] = shared

    def _main_moves(self, operation: Operation) -> list[Move]:
        return _moves_of(operation, operation.begun.main)

    def _heads_meanwhile(self, operation: Operation, branch: Root) -> list[Identity]:
        """The branch's newest commit at the plan, and all later ones."""
        first = operation.planned.heads.get(branch)
        now = view.head(self._store, branch) or operation.begun.heads.get(branch)
        line = self._world.ancestors(now)
        if first is not None and first not in line:
            # Another branch has the name since then.
            return [first, *line]
        return line[: line.index(first) + 1] if first in line else line

    def _is_followed(self, operation: Operation, last: Identity) -> bool:
        """Whether main has a later commit."""
        now = view.head(self._store, operation.begun.main)
        return now is not None and now != last

    def _is_gone(self, operation: Operation, branch: Root) -> bool:
        """Whether a stock engine deleted the branch, and with it what main did not have yet."""
        return operation.planned.heads.get(branch) not in self._world.ancestors(
            view.head(self._store, branch)
        )

    def _version(self, operation: Operation, name: str, of: Root | None = None) -> Identity | None:
        """A tag or snapshot of a root, of main by default."""
        root, planned = of or operation.begun.main, operation.planned
        if name in planned.tags[root]:
            return planned.tags[root][name]
        line = self._world.ancestors(planned.heads[root])
        return next((each for each in line if f"snapshot.{each.id}" == name), None)

    def _promise(self, operation: Operation, name: str) -> None:
        """Promise a tag, in its root or the root's new place. Not a tag that engines may delete."""
        if view.is_of_engines(name):
            return
        made = [_root(key) for key in operation.touched if key[0] == "tag" and key[2] == name]
        for root in [*made, *view.roots(self._store)]:
            if found := view.tags(self._store, root).get(name):
                self._watch.promised[root, name] = found
                return
        # Another actor may delete it between the action's last check and its end.
        is_deleted = any(self._watch.last_writer[_tag_key(root, name)] is not operation for root in made)
        assert is_deleted, f"there is no tag {name} in any root"

    def _tags_gone(self, operation: Operation) -> list[object]:
        return [before for key, before in operation.touched.items() if key[0] == "tag"]

    def _unpromise(self, name: str, gone: Sequence[object]) -> None:
        """Withdraw the promise of a deleted tag, unless another root still has it."""
        for key, found in list(self._watch.promised.items()):
            if key[1] == name and found in gone and not self._is_tagged(name, found):
                del self._watch.promised[key]

    def _is_tagged(self, name: str, found: Identity) -> bool:
        return any(view.tags(self._store, root).get(name) == found for root in view.roots(self._store))


def _written(operation: Operation) -> Root:
    """The root that it gives rows: main, or the branch that a row change names."""
    given = {**dict.fromkeys((*STATEMENTS, *REPAIRS), "branch"), "merge-branch": "into"}
    branch = operation.arguments.get(given.get(operation.action, ""))
    branch = None if branch == MAIN else branch
    return operation.begun.main if branch is None else TABLE.root(str(branch))


def _moves_of(operation: Operation, root: Root) -> list[Move]:
    return [each for each in operation.moves if each.root == root]


def _sure(identity: Identity | None) -> Identity:
    assert identity is not None, "there is no snapshot"
    return identity


def _tag_key(root: Root, name: str) -> Key:
    return ("tag", root, name)


def _is_of_copy(key: tuple[object, ...]) -> bool:
    root = key[1] if len(key) > 1 else None
    name = (root.branch or "") if isinstance(root, Root) else ""
    return name.startswith(("main-", "retired-")) or is_renamed(name)


def _is_of_branch(key: Key, branch: str) -> bool:
    is_pin = key[0] == "tag" and str(key[-1]).startswith(f"paimark.merge.{branch}.")
    return is_pin or TABLE.root(branch) in key


def _root(key: tuple[object, ...]) -> Root:
    assert isinstance(key[1], Root)
    return key[1]


_CHECKS: dict[str, Callable[[Outcomes, Operation], None]] = {
    "create-tag": Outcomes.tag_made,
    "create-savepoint": Outcomes.savepoint_made,
    "auto-savepoint": Outcomes.savepoint_made,
    "delete-tag": Outcomes.tag_deleted,
    "rename-tag": Outcomes.tag_renamed,
    "delete-savepoint": Outcomes.savepoint_deleted,
    "create-branch": Outcomes.branch_made,
    "delete-branch": Outcomes.branch_deleted,
    "rename-branch": Outcomes.branch_renamed,
    "merge-branch": Outcomes.merged,
    "try": Outcomes.tried,
    "rollback": Outcomes.rolled_back,
    "replace-main-branch": Outcomes.replaced,
    **dict.fromkeys(STATEMENTS, Outcomes.rows_changed),
    **dict.fromkeys(REPAIRS, Outcomes.repaired),
    "undo": Outcomes.undone,
}

__all__ = ["Outcomes", "References"]

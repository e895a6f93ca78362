"""The check at each step: the actor may make this change of a reference, and no commit is lost."""

from __future__ import annotations

import json

from paimark.core.actions.change.journal import Journal
from paimark.core.table.layout import BARRIER_ID, Root
from tests.simulation.actors.operations import Key, Move, Operation, References
from tests.simulation.actors.scheduler import Actor
from tests.simulation.formats import Identity
from tests.simulation.judging import view
from tests.simulation.judging.protection import Protection
from tests.simulation.world import TABLE, StockFault, Violation, World

_OUR_TAGS = "paimark."
_LOOKED_AFTER = (TABLE.journal, TABLE.root().snapshot(BARRIER_ID))
_SAVING = ("create-savepoint", "auto-savepoint")
_NEVER_HOLD = (*_SAVING, "create-tag")


class Watch:
    """Observes each change of the store. Raises `Violation` in the actor that made a wrong change."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._store = world.store
        # The current operations of Paimark's actors; stock engines have none.
        self.operations: dict[Actor, Operation] = {}
        # Operations with an unknown end.
        self.doubts: list[Operation] = []
        # Tags whose creator died before it could prove that they were made in time.
        self.unproven: set[str] = set()
        # Acknowledged tags: root and name, with the tagged commit.
        self.promised: dict[tuple[Root, str], Identity] = {}
        # Commits of Paimark that a stock engine overwrote, with the operation count of their makers then.
        self.overwritten: dict[Identity, int] = {}
        # Commits of deleted roots.
        self.dropped: set[Identity] = set()
        # Commits to a branch that was moved or deleted before: it has no schema.
        self.strays: set[Identity] = set()
        # Commits that a rollback removed from main: unacknowledged copies of that main may go, too.
        self.rolled_back: set[Identity] = set()
        self.last_writer: dict[Key, Operation | None] = {}
        # Stand-ins for the senders of late requests.
        self._late: set[Actor] = set()
        self.protection = Protection(self._store)
        world.watchers.append(self.changed)
        world.late.heard.append(self._given_up)

    @property
    def interrupted(self) -> Operation | None:
        """The interrupted change that holds the lock, or the last one that may have held it."""
        held = [each for each in self.doubts if each.action not in _NEVER_HOLD]
        journal = self._store.files.get(TABLE.journal)
        if journal is not None:
            holder = Journal.from_json(journal, TABLE.journal).owner.user
            held = [each for each in held if each.actor.name == holder] or held
        return held[-1] if held else None

    def made_anew(self, root: Root) -> None:
        """Note that a stock engine deleted a root, and creates another with its name."""
        for operation in (*self.operations.values(), *self.doubts):
            operation.anew.add(root)

    def _given_up(self, actor: Actor, stand_in: Actor) -> None:
        self._late.add(stand_in)
        if (operation := self.operations.get(actor)) is not None:
            self.operations[stand_in] = operation

    def changed(self, actor: Actor, path: str, before: bytes | None, after: bytes | None) -> None:
        operation = self.operations.get(actor)
        if actor in self._late and operation is not None and operation.state == "in doubt":
            # Its end, judged at rest, is unknown again.
            self.doubts = [*(each for each in self.doubts if each is not operation), operation]
        old, new = view.identity(before), view.identity(after)
        if operation is not None and path in _LOOKED_AFTER and after is not None:
            operation.looks(path, References.now(self._store))
        place = view.place_of(path)
        if place is not None and place.part == "snapshot":
            if old is not None and old != new:
                self._require_the_same(operation, place.root, f"snapshot {old.id}")
            self._snapshot(actor, operation, place.root, int(place.name), old, new)
        elif place is not None and place.part == "tag":
            if old is not None and old != new and not self._is_own(operation, place):
                self._require_the_same(operation, place.root, f"tag {place.name}")
            self._touch(operation, ("tag", place.root, place.name), old)
            if operation is None and old is not None:
                self.protection.forget(place.root, place.name)
            self._tag(actor, operation, place.root, place.name, old, new)
        elif place is not None:
            self._touch(operation, ("schema", place.root, place.name), before)
        elif path.startswith(f"{TABLE.operations}/operation-") and operation is not None:
            is_copy = operation.moves_table
            if not is_copy and not self._is_savepoint_of_another(operation, after or b"{}"):
                operation.token = path.rpartition("-")[2]
        elif path.startswith(f"{TABLE.operations}/begun-") and after is not None and operation is not None:
            # Its name once the commit has landed; who finds it may write that of another's.
            operation.token = path.rpartition("-")[2]
        elif path == TABLE.main_branch_file:
            self._touch(operation, ("main",), (before or b"").decode().strip())
        elif path == TABLE.protected:
            self.protection.set_anew()
        elif path.startswith(f"{TABLE.savepoints}/savepoint-"):
            number = path.rpartition("-")[2]
            self._touch(operation, ("savepoint", number), before)
            is_promised = any(name == f"savepoint.{number}" for _, name in self.promised)
            is_moved = operation is not None and operation.moves_table
            may_go = is_moved or (operation is not None and operation.may_unsave(number))
            if after is None and self.protection.keeps_savepoint(number) and not is_moved:
                raise Violation(f"{path} went, and is protected")
            if after is None and is_promised and not may_go:
                raise Violation(f"{path} went, and nobody deleted that savepoint")

    def _require_the_same(self, operation: Operation | None, root: Root, what: str) -> None:
        """Raise if an action takes a part of a branch that another engine made since the action began."""
        if operation is not None and root in operation.anew and not operation.moves_table:
            raise Violation(f"{operation.action} takes {what} of another {root.label}, made since")

    def _is_own(self, operation: Operation | None, tag: view.RootFile) -> bool:
        """Whether the action made the tag itself."""
        return self.last_writer.get(("tag", tag.root, tag.name)) is operation

    def _is_savepoint_of_another(self, operation: Operation, logged: bytes) -> bool:
        """Whether a recovery of an operation logs a savepoint that another one had begun."""
        is_saving = json.loads(logged).get("action") in _SAVING
        return operation in self.doubts and operation.action not in _SAVING and is_saving

    def _touch(self, operation: Operation | None, key: Key, before: object) -> None:
        number = _savepoint_of(key)
        if operation in self.doubts and number is not None and not operation.may_unsave(number):
            # A recovery also finishes savepoints of other operations.
            operation = None
        self.last_writer[key] = operation
        if operation is not None:
            operation.touched.setdefault(key, before)

    def _snapshot(
        self,
        actor: Actor,
        operation: Operation | None,
        root: Root,
        number: int,
        old: Identity | None,
        new: Identity | None,
    ) -> None:
        now = view.snapshots(self._store, root)
        was = (
            dict(sorted({**now, number: old}.items()))
            if old
            else {n: i for n, i in now.items() if n != number}
        )
        before, after = next(reversed(was.values()), None), next(reversed(now.values()), None)
        if old is not None and new is not None and old != new:
            self._overwritten(actor, old, new)
        if new is not None:
            self._world.held.setdefault(root, set()).add(new)
        if new is not None and not self._world.commits[new].has_landed:
            self._landed(actor, root, before, new)
        if before == after:
            return
        self._touch(operation, ("head", root), before)
        if operation is None and after is None:
            self.protection.forget(root)
        if operation is not None:
            if before is not None:
                self.protection.moved(operation, root)
            operation.moves.append(Move(root, before, after))
        if before is not None and not (after and self._world.descends(after, before)):
            self._left(actor, operation, root, before, after)
        if operation is None and any(each.may_drop(root) for each in self.doubts):
            # Another actor commits to a root that is being deleted: the deletion does not know these files.
            self._world.has_leaked = True

    def _landed(self, actor: Actor, root: Root, before: Identity | None, new: Identity) -> None:
        commit = self._world.commits[new]
        commit.has_landed = True
        if not view.schema_ids(self._store, root) and (before is None or before in self.strays):
            self.strays.add(new)
        if before is None and commit.parent is not None and self._is_gone(commit.parent):
            # A late commit to a root that was moved or deleted since: it stays there, and can be found.
            if commit.parent in self.dropped:
                self.dropped.add(new)
            return
        if commit.parent in self.overwritten and before is not None:
            # The writer did not notice that its parent commit was overwritten.
            self.overwritten[before] = 0
            return
        if before is not None and new.id < before.id:
            if actor in self._late:
                raise StockFault("it expired a commit while a request for another of its id was under way")
            if commit.maker not in self.operations:
                raise StockFault("it stood still before its rename until its id was used and expired")
        if commit.parent != before and before not in self.overwritten:
            raise Violation(
                f"{describe(new)} of {root.label} was made on {describe(commit.parent)}, "
                f"not on {describe(before)}"
            )

    def _overwritten(self, actor: Actor, old: Identity, new: Identity) -> None:
        """Only a stock engine on S3 may overwrite a snapshot, between its check and its rename."""
        if actor in self.operations or self._store.kind != "s3":
            raise Violation(f"{describe(new)} overwrote {describe(old)}")
        maker = self._world.commits[old].maker
        self.overwritten[old] = maker.operations if maker else 0
        self._world.always_leaks = True
        self._world.tell(actor, f"overwrites {describe(old)}: S3 lets it")

    def _left(
        self,
        actor: Actor,
        operation: Operation | None,
        root: Root,
        before: Identity,
        after: Identity | None,
    ) -> None:
        """A root lost its newest commit: another root must hold it, or the action may drop it."""
        if operation is not None and operation.moves_table:
            # The judge finds it once the table is back.
            return
        commit = self._world.commits[before]
        if self._world.stock_may_drop == root:
            self.rolled_back.update(self._world.ancestors(before))
        if before in self.overwritten or self._is_held(before):
            return
        made = (
            operation.name if operation is not None and operation.action in ("create-branch", "try") else None
        )
        # A branch that is taken back was never anybody's.
        if before in self.rolled_back and (root.branch == made or (root.branch or "").startswith("main-")):
            self.dropped.update(self._world.ancestors(before))
            # The rollback by a stock engine deleted no data files.
            self._world.has_leaked = True
            return
        if operation is not None and operation.may_drop(root) and self._must_spare(operation, root, before):
            raise Violation(
                f"{operation.action} takes {describe(before)} of {root.label}, which came after its plan"
            )
        if operation is not None and operation.may_drop(root) and self._is_another(operation, root, before):
            raise Violation(
                f"{operation.action} takes {describe(before)} of another {root.label}, made since"
            )
        if (operation is not None and operation.may_drop(root)) or self._world.stock_may_drop == root:
            self.dropped.update(self._world.ancestors(before))
            self._world.has_leaked |= operation is None
            return
        if commit.maker is actor and not commit.is_acknowledged:
            return
        raise Violation(f"{describe(before)} of {root.label} is in no root any more (now {describe(after)})")

    def _must_spare(self, operation: Operation, root: Root, newest: Identity) -> bool:
        """Whether a root that it may drop has commits that nobody agreed to lose."""
        then = (operation.shown or operation.planned).heads.get(root)
        if operation.action == "delete-branch" and then is not None:
            return newest in self._world.commits and not self._world.descends(then, newest)
        return operation.must_spare(root)

    def _is_another(self, operation: Operation, root: Root, newest: Identity) -> bool:
        """Whether the root was deleted and created again since the plan, with another lineage."""
        then = operation.planned.heads.get(root)
        lines = self._world.descends
        if root in operation.anew:
            return True
        return then is not None and not lines(newest, then) and not lines(then, newest)

    def tagged_again(self, root: Root, name: str, found: Identity) -> None:
        """Note that a stock engine made a tag of this name: from now on the name means this snapshot."""
        for key in [each for each in self.promised if each[1] == name]:
            del self.promised[key]
        self.promised[root, name] = found

    def forget(self, name: str, found: Identity) -> None:
        """Remove a tag from the promised ones."""
        for key in [each for each, held in self.promised.items() if each[1] == name and held == found]:
            del self.promised[key]

    def _is_gone(self, identity: Identity) -> bool:
        return identity in self.dropped or self._is_held(identity)

    def _is_held(self, identity: Identity) -> bool:
        heads = (view.head(self._store, root) for root in view.roots(self._store))
        return any(each is not None and self._world.descends(each, identity) for each in heads)

    def _tag(
        self,
        actor: Actor,
        operation: Operation | None,
        root: Root,
        name: str,
        old: Identity | None,
        new: Identity | None,
    ) -> None:
        if old is None or old == new or name.startswith(_OUR_TAGS) or old not in self.promised.values():
            return
        if self._world.stock_may_drop == root and not name.startswith("savepoint."):
            # A rollback by a stock engine deletes tags on purpose; only savepoints must survive it.
            self.forget(name, old)
        if actor in self._late and operation is not None and operation.action == "create-tag":
            # The actor died while it took its tag back.
            self.forget(name, old)
        is_promised = any(each[1] == name and held == old for each, held in self.promised.items())
        if not is_promised or actor not in self.operations:
            return
        if operation is not None and (operation.moves_table or operation.may_untag(root, name, old)):
            return
        others = (view.tags(self._store, each).get(name) for each in view.roots(self._store))
        if old not in others:
            raise Violation(f"tag {name} of {root.label}, of {describe(old)}, is in no root any more")


def describe(identity: Identity | None) -> str:
    return f"snapshot {identity.id} ({identity.delta})" if identity else "nothing"


def _savepoint_of(key: Key) -> str | None:
    """The savepoint's number, if the key is a savepoint or its tag."""
    if key[0] == "savepoint":
        return str(key[1])
    name = str(key[-1])
    return name.removeprefix("savepoint.") if key[0] == "tag" and name.startswith("savepoint.") else None

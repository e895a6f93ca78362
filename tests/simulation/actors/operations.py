"""The record of one action of Paimark: the references that it changed, those that it may remove, its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from paimark.core.actions.plan import Outcome
from paimark.core.table.layout import Root
from tests.simulation.actors.scheduler import Actor
from tests.simulation.formats import Identity
from tests.simulation.judging import view
from tests.simulation.memory import MemoryStore

State = Literal["running", "acknowledged", "refused", "in doubt"]
MOVES = ("drop-table", "undrop", "rename-table")
# A reference: ("head", root), ("tag", root, name), ("schema", root, id), ("main",), ("savepoint", id).
Key = tuple[object, ...]


@dataclass(frozen=True)
class References:
    """The references at one moment."""

    main: Root
    heads: dict[Root, Identity | None]
    tags: dict[Root, dict[str, Identity]]

    @classmethod
    def now(cls, store: MemoryStore) -> References:
        roots = view.roots(store)
        return cls(
            view.main_root(store),
            {root: view.head(store, root) for root in roots},
            {root: view.tags(store, root) for root in roots},
        )


@dataclass(frozen=True)
class Move:
    """A change of a root's newest commit."""

    root: Root
    before: Identity | None
    after: Identity | None


@dataclass(eq=False)
class Operation:
    """An action from its plan to its end. Its recovery continues the same operation.

    `action` and `arguments` are the effective ones: for a redo those of the redone action, for an undo by the
    opposite action those of that action. `undoes` is the operation that an undo takes back. `planned` are the
    references when the plan was begun, `shown` when it was made, `begun` when it was applied. `touched` has
    each changed reference with its value before, `token` is the name in the operation log. `late` are the
    roots with commits of others after the plan and before its last check: these commits must stay. `anew`
    are the roots that a stock engine has deleted and created again since the operation began.
    """

    actor: Actor
    action: str
    arguments: dict[str, object]
    planned: References
    begun: References
    undoes: Operation | None = None
    shown: References | None = None
    state: State = "running"
    token: str = ""
    outcome: Outcome | None = None
    touched: dict[Key, object] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    late: set[Root] = field(default_factory=set)
    anew: set[Root] = field(default_factory=set)
    looked_after: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        return str(self.arguments.get("name", ""))

    @property
    def moves_table(self) -> bool:
        """Whether it takes all away, to another place."""
        return self.action in MOVES

    def tags_named(self) -> list[str]:
        """The names of the tags that the action makes or deletes."""
        if self.action not in ("create-tag", "delete-tag", "rename-tag"):
            return []
        return [str(each) for key, each in self.arguments.items() if key in ("name", "to")]

    def may_drop(self, root: Root) -> bool:
        """Whether the action may remove the rows of a root."""
        if self.action == "delete-branch" and not self.arguments.get("keep"):
            return root.branch == self.name
        if self.action == "replace-main-branch" and self.arguments.get("drop_previous"):
            return root == self.begun.main or (root.branch or "").startswith("main-")
        return False

    def looks(self, path: str, now: References) -> None:
        """Update `late`: the action has written the journal or the barrier, and checks again after that."""
        if path not in self.looked_after:
            self.looked_after.add(path)
            heads = (self.shown or self.begun).heads.items()
            self.late |= {root for root, head in heads if now.heads.get(root) not in (head, None)}

    def must_spare(self, root: Root) -> bool:
        """Whether a root that it may drop has late commits."""
        return root in self.late or (self.action == "replace-main-branch" and self.begun.main in self.late)

    def may_unsave(self, number: str) -> bool:
        """Whether the action may remove a savepoint."""
        return self.action == "delete-savepoint" and str(self.arguments["id"]) == number

    def may_untag(self, root: Root, tag: str, held: Identity) -> bool:
        """Whether the action may remove a tag that holds this snapshot: not another one of its name."""
        if self.action in ("delete-tag", "rename-tag"):
            was = self.name if tag == self.arguments.get("to") else tag
            is_the_same = held in [each.get(was) for each in self.planned.tags.values()]
            return is_the_same and tag in (self.name, self.arguments.get("to"))
        if tag.startswith("savepoint.") and self.may_unsave(tag.removeprefix("savepoint.")):
            return True
        # The tags of the previous main, in whichever root they are now.
        source = root if self.action == "delete-branch" else self.begun.main
        return self.may_drop(root) and tag in self.planned.tags.get(source, {})

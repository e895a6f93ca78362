"""One action of ours as it goes on: what it touched, what it may take away, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from core.actions.plan import Outcome
from core.table.layout import Root
from tests.simulation.actors.scheduler import Actor
from tests.simulation.formats import Identity
from tests.simulation.judging import view
from tests.simulation.memory import MemoryStore

State = Literal["running", "acknowledged", "refused", "in doubt"]
# Something that may change: ("head", root), ("tag", root, name), ("main",), ("savepoint", id).
Key = tuple[object, ...]


@dataclass(frozen=True)
class Seen:
    """What references there were at a moment."""

    main: Root
    heads: dict[Root, Identity | None]
    tags: dict[Root, dict[str, Identity]]

    @classmethod
    def now(cls, store: MemoryStore) -> Seen:
        roots = view.roots(store)
        return cls(
            view.main_root(store),
            {root: view.head(store, root) for root in roots},
            {root: view.tags(store, root) for root in roots},
        )


@dataclass(frozen=True)
class Move:
    """A root's newest commit became another."""

    root: Root
    before: Identity | None
    after: Identity | None


@dataclass(eq=False)
class Operation:
    """An action from its plan to its end; whoever recovers it goes on with the same one.

    `action` and `arguments` are those that it comes to: of a redo those of what is redone, of an undo by the
    opposite action those of that one. `undoes` is what an undo takes back. `planned` is what there was when
    the plan was begun, `shown` when it was made, `begun` when it was applied. `touched` has each thing it
    changed with what that was before, `token` its name in the log of operations. `late` are the roots that
    others committed to since the plan and before it may have looked for that: what they have there must stay.
    `anew` are those that a stock engine has made in the place of others of their names since it began.
    """

    actor: Actor
    action: str
    arguments: dict[str, object]
    planned: Seen
    begun: Seen
    undoes: Operation | None = None
    shown: Seen | None = None
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

    def may_drop(self, root: Root) -> bool:
        """Whether the rows of a root may go with it."""
        if self.action == "delete-branch" and not self.arguments.get("keep"):
            return root.branch == self.name
        if self.action == "replace-main-branch" and self.arguments.get("drop_previous"):
            return root == self.begun.main or (root.branch or "").startswith("main-")
        return False

    def looks(self, path: str, now: Seen) -> None:
        """It has just written what it looks again after: the journal, or the barrier."""
        if path not in self.looked_after:
            self.looked_after.add(path)
            heads = (self.shown or self.begun).heads.items()
            self.late |= {root for root, head in heads if now.heads.get(root) not in (head, None)}

    def must_spare(self, root: Root) -> bool:
        """Whether a root that it may drop has what came late."""
        return root in self.late or (self.action == "replace-main-branch" and self.begun.main in self.late)

    def may_unsave(self, number: str) -> bool:
        """Whether a savepoint may go."""
        return self.action == "delete-savepoint" and str(self.arguments["id"]) == number

    def may_untag(self, root: Root, tag: str) -> bool:
        """Whether a reference may go."""
        if self.action == "delete-tag":
            return tag == self.name
        if self.action == "rename-tag":
            return tag in (self.name, self.arguments["to"])
        if tag.startswith("savepoint.") and self.may_unsave(tag.removeprefix("savepoint.")):
            return True
        # The previous main's tags, wherever it was put.
        source = root if self.action == "delete-branch" else self.begun.main
        return self.may_drop(root) and tag in self.planned.tags.get(source, {})

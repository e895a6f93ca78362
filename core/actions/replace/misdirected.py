"""A main-branch file that names another main than the table directory says: nobody could prevent that write.

A process that stands still right before it replaces the main-branch file is recovered meanwhile: that writes
the same. If an undo has taken it back before the process goes on, its write is wrong.
"""

from __future__ import annotations

from typing import NamedTuple

from paimark.core.actions.plan import Item, Step
from paimark.core.actions.roots.barrier import branch_in_notice
from paimark.core.errors import Corrupt
from paimark.core.storage.files import Files
from paimark.core.table.layout import BARRIER_ID, MAIN, TablePath
from paimark.core.table.lineage.main_branch import main_branch_name, root_exists


class Misdirected(NamedTuple):
    """What the main-branch file says, and what the table directory is made for; None is the directory."""

    named: str | None
    right: str | None

    def step(self, table: TablePath) -> Step:
        return Step("replace", table.main_branch_file, f"{self.named or 'blank'} -> {self.right or 'blank'}")

    def items(self) -> list[Item]:
        """What was read as main meanwhile stays, under its own name."""
        if self.named is None:
            return []
        text = f"commits to main since that process went on are on branch {self.named}, and stay there"
        return [Item("affects", text, "commits-leave-main")]

    def __str__(self) -> str:
        wrong = f"branch {self.named}" if self.named else "the table directory"
        right = f"branch {self.right}" if self.right else MAIN
        return f"{wrong} named as main by a process that went on after it was recovered: {right} is"


def misdirected(files: Files, table: TablePath) -> Misdirected | None:
    """The disagreement, if there is one; only while no change holds the table.

    A replacement gives the table directory a notice that names the branch, and the barrier. An undo takes
    both away. A branch that is named without them was made main by no change that has ended.
    """
    own = table.root()
    try:
        named = main_branch_name(files, table)
    except Corrupt:
        # It names nothing: reads say so.
        return None
    schema, barrier = files.read_many([own.schema(0), own.snapshot(BARRIER_ID)])
    right = branch_in_notice(schema)
    if right is None:
        is_main = schema is not None and barrier is None
        return Misdirected(named, None) if named is not None and is_main else None
    if right == named or barrier is None or not root_exists(files, table.root(right)):
        return None
    return Misdirected(named, right)


def redirect(files: Files, table: TablePath, wrong: Misdirected) -> None:
    """Let the main-branch file say what the table directory says, if it still disagrees. Idempotent."""
    if misdirected(files, table) == wrong:
        files.replace(table.main_branch_file, (wrong.right or "").encode())

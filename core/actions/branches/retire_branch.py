"""`delete-branch --keep`: retire a branch with all its files, as `retired-<name>-<time>`.

`undo` gives it its name back.
"""

from __future__ import annotations

from typing import Self

from paimark.core.actions.branches.delete_branch import as_planned, branch_refusals
from paimark.core.actions.branches.rename_root import RootMove
from paimark.core.actions.change.change import Done, Work
from paimark.core.actions.change.journal import Hold
from paimark.core.actions.garbage.sweep import Removed
from paimark.core.actions.plan import raise_first
from paimark.core.actions.roots.root_files import SCHEMAS, Swap
from paimark.core.errors import Refused
from paimark.core.table.definition.retention import with_retention
from paimark.core.table.layout import SCHEMA_PREFIX
from paimark.core.table.lineage.edits import Edits, MovedRoot


class RetireBranch(RootMove[MovedRoot]):
    """Copy the branch to its new name with stock retention off, as in every root that Paimark makes."""

    State = MovedRoot

    @classmethod
    def begin(cls, work: Work) -> Self:
        root, branch_state = as_planned(work)
        if branch_state is None:
            raise Refused(f"Branch {root.label} holds nothing to keep", "Leave --keep out.")
        edit = MovedRoot(
            before=root.label,
            after=str(work.plan.arguments["retired"]),
            schema_id=branch_state.schema_id,
            schema=branch_state.schema.decode(),
        )
        return cls(work, edit)

    @property
    def names(self) -> tuple[str | None, str | None]:
        return self.state.before, self.state.after

    def swap(self) -> Swap:
        data = (self.state.schema or "").encode()
        name = f"{SCHEMAS}/{SCHEMA_PREFIX}{self.state.schema_id}"
        return Swap(name, data, with_retention(data, name))

    def check(self, hold: Hold) -> None:
        root, _ = as_planned(self.work)
        raise_first(branch_refusals(self.work.context, root, keeps=True))
        if self.work.files.entries(self.target.directory):
            raise Refused(
                f"{self.work.plan.table} has a branch {self.target.label} already", "Make a new plan."
            )

    def edits(self) -> Edits | None:
        return None if self.stays else Edits(moved=self.state)

    def done(self) -> Done:
        name, retired = self.source.label, self.target.label
        return Done(
            message=self.stays or f"Branch {name} of {self.work.plan.table} is retired as {retired}",
            result={"branch_name": name, "retired_as": retired, **Removed().facts},
            before=f"branch {name}",
            after=f"branch {retired}",
        )

"""`recover --main NAME`: make another branch main, if the branch that the main-branch file names is gone.

Another engine can delete the branch that is main. The previous main still exists, as a branch, and becomes
main without being moved.
"""

from __future__ import annotations

from typing import Self

import msgspec

from paimark.core.actions.change.change import Done, Work
from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.checks import fingerprint, require_unmoved
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Item, Plan, Step
from paimark.core.actions.replace.point_main import PointMain
from paimark.core.actions.replace.table_directory import clean_table_directory, clear_table_directory
from paimark.core.actions.replace.takeover import unreadable_refusals
from paimark.core.actions.roots.root_state import RootState, state
from paimark.core.actions.said import final
from paimark.core.errors import Refused
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.edits import Edits, MainEdit
from paimark.core.table.lineage.main_branch import branch_names, main_branch_name, root_exists
from paimark.core.table.names import checked_name, near_or_all_names


def plan(context: Context, table: TablePath, name: str) -> Plan:
    """Raises `Refused` if the branch that is main exists, or there is no branch `name`."""
    branch_state = _find(context.files, table, name)
    gone = main_branch_name(context.files, table)
    return Plan(
        change="restore-main",
        headline=f"Make branch {name} main of {table.full_name}.",
        arguments={"main": name, "gone": gone},
        fingerprint=fingerprint(str(gone), branch_state.fingerprint),
        steps=(
            Step("replace", table.main_branch_file, f"{gone} -> {name}"),
            Step("replace", table.directory, f"guards and notice of {name} instead of those of {gone}"),
        ),
        items=(
            Item("loses", f"what branch {gone} got as main: it is gone", "commits-leave-main", is_grave=True),
            final(),
            Item("keeps", f"every version, tag and savepoint of branch {name}"),
        ),
        phrase=name,
        cost="no data file",
        refusals=tuple(unreadable_refusals(context, branch_state)),
    )


class RestoreState(msgspec.Struct, frozen=True):
    """The branch that becomes main, and the one that is gone."""

    name: str  # the branch that becomes main
    gone: str  # the branch that was main


class RestoreMain(PointMain[RestoreState]):
    """A branch becomes main in place of one that is gone."""

    State = RestoreState

    @classmethod
    def begin(cls, work: Work) -> Self:
        change = cls(work, RestoreState(str(work.plan.arguments["main"]), str(work.plan.arguments["gone"])))
        change._as_planned()
        return change

    @property
    def new_main(self) -> Root:
        return self.work.table.root(self.state.name)

    def _as_planned(self) -> None:
        branch_state = _find(self.work.files, self.work.table, self.state.name)
        gone = main_branch_name(self.work.files, self.work.table)
        require_unmoved(self.work.table, self.work.plan, fingerprint(str(gone), branch_state.fingerprint))

    def check(self, hold: Hold) -> None:
        self._as_planned()

    def finish(self, hold: Hold) -> None:
        self.point(hold)
        clear_table_directory(self.work.files, self.work.table, self.new_main, None)

    def clean(self) -> None:
        clean_table_directory(self.work.files, self.work.table, self.new_main, None)

    def edits(self) -> Edits:
        return Edits(main=MainEdit(before=self.state.gone, after=self.state.name))

    def no_way_back(self) -> str:
        return f"branch {self.state.gone}, which was main, is gone"

    def done(self) -> Done:
        name, gone = self.state.name, self.state.gone
        return Done(
            message=f"Made {name} main of {self.work.plan.table}. It can't be taken back",
            result={"branch_name": name, "recovered": 1},
            before=f"main is branch {gone}, which is gone",
            after=f"main is branch {name}",
        )

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        return [Step("check", self.work.table.main_branch_file, f"it names {self.state.name}, or as before")]


def _find(files: Files, table: TablePath, name: str) -> RootState:
    gone = main_branch_name(files, table)
    if gone is None or root_exists(files, table.root(gone)):
        raise Refused(
            f"Main of {table.full_name} is there", "Make another branch main with replace-main-branch."
        )
    root = table.root(checked_name(name, "branch"))
    if not root_exists(files, root):
        known = branch_names(files, table)
        raise Refused(f"{table.full_name} has no branch {name}", near_or_all_names(name, known))
    return state(files, root)

"""Changes that make another root main. Their point of no return is the entry `committed` of the journal.

The main-branch file can be replaced at any time, also by a process that stood still right before that and was
recovered meanwhile. So it is the first write of `finish`: a process that was taken over fails at its entry.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Self, TypeVar

import msgspec

from paimark.core.actions.change.change import Change, Done, Landed, Work
from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.checks import fingerprint, require_unmoved
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.plan import Item, Plan, Step
from paimark.core.actions.plan_wording import final, otherwise
from paimark.core.actions.replace.pointer import drop_copies
from paimark.core.actions.replace.table_directory import clean_table_directory, clear_table_directory
from paimark.core.actions.roots.root_state import RootState, is_lost, state, unreadable_refusals
from paimark.core.errors import Refused
from paimark.core.storage.files import Files
from paimark.core.table.definition.retention import without_time_to_live
from paimark.core.table.layout import Root, TablePath, truncation_tag
from paimark.core.table.lineage.edits import Edits, MainEdit
from paimark.core.table.lineage.forks import Side, find_fork
from paimark.core.table.lineage.main_branch import branch_names, main_branch_name, root_exists
from paimark.core.table.manifests.chain import comes_from
from paimark.core.table.names import checked_name, near_or_all_names
from paimark.core.table.records import Snapshot

S = TypeVar("S", bound=msgspec.Struct)


class PointMain(Change[S]):
    """The table's name comes to mean another root."""

    @property
    @abstractmethod
    def new_main(self) -> Root: ...

    @property
    def is_pointed(self) -> bool:
        return main_branch_name(self.work.files, self.work.table) == self.new_main.branch

    def point(self, hold: Hold) -> None:
        """Write the main-branch file. Idempotent."""
        if not self.is_pointed:
            hold.require()
            self.work.files.replace(self.work.table.main_branch_file, (self.new_main.branch or "").encode())

    def can_be_main(self) -> bool:
        """Whether another engine left the new main: one that is gone never becomes main."""
        return root_exists(self.work.files, self.new_main)

    def landed(self, hold: Hold) -> Landed:
        return Landed.YES if self.is_pointed else Landed.NO

    def is_void(self, hold: Hold) -> bool:
        return not self.is_pointed and not self.can_be_main()

    def prospect(self, hold: Hold) -> Item:
        if self.is_pointed:
            return super().prospect(hold)
        name = self.new_main.label
        return otherwise(f"{name} becomes main only now, without what main got since")


# A move of main's commits that was interrupted may find that somebody has committed to either side since.
# Stock expiry on main looks at main's tags only: it would take files of snapshots that the other has too.
def part(files: Files, main: Root, copy: Root, progress: Progress) -> None:
    """Pin on main the newest snapshot that both have, and let the copy begin with it. Idempotent.

    Call it while main's expiry is held. Main keeps what came before. If main was rolled back since, to the
    snapshot before the copy's first, that is pinned: the copy's files came from there. Raises `Corrupt`.
    """
    if not root_exists(files, main) or not root_exists(files, copy):
        return
    one, other = Side(files, main), Side(files, copy)
    fork = find_fork(one, other)
    shared = other.record(fork.snapshot_id) if fork.is_proven and fork.snapshot_id else None
    if shared is not None:
        _pin(files, main, copy, shared)
        tags = [name for name, tag in other.tags.items() if tag.id <= shared.id]
        drop_copies(files, main, copy, range(shared.id), tags)
    elif (before := _before(files, one, other)) is not None:
        _pin(files, main, copy, before)
    newest = other.record(other.snapshot_ids[-1]) if other.snapshot_ids else None
    if newest is not None and is_lost(files, copy, str(newest.id), newest.to_json()):
        told = "an expiry on main took files of it before this recovery"
        progress(Remark(f"branch {copy.label} can't be read any more: {told}"))


def _before(files: Files, main: Side, copy: Side) -> Snapshot | None:
    """Main's newest snapshot, if the first one of the copy was built on it."""
    first = copy.record(copy.snapshot_ids[0]) if copy.snapshot_ids else None
    newest = main.record(main.snapshot_ids[-1]) if main.snapshot_ids else None
    if first is None or newest is None or newest.id != first.id - 1:
        return None
    return None if comes_from(files, main.root.table, first, newest) is False else newest


def _pin(files: Files, main: Root, copy: Root, shared: Snapshot) -> None:
    path = main.tag(truncation_tag(copy.label, shared.id))
    files.create(path, without_time_to_live(shared.to_json(), path))


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
        name, gone = str(work.plan.arguments["main"]), main_branch_name(work.files, work.table)
        branch_state = _find(work.files, work.table, name)
        require_unmoved(work.table, work.plan, fingerprint(str(gone), branch_state.fingerprint))
        return cls(work, RestoreState(name, str(gone)))

    @property
    def new_main(self) -> Root:
        return self.work.table.root(self.state.name)

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

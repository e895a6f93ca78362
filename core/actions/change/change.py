"""The interface of an exclusive action. `driver` takes the lock, keeps the journal and writes the log.

Until its commit, which is one conditional write, a change only adds files. Before the commit it can be taken
back, after it only finished. `prepare`, `finish` and `take_back` are idempotent: a recovery runs them again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

import msgspec

from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.plan import Done, Item, Plan, Step
from paimark.core.actions.plan_wording import nothing_lost
from paimark.core.errors import Corrupt
from paimark.core.storage.files import Files
from paimark.core.table.commits import Landed
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.edits import Edits
from paimark.core.table.operations import CheckResult


@dataclass(frozen=True)
class Work:
    """One run of a change, or of its recovery. `token` is the journal's; `user` and `since` its owner's."""

    context: Context
    table: TablePath
    plan: Plan
    token: str
    user: str
    since: int
    progress: Progress

    @property
    def files(self) -> Files:
        return self.context.files


# Why a deletion can't be undone.
GONE = "what it deleted is gone"

__all__ = ["GONE", "Change", "Done", "Landed", "Work"]

S = TypeVar("S", bound=msgspec.Struct)


class Change(ABC, Generic[S]):
    """One exclusive change of a table. `State` is in the journal, so that another process can go on."""

    State: ClassVar[type[msgspec.Struct]]

    def __init__(self, work: Work, state: S) -> None:
        self.work = work
        self.state = state
        # Whether only a person's answer says that it was committed.
        self.is_assumed = False

    @classmethod
    @abstractmethod
    def begin(cls, work: Work) -> Self:
        """Make the change from its plan, by reading only.

        Raises `Refused` if the table differs from the plan, or if something is in the way.
        """

    @classmethod
    def resume(cls, work: Work, state: Mapping[str, Any]) -> Self:
        """Make the change again from the state in its journal. Raises `Corrupt`."""
        try:
            return cls(work, msgspec.convert(state, cls.State))  # type: ignore[arg-type]
        except msgspec.ValidationError as error:
            raise Corrupt(
                f"The journal of {work.plan.action} on {work.table.full_name} can't be resumed ({error})",
                "Recover it with the version of Paimark that began the change.",
            ) from error

    @classmethod
    def nothing(cls, plan: Plan) -> dict[str, str | int | bool | None]:
        """The facts of the outcome when the plan is empty."""
        return {}

    def check(self, hold: Hold) -> None:
        """Compare the locked table with the plan again, as `begin` did. Raises `Refused` when they differ."""
        self.begin(self.work)

    def prepare(self, hold: Hold) -> None:
        """Write the files that the commit needs. Raises `Refused` when something is in the way."""

    def commit(self, hold: Hold) -> Mapping[str, Any] | None:
        """Make the write that is the point of no return; return data for the journal.

        A change without this method commits by its entry in the journal.
        """
        return None

    def landed(self, hold: Hold) -> Landed:
        """Whether `commit` was made, though the journal does not say so. YES stays YES at any later time."""
        return Landed.NO

    def is_void(self, hold: Hold) -> bool:
        """Whether others undid the commit before anybody knew of it: another engine wrote over it.

        `landed` decides then, although the journal says that the change was committed.
        """
        return False

    @abstractmethod
    def finish(self, hold: Hold) -> None:
        """Do what follows the commit. Raises `Refused` when it must wait: the journal then stays."""

    def take_back(self, hold: Hold) -> None:
        """Remove the files of `prepare` if the commit was not made, and no other files."""

    def clean(self) -> None:
        """Remove half-written files of a killed process, before `finish` or `take_back`."""

    @abstractmethod
    def done(self) -> Done:
        """The result, once finished."""

    def edits(self) -> Edits | None:
        """What it changed, once finished; None if an undo can't turn it round."""
        return None

    def checks(self) -> tuple[CheckResult, ...]:
        """What the checks of the rows that it published found."""
        return self.work.plan.checks

    def no_way_back(self) -> str:
        """Why `undo` does not take it back, or what does instead, as a sentence; empty if `undo` does."""
        return ""

    def logs_at(self, hold: Hold) -> TablePath:
        """Where its entry in the log of operations goes, once finished."""
        return hold.table

    def prospect(self, hold: Hold) -> Item:
        """For the plan of a recovery that will finish it: what that comes to. Reads only."""
        return nothing_lost("it is done already, and only tidying is left")

    @abstractmethod
    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        """The steps of recovering it, for a plan. Reads only."""

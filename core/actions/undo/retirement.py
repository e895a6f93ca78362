"""Undo a retirement: the branch gets its name back."""

from __future__ import annotations

from typing import Self

from paimark.core.actions.branches.rename_root import RootMove
from paimark.core.actions.change.change import Done, Work
from paimark.core.actions.change.operations import Operation
from paimark.core.actions.checks import fingerprint
from paimark.core.actions.context import Context
from paimark.core.actions.plan import NO_DATA_FILE, Item, Plan, Refusal, Step, raise_first
from paimark.core.actions.plan_wording import nothing_lost
from paimark.core.actions.roots.root_files import SCHEMAS, Swap, root_files
from paimark.core.actions.roots.root_state import RootState, moving_refusals, state
from paimark.core.actions.roots.waiting import cleanings_to_stop
from paimark.core.actions.undo.common import edit_of, moved_since, undone, undone_by
from paimark.core.errors import NotFound, Refused
from paimark.core.figures import counted
from paimark.core.storage.files import Files
from paimark.core.table.definition.retention import with_retention
from paimark.core.table.layout import SCHEMA_PREFIX, TablePath
from paimark.core.table.lineage.edits import Edits, MovedRoot
from paimark.core.table.lineage.main_branch import main_branch_name
from paimark.core.text import lowered


def plan(context: Context, table: TablePath, operation: Operation) -> Plan:
    """Raises `Refused` when the retired branch is gone, and `Corrupt`."""
    edit = edit_of(MovedRoot, operation)
    now = _now(context.files, table, edit)
    sizes = root_files(context.files, now.root)
    count, total = counted(len(sizes), "metadata file"), sum(sizes.values())
    return Plan(
        change="undo-retirement",
        headline=f"Bring back branch {edit.before} of {table.full_name}.",
        arguments={"branch_name": edit.before},
        fingerprint=_fingerprint(operation, now),
        steps=(
            Step(
                "move",
                f"branch {now.root.label}",
                f"back to the name {edit.before}: {count}, {NO_DATA_FILE}",
                total,
            ),
        ),
        items=(
            *cleanings_to_stop(context.files, now.root),
            nothing_lost(),
            Item("keeps", lowered(_kept(edit))),
        ),
        phrase=edit.before or "",
        cost="no data file",
        refusals=tuple(_refusals(context, table, edit, now)),
    )


class UndoRetirement(RootMove[Operation]):
    """A retired branch gets its name back, and its old schema if nothing has changed that since."""

    State = Operation

    @classmethod
    def begin(cls, work: Work) -> Self:
        operation = undone_by(work)
        edit = edit_of(MovedRoot, operation)
        now = _now(work.files, work.table, edit)
        if _fingerprint(operation, now) != work.plan.fingerprint:
            raise moved_since(work)
        raise_first(_refusals(work.context, work.table, edit, now))
        return cls(work, operation)

    @property
    def _edit(self) -> MovedRoot:
        return edit_of(MovedRoot, self.state)

    @property
    def names(self) -> tuple[str | None, str | None]:
        return self._edit.after, self._edit.before

    def swap(self) -> Swap | None:
        if self._edit.schema is None:
            return None
        data = self._edit.schema.encode()
        name = f"{SCHEMAS}/{SCHEMA_PREFIX}{self._edit.schema_id}"
        return Swap(name, with_retention(data, name), data)

    def edits(self) -> Edits | None:
        back = MovedRoot(before=self._edit.after, after=self._edit.before or "")
        return None if self.stays else Edits(moved=back)

    def done(self) -> Done:
        done = undone(self.work, self.state, _kept(self._edit))
        return done._replace(message=self.stays) if self.stays else done


def _now(files: Files, table: TablePath, edit: MovedRoot) -> RootState:
    """The retired branch. Raises `Refused` when it is gone."""
    try:
        return state(files, table.root(edit.after))
    except NotFound as error:
        raise Refused(f"Branch {edit.after} is gone", "It was deleted for good.") from error


def _fingerprint(operation: Operation, now: RootState) -> str:
    return fingerprint(operation.token, now.fingerprint)


def _kept(edit: MovedRoot) -> str:
    return f"Branch {edit.before} as it was, with what was committed since"


def _refusals(context: Context, table: TablePath, edit: MovedRoot, now: RootState) -> list[Refusal]:
    refusals = moving_refusals(context, now.root)
    if context.files.entries(table.root(edit.before).directory):
        reason = f"{table.full_name} has another branch {edit.before} now"
        refusals.append(Refusal(reason, "Delete that one first, or retire it."))
    if main_branch_name(context.files, table) == now.root.label:
        reason = f"Branch {now.root.label} is main of {table.full_name}"
        refusals.append(Refusal(reason, "Make another branch main first."))
    return refusals

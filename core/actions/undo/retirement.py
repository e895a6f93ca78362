"""Undo a retirement: the branch gets its name back."""

from __future__ import annotations

from typing import Self

from paimark.core.actions.branches.rename_root import RootMove
from paimark.core.actions.change.change import Done, Work
from paimark.core.actions.change.journal import Hold
from paimark.core.actions.change.operations import Undoable
from paimark.core.actions.checks import fingerprint
from paimark.core.actions.context import Context
from paimark.core.actions.plan import NO_DATA_FILE, Item, Plan, Refusal, Step, raise_first
from paimark.core.actions.replace.checks import moving_refusals
from paimark.core.actions.roots.json_edit import with_options
from paimark.core.actions.roots.pause import cleanings_to_stop
from paimark.core.actions.roots.root_files import SCHEMAS, Swap, root_files
from paimark.core.actions.roots.root_state import RootState, state
from paimark.core.actions.said import nothing_lost
from paimark.core.actions.undo.undone import moved_since, undone, undone_by
from paimark.core.errors import NotFound, Refused
from paimark.core.figures import counted
from paimark.core.storage.files import Files
from paimark.core.table.definition.retention import RETENTION_OFF
from paimark.core.table.layout import SCHEMA_PREFIX, Root, TablePath
from paimark.core.table.lineage.main_branch import main_branch_name
from paimark.core.text import lowered


def plan(context: Context, table: TablePath, entry: Undoable) -> Plan:
    """Raises `Refused` when the retired branch is gone, and `Corrupt`."""
    now = _now(context.files, table, entry)
    sizes = root_files(context.files, now.root)
    count, total = counted(len(sizes), "metadata file"), sum(sizes.values())
    return Plan(
        change="undo-retirement",
        headline=f"Bring back branch {entry.branch} of {table.full_name}.",
        arguments={"branch_name": entry.branch},
        fingerprint=_fingerprint(entry, now),
        steps=(
            Step(
                "move",
                f"branch {now.root.label}",
                f"back to the name {entry.branch}: {count}, {NO_DATA_FILE}",
                total,
            ),
        ),
        items=(
            *cleanings_to_stop(context.files, now.root),
            nothing_lost(),
            Item("keeps", lowered(_kept(entry))),
        ),
        phrase=entry.branch,
        cost="no data file",
        refusals=tuple(_refusals(context, table, entry, now)),
    )


class UndoRetirement(RootMove):
    """A retired branch gets its name back, and its old schema if nothing has changed that since."""

    @classmethod
    def begin(cls, work: Work) -> Self:
        entry = undone_by(work)
        if _fingerprint(entry, _now(work.files, work.table, entry)) != work.plan.fingerprint:
            raise moved_since(work)
        return cls(work, entry)

    @property
    def source(self) -> Root:
        return self.work.table.root(self.state.kept_as)

    @property
    def target(self) -> Root:
        return self.work.table.root(self.state.branch)

    def swap(self) -> Swap | None:
        if self.state.schema is None:
            return None
        data = self.state.schema.encode()
        name = f"{SCHEMAS}/{SCHEMA_PREFIX}{self.state.schema_id}"
        return Swap(name, with_options(data, RETENTION_OFF, name), data)

    def check(self, hold: Hold) -> None:
        now = _now(self.work.files, self.work.table, self.state)
        if _fingerprint(self.state, now) != self.work.plan.fingerprint:
            raise moved_since(self.work)
        raise_first(_refusals(self.work.context, self.work.table, self.state, now))

    def done(self) -> Done:
        done = undone(self.work, self.state, _kept(self.state))
        return done._replace(message=self.stays) if self.stays else done


def _now(files: Files, table: TablePath, entry: Undoable) -> RootState:
    """The retired branch. Raises `Refused` when it is gone."""
    try:
        return state(files, table.root(entry.kept_as))
    except NotFound as error:
        raise Refused(f"Branch {entry.kept_as} is gone", "It was deleted for good.") from error


def _fingerprint(entry: Undoable, now: RootState) -> str:
    return fingerprint(entry.token, now.fingerprint)


def _kept(entry: Undoable) -> str:
    return f"Branch {entry.branch} as it was, with what was committed since"


def _refusals(context: Context, table: TablePath, entry: Undoable, now: RootState) -> list[Refusal]:
    refusals = moving_refusals(context, now.root)
    if context.files.entries(table.root(entry.branch).directory):
        reason = f"{table.full_name} has another branch {entry.branch} now"
        refusals.append(Refusal(reason, "Delete that one first, or retire it."))
    if main_branch_name(context.files, table) == now.root.label:
        reason = f"Branch {now.root.label} is main of {table.full_name}"
        refusals.append(Refusal(reason, "Make another branch main first."))
    return refusals

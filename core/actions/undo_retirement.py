"""Giving a retired branch its name back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.actions import journal, undo_log
from core.actions.checks import fingerprint
from core.actions.context import Context, Progress
from core.actions.plan import Refusal, Step
from core.actions.removal import said
from core.actions.replace_checks import claim_refusals
from core.actions.root_files import remove_root, root_files
from core.actions.root_move import is_moved, move_root
from core.actions.takeover import State, state
from core.actions.undo_log import Undoable
from core.errors import NotFound, Refused
from core.storage.files import Files
from core.table.layout import SCHEMA_PREFIX, TablePath
from core.table.main_branch import main_branch_name


@dataclass(frozen=True)
class Retired:
    """A retired branch. `now` is its root under the name that it got."""

    entry: Undoable
    now: State

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.entry.token, self.now.fingerprint)

    @property
    def said(self) -> str:
        return self.now.said

    @property
    def summary(self) -> str:
        return (
            f"Give branch {self.now.root.label} of {self.now.root.table.full_name} back its name {self._name}"
        )

    def refusals(self, context: Context) -> list[Refusal]:
        table = self.now.root.table
        found = claim_refusals(context, self.now.root)
        if context.files.entries(table.root(self._name).directory):
            reason = f"{table.full_name} has another branch {self._name} now"
            found.append(Refusal(reason, "Delete that one first, or retire it."))
        if main_branch_name(context.files, table) == self.now.root.label:
            reason = f"Branch {self.now.root.label} is main of {table.full_name}"
            found.append(Refusal(reason, "Make another branch main first."))
        return found

    def steps(self, context: Context) -> list[Step]:
        sizes = root_files(context.files, self.now.root)
        count, total = said(len(sizes), "metadata file"), sum(sizes.values())
        return [
            Step("copy", f"branch {self._name}", count, total),
            Step("delete", f"branch {self.now.root.label}", "it has its name again", total),
        ]

    def kept(self) -> list[str]:
        return [f"Branch {self._name} as it was, with what was committed since"]

    def warnings(self) -> list[str]:
        when = datetime.fromtimestamp(self.entry.time / 1000)
        return [f"{self.entry.user} retired it on {when:%Y-%m-%d %H:%M}"]

    def go(self, context: Context, hold: journal.Hold, progress: Progress) -> journal.Hold:
        schemas = {}
        if self.entry.schema_id == self.now.schema_id and self.entry.schema is not None:
            schemas[f"schema/{SCHEMA_PREFIX}{self.now.schema_id}"] = self.entry.schema.encode()
        return move_root(context, hold, self.now, hold.table.root(self._name), schemas, progress)

    def finish(self, context: Context, hold: journal.Hold, progress: Progress) -> None:
        finish(context, hold, self.entry)

    def take_back(self, context: Context, hold: journal.Hold) -> None:
        remove_root(context.files, hold.table.root(self._name))

    @property
    def _name(self) -> str:
        return self.entry.branch


def find(files: Files, table: TablePath, entry: Undoable) -> Retired:
    """Raises `Refused` when the retired branch is gone, and `Corrupt`."""
    try:
        return Retired(entry, state(files, table.root(entry.kept_as)))
    except NotFound as error:
        raise Refused(f"Branch {entry.kept_as} is gone", "It was deleted for good.") from error


def finish(context: Context, hold: journal.Hold, entry: Undoable) -> None:
    """What follows the point of no return; every step can be done twice."""
    undo_log.remove(context, hold.table, entry.token)
    remove_root(context.files, hold.table.root(entry.kept_as))


def recover(context: Context, hold: journal.Hold, entry: Undoable, progress: Progress) -> None:
    """Leave one of the two: the copy once it is whole, else the retired branch. The caller ends it."""
    if is_moved(hold.journal):
        finish(context, hold, entry)
        progress(f"branch {entry.branch} has its name again")
    else:
        remove_root(context.files, hold.table.root(entry.branch))
        progress(f"branch {entry.kept_as} stays")

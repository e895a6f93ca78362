"""`rename-branch`: a branch and its pins get another name, with all its files.

They are in main, in the branch itself, and in the roots with which it was merged. The new pins have the bytes
of the old ones, and are there before those go: at any moment one of the two keeps the snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import msgspec

from paimark.core.actions.branches.branch_losses import affected
from paimark.core.actions.branches.delete_branch import as_planned, branch_refusals, find, seen
from paimark.core.actions.branches.rename_root import RootMove
from paimark.core.actions.change.change import Done, Work
from paimark.core.actions.change.journal import Hold
from paimark.core.actions.checks import required_text
from paimark.core.actions.context import Context
from paimark.core.actions.merge.history import met
from paimark.core.actions.names import name_refusal, was_moved
from paimark.core.actions.plan import NO_DATA_FILE, Item, Plan, Refusal, Step, Taken, raise_first
from paimark.core.actions.roots import guard_tags
from paimark.core.actions.roots.root_files import root_files
from paimark.core.actions.roots.waiting import cleanings_to_stop
from paimark.core.actions.temp_files import delete_temporaries
from paimark.core.errors import Refused
from paimark.core.figures import counted
from paimark.core.quoting import shell_line
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import TAG_PREFIX, Root, TablePath, pins_of
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root, root_exists


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `name`, `to`. Raises `NotFound`."""
    name, to = required_text(arguments, "name"), required_text(arguments, "to")
    root, branch_state = find(context, table, name)
    sizes, pins = root_files(context.files, root), _pins(context.files, table, name, to)
    others = [(of, old, new) for of, names in pins.items() if of != root for old, new in names.items()]
    count, total = counted(len(sizes), "metadata file"), sum(sizes.values())
    back = ["paimark", "rename-branch", table.full_name, "--name", to, "--to", name]
    return Plan(
        headline=f"Rename branch {name} of {table.full_name} to {to}.",
        arguments={"name": name, "to": to},
        fingerprint=seen(context, root, branch_state),
        steps=(
            Step("move", f"branch {name}", f"to the name {to}: {count}, {NO_DATA_FILE}", total),
            *(Step("move", of.tag(old), f"to {of.tag(new)}") for of, old, new in others),
        ),
        items=(
            Item("loses", f"the name {name}, for all who read or write it", "name-gone", is_grave=True),
            *affected(context, root, branch_state),
            *cleanings_to_stop(context.files, root),
            Item("keeps", f"its rows, versions, tags and options, as branch {to}"),
        ),
        phrase=name,
        cost=f"{count}, no data file",
        refusals=tuple(_refusals(context, root, to)),
        undo=shell_line(back),
        takes=tuple(Taken("tag", old, of.label) for of, old, _ in others),
    )


def _refusals(context: Context, root: Root, to: str) -> list[Refusal]:
    files, table = context.files, root.table
    refusals = branch_refusals(context, root, keeps=True)
    if was_moved(root.label):
        reason = f"An undo looks for branch {root.label} by this name"
        refusals.append(Refusal(reason, "Make a branch from one of its snapshots, or undo what moved it."))
    if (refusal := name_refusal(to, "branch")) is not None:
        return [*refusals, refusal]
    if files.entries(table.root(to).directory):
        refusals.append(Refusal(f"{table.full_name} has a branch {to} already", "Choose another name."))
    for of, names in _pins(files, table, root.label, to).items():
        if there := set(Lineage(files, of).tag_names()).intersection(names.values()):
            hint = f"It was left by another branch {to}: choose another name."
            refusals.append(Refusal(f"{of.label} has a tag {min(there)} already", hint))
    return refusals


def _pins(files: Files, table: TablePath, name: str, to: str) -> dict[Root, dict[str, str]]:
    """The tags that are named after the branch, and their names after it is renamed, by their roots."""
    roots, own = {main_root(files, table), table.root(name), table.root(to)}, pins_of(name)
    found: dict[Root, dict[str, str]] = {}
    for root in sorted(roots | met(files, table, (name, to)), key=lambda each: each.label):
        there = Lineage(files, root).tag_names() if root_exists(files, root) else []
        tags = ((tag, own.fullmatch(tag)) for tag in there)
        if named := {tag: f"{match[1]}{to}{match[2]}" for tag, match in tags if match}:
            found[root] = named
    return found


class RenameBranchState(msgspec.Struct, frozen=True):
    """The branch that gets another name."""

    name: str  # its name before
    to: str  # its new name


class RenameBranch(RootMove[RenameBranchState]):
    """The branch is copied to its new name as it is, and its pins are."""

    State = RenameBranchState

    @classmethod
    def begin(cls, work: Work) -> Self:
        root, _ = as_planned(work)
        to = str(work.plan.arguments["to"])
        raise_first(_refusals(work.context, root, to))
        return cls(work, RenameBranchState(root.label, to))

    @property
    def names(self) -> tuple[str | None, str | None]:
        return self.state.name, self.state.to

    def swap(self) -> None:
        return None

    def prepare(self, hold: Hold) -> None:
        files = self.work.files
        for root, old, new in self._pins():
            data = read_if_there(files, root.tag(old))
            if data is not None and not files.create(root.tag(new), data):
                raise Refused(f"{root.label} has a tag {new} by now", "Make a new plan.")
            guard_tags.guard(files, root, new)
        super().prepare(hold)

    def finish(self, hold: Hold) -> None:
        super().finish(hold)
        self._drop(new_ones=bool(self.stays))

    def take_back(self, hold: Hold) -> None:
        super().take_back(hold)
        self._drop(new_ones=True)

    def clean(self) -> None:
        files, table = self.work.files, self.work.table
        pins = self._pins()
        names = {f"{TAG_PREFIX}{new}" for _, _, new in pins}
        for root in {main_root(files, table), table.root(), *(root for root, _, _ in pins)}:
            delete_temporaries(files, root.tags, names)

    def _pins(self) -> list[tuple[Root, str, str]]:
        found = _pins(self.work.files, self.work.table, self.state.name, self.state.to)
        return [(root, old, new) for root, names in found.items() for old, new in names.items()]

    def _drop(self, *, new_ones: bool) -> None:
        """Delete each pin that is there under both names under one of them."""
        files = self.work.files
        for root, old, new in self._pins():
            data, copy = files.read_many([root.tag(old), root.tag(new)])
            if data is not None and data == copy:
                gone = new if new_ones else old
                files.delete(root.tag(gone))
                guard_tags.unguard(files, root, gone, data)

    def no_way_back(self) -> str:
        return f"`{self.work.plan.undo}` gives it its old name back"

    def done(self) -> Done:
        name, to = self.state.name, self.state.to
        return Done(
            message=self.stays or f"Renamed branch {name} of {self.work.plan.table} to {to}",
            result={"branch_name": to, "old_name": name},
            before=f"branch {name}",
            after=f"branch {name}" if self.stays else f"branch {to}",
        )

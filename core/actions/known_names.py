"""The existing names that an argument may have, for the dialog and for a shell's completion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from paimark.core.actions.change.operations import stacks_of
from paimark.core.actions.declared.kinds import (
    Argument,
    Branch,
    BranchName,
    Choice,
    ConsumerName,
    DroppedId,
    OperationNumber,
    SavepointId,
    TagName,
    TagOfMain,
    Version,
)
from paimark.core.actions.said import consumers_of
from paimark.core.storage.files import Files
from paimark.core.table.layout import PIN_PREFIXES, SAVEPOINT_TAG_PREFIX, TablePath, number_in
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, branch_root, main_root
from paimark.core.table.operations import read_operations
from paimark.core.table.savepoints import SavepointManager
from paimark.core.table.trash import dropped_tables

# Tags that Paimark makes; each is deleted with what needs it.
_NOT_GIVEN = (SAVEPOINT_TAG_PREFIX, *PIN_PREFIXES)

# The arguments are the table, and the branch that is acted on; None for main.
Names = Callable[[Files, TablePath, str | None], Sequence[str]]


def known_names(
    argument: Argument, files: Files, table: TablePath, branch: str | None = None
) -> Sequence[str] | None:
    """The values of an argument that there are now, each with a word on it after a blank, if it needs one.

    None for an argument that names nothing, or one of too many. Raises the errors of reads.
    """
    if isinstance(argument, Choice):
        return argument.among
    names = _NAMES.get(type(argument))
    return None if names is None else names(files, table, branch)


def _tags(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    """The tags of the branch, including those of savepoints, which come first, the newest in front."""
    names = Lineage(files, branch_root(files, table, branch)).tag_names()
    saved = {name for name in names if name.startswith(SAVEPOINT_TAG_PREFIX)}
    newest_first = sorted(saved, key=lambda name: number_in(name, SAVEPOINT_TAG_PREFIX) or 0, reverse=True)
    return [*newest_first, *(name for name in names if name not in saved)]


def _given_tags(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    return [name for name in _tags(files, table, branch) if not name.startswith(_NOT_GIVEN)]


def _savepoints(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    """The savepoints of all branches, because ids are unique within the table."""
    return [str(each) for each in reversed(SavepointManager(files, table).ids())]


def _branches(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    return branch_names(files, table)


def _others(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    """The branches that are not main."""
    main = main_root(files, table).branch
    return [name for name in branch_names(files, table) if name != main]


def _consumers(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    return consumers_of(files, branch_root(files, table, branch))


def _operations(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    """What a restore can go to: what can be undone, and what was undone last; the newest first."""
    now = stacks_of(files, table)
    reachable = {each.token for each in now.undo} | {each.token for each in now.redo}
    made = [each for each in read_operations(files, table) if each.token in reachable]
    return [*(f"{each.number} {each.action}" for each in reversed(made)), "0 for before all"]


def _dropped(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    return [each.id for each in dropped_tables(files, table.database) if each.table == table]


_NAMES: Mapping[type[Argument], Names] = {
    TagOfMain: lambda files, table, branch: _tags(files, table, None),
    Version: lambda files, table, branch: _tags(files, table, None),
    TagName: _given_tags,
    SavepointId: _savepoints,
    Branch: _branches,
    BranchName: _others,
    ConsumerName: _consumers,
    OperationNumber: _operations,
    DroppedId: _dropped,
}

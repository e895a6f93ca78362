"""The existing names that an argument may have, shown while its field is empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from paimark.core.actions.change.operations import stacks_of
from paimark.core.storage.files import Files
from paimark.core.table.layout import PIN_PREFIXES, SAVEPOINT_TAG_PREFIX, TablePath, number_in
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, branch_root, main_root
from paimark.core.table.operations import read_operations
from paimark.core.table.savepoints import SavepointManager
from paimark.core.text import clean_text
from paimark.tui.theme import Line

# The names on a line; a table may have thousands.
_MOST = 12

# Tags that Paimark makes; each is deleted with what needs it.
_NOT_GIVEN = (SAVEPOINT_TAG_PREFIX, *PIN_PREFIXES)

# The arguments are the table, and the branch that the dialog begins with; None for main.
Names = Callable[[Files, TablePath, str | None], Sequence[str]]


def _tags(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    """The tags of the branch, including those of savepoints, which come first, the newest in front."""
    root = main_root(files, table) if branch is None else branch_root(files, table, branch)
    names = Lineage(files, root).tag_names()
    saved = {name for name in names if name.startswith(SAVEPOINT_TAG_PREFIX)}
    newest_first = sorted(saved, key=lambda name: number_in(name, SAVEPOINT_TAG_PREFIX) or 0, reverse=True)
    return [*newest_first, *(name for name in names if name not in saved)]


def _given_tags(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    return [name for name in _tags(files, table, branch) if not name.startswith(_NOT_GIVEN)]


def _savepoints(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    """The savepoints of all branches, because ids are unique within the table."""
    return [str(each) for each in reversed(SavepointManager(files, table).ids())]


def _others(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    """The branches that are not main."""
    main = main_root(files, table).branch
    return [name for name in branch_names(files, table) if name != main]


def _operations(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    """What a restore can go to: what can be undone, and what was undone last; the newest first."""
    now = stacks_of(files, table)
    reachable = {each.token for each in now.undo} | {each.token for each in now.redo}
    made = [each for each in read_operations(files, table) if each.token in reachable]
    return [*(f"{each.number} {each.action}" for each in reversed(made)), "0 for before all"]


_NAMES: Mapping[tuple[str, str], Names] = {
    ("create-branch", "tag"): _tags,
    ("rollback", "to"): _tags,
    ("delete-savepoint", "id"): _savepoints,
    ("restore", "to"): _operations,
    **{(action, "name"): _given_tags for action in ("delete-tag", "rename-tag")},
    **{(action, "name"): _others for action in ("merge-branch", "replace-main-branch", "delete-branch")},
}


def known_lines(files: Files, table: TablePath, action: str, branch: str | None) -> Mapping[str, Line]:
    """A line for each argument that names something. For a thread. Raises the errors of reads."""
    asked = {argument: names for (of, argument), names in _NAMES.items() if of == action}
    return {argument: _line(argument, names(files, table, branch)) for argument, names in asked.items()}


def _line(argument: str, names: Sequence[str]) -> Line:
    more = f", and {len(names) - _MOST:,}\u00a0more" if len(names) > _MOST else ""
    # No line ends within a name, or between an operation's number and its action.
    unbroken = (clean_text(name).replace(" ", "\u00a0") for name in names[:_MOST])
    listed = ", ".join(unbroken) + more if names else "none is there yet"
    return [(f"{argument} is one of: " if names else f"{argument}: ", "quiet"), (listed, "")]

"""When each kind of edit may be turned round: one rule a kind, for undo, restore and what they say.

An undo passes over a change whose thing is not as the change left it. What main must be for it, its plan
says: it refuses, and names what can be done instead.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from paimark.core.actions.change.operations import Operation
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.actions.roots.unlocked_changes import defined_state, made_state
from paimark.core.actions.undo import commit, replacement, retirement, truncation
from paimark.core.errors import Corrupt, NotFound
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.edits import HistoryEdit, MadeEdit, RowsEdit, SchemaEdit
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import root_exists

# The inverse actions that only delete the things that they name.
_REMOVALS = ("delete-tag", "delete-branch", "delete-savepoint")


class Left(Enum):
    """How much is left of what a change made."""

    AS_IT_WAS = "as it was"
    CHANGED = "changed"
    GONE = "gone"


class Rule(NamedTuple):
    """`left` tells what is left of an edit, None if that does not matter.

    `plan` plans the edit turned round.
    """

    left: Callable[[Files, TablePath, Any], Left] | None
    plan: Callable[[Context, TablePath, Operation], Plan]


def _made(files: Files, table: TablePath, edit: MadeEdit) -> Left:
    """The same bytes; a branch as it was made, with the tags that only it has."""
    return Left.AS_IT_WAS if made_state(files, table, edit) == edit.state else Left.CHANGED


def _defined(files: Files, table: TablePath, edit: SchemaEdit) -> Left:
    return Left.AS_IT_WAS if defined_state(files, table, edit) == edit.state else Left.CHANGED


def _rows(files: Files, table: TablePath, edit: RowsEdit) -> Left:
    """A writer's rows are gone with its branch."""
    is_there = not edit.is_write or edit.root is None or root_exists(files, table.root(edit.root))
    return Left.AS_IT_WAS if is_there else Left.GONE


def _history(files: Files, table: TablePath, edit: HistoryEdit) -> Left:
    """Every snapshot from the cut on: some may have expired in the branch that has them."""
    archive = table.root(edit.kept_as)
    if not root_exists(files, archive):
        return Left.GONE
    there = {*Lineage(files, archive).snapshot_ids()}
    is_whole = there.issuperset(range(edit.after.id + 1, edit.before.id + 1))
    return Left.AS_IT_WAS if is_whole else Left.CHANGED


def _inverse(context: Context, table: TablePath, operation: Operation) -> Plan:
    """By another action, as long as the thing is as the change left it."""
    from paimark.core.actions.registry import action

    name, arguments = inverse_of(operation)
    return action(name).plan(context, table, arguments)


# By the name of an edit. A replacement has two edits, and goes by what became main.
RULES: dict[str, Rule] = {
    "made": Rule(_made, _inverse),
    "schema": Rule(_defined, _inverse),
    "rows": Rule(_rows, commit.plan),
    "history": Rule(_history, truncation.plan),
    # The previous main is there, and main is what it was made; it may have gone on.
    "main": Rule(None, replacement.plan),
    # The branch is there under its new name; it may have gone on.
    "moved": Rule(None, retirement.plan),
}


def _rule_of(operation: Operation) -> tuple[Rule, Any]:
    for name, rule in RULES.items():
        if (edit := getattr(operation.turned, name)) is not None:
            return rule, edit
    raise Corrupt(f"The log does not say what {operation.action} (operation {operation.number}) changed")


def left(files: Files, table: TablePath, operation: Operation) -> Left:
    """How much is left of what the change made."""
    rule, edit = _rule_of(operation)
    try:
        return Left.AS_IT_WAS if rule.left is None else rule.left(files, table, edit)
    except NotFound:
        return Left.GONE


def is_as_left(files: Files, table: TablePath, operation: Operation) -> bool:
    """Whether an undo does not pass over it."""
    return left(files, table, operation) is Left.AS_IT_WAS


def plan_back(context: Context, table: TablePath, operation: Operation) -> Plan:
    """Plan the edits turned round. Raises `Refused`."""
    return _rule_of(operation)[0].plan(context, table, operation)


def inverse_of(operation: Operation) -> tuple[str, dict[str, Any]]:
    """The action, with its arguments, that takes back what was made, or a definition."""
    made, schema = operation.turned.made, operation.turned.schema
    if schema is not None:
        return operation.action, {**schema.back, "branch": schema.branch}
    assert made is not None
    if made.was is not None:
        return "rename-tag", {"name": made.name, "to": made.was, "branch": made.branch}
    if made.what == "savepoint":
        return "delete-savepoint", {"id": int(made.name)}
    return f"delete-{made.what}", {"name": made.name, **({"branch": made.branch} if made.branch else {})}


def changed_since(operation: Operation) -> str:
    """The sentence on a change that an undo passes over."""
    edits = operation.turned
    if edits.history is not None:
        return f"Branch {edits.history.kept_as} has lost commits that {operation.description} moved there"
    if edits.rows is not None:
        return f"Branch {edits.rows.root} is gone since {operation.description}"
    if edits.made is None:
        # The arguments are changes, of which some may be secret.
        return f"What {operation.description} changed has been changed since"
    named = (edits.made.name, edits.made.was, edits.made.branch)
    return f"What {operation.action} made ({' '.join(filter(None, named))}) has been changed since"


def may_restore(undone: Operation, made: Operation) -> bool:
    """Whether undoing one change may restore the thing that the other made; their names decide that."""
    if undone.turned.made is None or inverse_of(undone)[0] not in _REMOVALS:
        return True
    return not _names(undone).isdisjoint(_names(made))


def _names(operation: Operation) -> set[str]:
    if operation.turned.made is None and operation.turned.schema is None:
        return set()
    return {str(each) for each in inverse_of(operation)[1].values() if each is not None}

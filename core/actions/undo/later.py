"""The operations after the one that an undo takes back: it leaves them as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from paimark.core.actions.change.operations import Operation, Stacks
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Item
from paimark.core.actions.said import engine_of, job_of
from paimark.core.actions.undo.by_hand import by_hand
from paimark.core.actions.undo.rules import Left, changed_since, left
from paimark.core.figures import age, some_of
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.text import lowered

# The arguments that name the object of an action, and how it is said behind the action.
_NAMING = {"name": " {}".format, "id": " {}".format, "snapshot": " of snapshot {}".format}


def later_ones(
    context: Context, table: TablePath, stacks: Stacks, group: Sequence[Operation], *, replacement_only: bool
) -> tuple[Item, ...]:
    """The later operations that can't be taken back, and each whose thing was changed.

    `group` is what the undo takes back. With `replacement_only` a person has asked to leave the others.
    """
    stays = _without_way_back(stacks, group)
    passed = () if replacement_only else _passed_over(context, table, stacks, group)
    why = partial(_why, context, table)
    others = [] if replacement_only else _commit_of_another(context, table, stacks, group[0])
    said = [f"{lowered(changed_since(each))}, and stays" for each in passed]
    return tuple(
        Item("not", text, "later-change-stays", is_grave=True)
        for text in (*_on_those_without_way_back(context, stays, why), *others, *said)
    )


def _without_way_back(stacks: Stacks, group: Sequence[Operation]) -> list[Operation]:
    """The newest first."""
    ours = stacks.together(group[0].token)
    number = max((each.number for each in stacks.in_effect if each.token in ours), default=0)
    open_ones = {each.token for each in stacks.undo}
    later = (each for each in reversed(stacks.in_effect) if each.number > number and not each.keeps_rows)
    return [each for each in later if each.token not in open_ones]


def _passed_over(
    context: Context, table: TablePath, stacks: Stacks, group: Sequence[Operation]
) -> list[Operation]:
    """Later changes that made something that is still there, and was changed since."""
    ours = stacks.together(group[0].token)
    newest = max(index for index, each in enumerate(stacks.undo) if each.token in ours)
    return [each for each in stacks.undo[newest + 1 :] if left(context.files, table, each) is not Left.GONE]


def _on_those_without_way_back(
    context: Context, stays: Sequence[Operation], why: Callable[[Operation], str]
) -> list[str]:
    if not stays:
        return []
    if len(stays) == 1:
        return [f"the last change, {_named(context, stays[0])}: {why(stays[0])}"]
    names = some_of([_named(context, each) for each in stays])
    return [f"the last {len(stays):,} changes, which `undo` can't take back: {names}"]


def _why(context: Context, table: TablePath, operation: Operation) -> str:
    """Why an undo does not take it back, or what does instead."""
    rows = operation.turned.rows
    if rows is None or not rows.is_write:
        return operation.no_way_back or "it can't be taken back"
    is_main = table.root(rows.root) == main_root(context.files, table)
    return f"its rows are followed by others. {by_hand(context.files, table, rows, is_main=is_main)}"


def _commit_of_another(context: Context, table: TablePath, stacks: Stacks, entry: Operation) -> list[str]:
    """A sentence on main's newest commit, if it is later than the change and none of the log made it."""
    main = main_root(context.files, table)
    newest = Lineage(context.files, main).latest()
    edits = entry.turned
    if newest is None or newest.time_millis <= entry.time or edits.head or edits.main:
        return []
    ours = [each.turned.head for each in (*stacks.undos, *stacks.in_effect)]
    if any(each is not None and each.after.is_of(newest) for each in ours):
        return []
    when = age(newest.time_millis, context.clock())
    by = job_of(newest.commit_user) or engine_of(newest.writer_version)
    return [
        f"the newest commit of main, snapshot {newest.id} ({when}, by {by}): it is not in the operation log"
    ]


def _named(context: Context, operation: Operation) -> str:
    """`delete-branch fix (2 h ago)`."""
    rows = operation.turned.rows
    if rows is not None and rows.is_write:
        return f"{operation.description} ({age(operation.time, context.clock())})"
    name = next(
        (named(operation.request[key]) for key, named in _NAMING.items() if operation.request.get(key)), ""
    )
    return f"{operation.action}{name} ({age(operation.time, context.clock())})"
